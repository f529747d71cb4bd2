//! `apply` of 100 sessions until all are exec'd, against one script that starts the same login shells in tmux.

use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

use crate::bed::{Bed, running, time, until};
use crate::{RUNS, report};

const MANY: usize = 100;
const PROGRAM: [&str; 2] = ["sleep", "86397"];

pub fn run() {
    let pairs: Vec<(Duration, Duration)> = (0..RUNS).map(|_| (ours(), yardstick())).collect();
    report("apply of 100 sessions until all are exec'd / one tmux source-file of the same login shells", 1.4, &pairs);
}

fn ours() -> Duration {
    let bed = Bed::new();
    bed.fleet(MANY, "sleep, '86397'");
    let begun = Instant::now();
    let mut apply = bed.farhelm(&["apply", "-y"]).spawn().expect("farhelm starts");
    until(|| running(&PROGRAM).len() == MANY);
    let taken = begun.elapsed();
    assert!(apply.wait().expect("farhelm ends").success());
    time(&mut bed.farhelm(&["down", "-y"]));
    until(|| running(&PROGRAM).is_empty());
    taken
}

fn yardstick() -> Duration {
    let bed = Bed::new();
    let mut script = String::new();
    for index in 0..MANY {
        let shell = "/bin/bash -l -i -c 'exec sleep 86397'";
        let _ = writeln!(script, "new-session -d -s b{index} -x 200 -y 50 -c /tmp -- {shell}");
    }
    fs::write(bed.path("script"), script).expect("the script");
    let begun = Instant::now();
    time(&mut bed.tmux(&["start-server", ";", "source-file", bed.path("script").to_str().expect("a plain path")]));
    until(|| running(&PROGRAM).len() == MANY);
    let taken = begun.elapsed();
    bed.kill_server();
    until(|| running(&PROGRAM).is_empty());
    taken
}
