//! `down` of 100 sessions whose processes obey TERM, against TERM, wait, kill-session by hand.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bed::{Bed, running, time, until};
use crate::{RUNS, report};

const MANY: usize = 100;
const PROGRAM: [&str; 2] = ["sleep", "86396"];

pub fn run() {
    let pairs: Vec<(Duration, Duration)> = (0..RUNS)
        .map(|_| {
            let bed = started();
            let ours = time(&mut bed.farhelm(&["down", "-y"]));
            assert!(running(&PROGRAM).is_empty());
            (ours, by_hand(&started()))
        })
        .collect();
    report("down of 100 sessions / TERM, wait, tmux kill-session by hand", 1.5, &pairs);
}

fn started() -> Bed {
    let bed = Bed::new();
    bed.fleet(MANY, "sleep, '86396'");
    time(&mut bed.farhelm(&["apply", "-y"]));
    bed
}

fn by_hand(bed: &Bed) -> Duration {
    let begun = Instant::now();
    for pid in running(&PROGRAM) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    until(|| running(&PROGRAM).is_empty());
    for index in 0..MANY {
        let _ = bed.tmux(&["kill-session", "-t", &format!("=bench_s{index:04}")]).status();
    }
    begun.elapsed()
}
