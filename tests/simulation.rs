//! Seeded schedules of random fleets on a simulated machine: edits, crashes, kills, slow and failing tmux, strangers,
//! reboots, and SIGKILL of farhelm between any two effects. After each run the invariants are checked; when the trouble
//! stops, a bounded number of runs must come to rest.
//!
//! `FARHELM_SIM_SEED=n` replays one schedule and prints its trace. `FARHELM_SIM_SCHEDULES=n` sets how many are tried.

#[path = "simulation/apply.rs"]
mod apply;
#[path = "simulation/fleet.rs"]
mod fleet;
#[path = "simulation/invariants.rs"]
mod invariants;
#[path = "simulation/memory.rs"]
mod memory;
#[path = "simulation/outside.rs"]
mod outside;
#[path = "simulation/rest.rs"]
mod rest;
#[path = "simulation/schedule.rs"]
mod schedule;

use std::env;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use schedule::Verdict;

/// Schedules tried when nobody says how many.
const SCHEDULES: u64 = 20_000;
/// Lines of a trace that a failure shows.
const SHOWN: usize = 400;

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{text}`")))
}

/// The failure of a seed, for people.
fn report(seed: u64, verdict: &Verdict, lines: usize) -> String {
    let mut text = format!("seed {seed}; replay it with FARHELM_SIM_SEED={seed} cargo test --test simulation\n");
    let skipped = verdict.trace.len().saturating_sub(lines);
    if skipped > 0 {
        let _ = writeln!(text, "({skipped} earlier lines are left out)");
    }
    for line in &verdict.trace[skipped..] {
        let _ = writeln!(text, "{line}");
    }
    for wrong in &verdict.wrong {
        let _ = writeln!(text, "wrong: {wrong}");
    }
    text
}

/// The first of `count` seeds that fails, of those this thread takes.
fn try_seeds(next: &AtomicU64, count: u64, passes: &AtomicU64) -> Option<(u64, Verdict)> {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= count {
            return None;
        }
        let verdict = schedule::run(seed);
        passes.fetch_add(verdict.runs as u64, Ordering::Relaxed);
        if !verdict.wrong.is_empty() {
            next.store(count, Ordering::Relaxed);
            return Some((seed, verdict));
        }
    }
}

#[test]
fn every_schedule_keeps_the_invariants_and_comes_to_rest() {
    if let Some(seed) = number("FARHELM_SIM_SEED") {
        let verdict = schedule::run(seed);
        let text = report(seed, &verdict, usize::MAX);
        assert!(verdict.wrong.is_empty(), "{text}");
        println!("seed {seed} keeps all invariants in {} runs", verdict.runs);
        return;
    }
    let count = number("FARHELM_SIM_SCHEDULES").unwrap_or(SCHEDULES);
    let (next, passes) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let failed = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(|| try_seeds(&next, count, &passes))).collect();
        all.into_iter().filter_map(|thread| thread.join().expect("panics of farhelm are caught")).min_by_key(|f| f.0)
    });
    if let Some((seed, verdict)) = failed {
        panic!("{}", report(seed, &verdict, SHOWN));
    }
    println!("{count} schedules, {} runs", passes.load(Ordering::Relaxed));
}
