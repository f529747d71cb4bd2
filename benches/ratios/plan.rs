//! `plan` of 200 running sessions with nothing to do, against one listing of panes and one pass over /proc.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use crate::bed::{Bed, time};
use crate::{RUNS, report};

const FIELDS: &str = "#{pid}|#{pane_id}|#{session_id}|#{pane_pid}|#{session_attached}|#{pane_dead}|#{pane_dead_status}|\
#{pane_dead_signal}|#{pane_dead_time}|#{@farhelm_id}|#{@farhelm_stamp}|#{session_name}";

pub fn run() {
    let bed = Bed::new();
    bed.fleet(200, "sleep, '86398'");
    time(&mut bed.farhelm(&["apply", "-y"]));
    let pairs: Vec<(Duration, Duration)> = (0..RUNS)
        .map(|_| {
            let listing = time(&mut bed.tmux(&["list-panes", "-a", "-F", FIELDS]));
            (time(&mut bed.farhelm(&["plan"])), listing + stat_pass())
        })
        .collect();
    report(
        "plan of 200 running sessions, nothing to do / (tmux list-panes -a + one stat pass over /proc)",
        2.0,
        &pairs,
    );
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(-1, |usage| usage.max_rss() / 1024);
    println!("    peak memory of the largest process of this run {peak} MB, goal 30 (the apply included)");
    time(&mut bed.farhelm(&["down", "-y"]));
}

/// Reads every process's `stat` once.
fn stat_pass() -> Duration {
    let begun = Instant::now();
    let mut seen = 0;
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        if entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            seen += usize::from(fs::read(entry.path().join("stat")).is_ok());
        }
    }
    std::hint::black_box(seen);
    begun.elapsed()
}
