//! Seeded schedules of random fleets on a simulated machine: edits, crashes, kills, slow and failing tmux, strangers,
//! reboots, and SIGKILL of farhelm between any two effects. After each run the invariants are checked; when the trouble
//! stops, a bounded number of runs must come to rest.
//!
//! `FARHELM_SIM_SEED=n` replays one schedule and prints its trace. `FARHELM_SIM_SCHEDULES=n` sets how many are tried,
//! `FARHELM_SIM_FIRST=n` the seed of the first.

#[path = "simulation/apply.rs"]
mod apply;
#[path = "simulation/asking.rs"]
mod asking;
#[path = "simulation/family.rs"]
mod family;
#[path = "simulation/fleet.rs"]
mod fleet;
#[path = "simulation/invariants.rs"]
mod invariants;
#[path = "simulation/memory.rs"]
mod memory;
#[path = "simulation/outside.rs"]
mod outside;
#[path = "simulation/resident.rs"]
mod resident;
#[path = "simulation/rest.rs"]
mod rest;
#[path = "simulation/schedule.rs"]
mod schedule;
#[path = "simulation/talks.rs"]
mod talks;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use farhelm::config::desired::Restart;
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

/// The failures of all seeds that this thread takes: the lowest seed's whole verdict, and how often each sort came.
#[derive(Default)]
struct Failures {
    first: Option<(u64, Verdict)>,
    sorts: BTreeMap<String, (usize, u64)>,
}

impl Failures {
    fn add(&mut self, seed: u64, verdict: Verdict) {
        let (count, lowest) = self.sorts.entry(sort_of(&verdict.wrong[0])).or_insert((0, seed));
        *count += 1;
        *lowest = seed.min(*lowest);
        if self.first.as_ref().is_none_or(|(first, _)| seed < *first) {
            self.first = Some((seed, verdict));
        }
    }

    fn merge(&mut self, other: Self) {
        for (sort, (count, lowest)) in other.sorts {
            let sum = self.sorts.entry(sort).or_insert((0, lowest));
            *sum = (sum.0 + count, sum.1.min(lowest));
        }
        if let Some((seed, verdict)) = other.first
            && self.first.as_ref().is_none_or(|(first, _)| seed < *first)
        {
            self.first = Some((seed, verdict));
        }
    }
}

/// What went wrong, without the numbers and names that differ from seed to seed.
fn sort_of(wrong: &str) -> String {
    let words = wrong.split_once(": ").map_or(wrong, |(_, words)| words);
    let words = words.split_once(" (").map_or(words, |(words, _)| words);
    let words = words.split_once(" {").map_or(words, |(words, _)| words);
    let plain = |word: &&str| !word.contains(|c: char| c.is_ascii_digit()) && !fleet::NAMES.contains(word);
    words.split(' ').filter(plain).collect::<Vec<_>>().join(" ")
}

fn try_seeds(run: fn(u64) -> Verdict, next: &AtomicU64, end: u64, runs: &AtomicU64) -> Failures {
    let mut failures = Failures::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return failures;
        }
        let verdict = run(seed);
        runs.fetch_add(verdict.runs as u64, Ordering::Relaxed);
        if !verdict.wrong.is_empty() {
            failures.add(seed, verdict);
        }
    }
}

#[test]
fn every_schedule_keeps_the_invariants_and_comes_to_rest() {
    try_all(schedule::run, 1);
}

/// Seeds beyond the usual range that found something once: processes left frozen after a death of farhelm on a full disk,
/// a session that had not changed and was signalled, a transcript that was taken for more than it held.
#[test]
fn schedules_that_failed_once_keep_the_invariants() {
    let resident = [(6_777, resident::run as fn(u64) -> Verdict)];
    let seeds = [21_226, 28_862, 39_637].map(|seed| (seed, schedule::run as fn(u64) -> Verdict));
    for (seed, run) in seeds.into_iter().chain(resident) {
        let verdict = run(seed);
        assert!(verdict.wrong.is_empty(), "{}", report(seed, &verdict, SHOWN));
    }
}

/// A resident schedule makes many passes: there are fewer of them.
#[test]
fn every_resident_schedule_keeps_the_invariants_and_comes_to_rest() {
    try_all(resident::run, 5);
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn an_agent_that_keeps_ending_is_given_up_after_its_restarts() {
    assert_eq!(resident::launches_in(14 * DAY, &Restart::default()), 6);
}

#[test]
fn an_agent_that_is_never_given_up_is_started_no_faster_than_its_backoff_and_no_slower() {
    let restart = Restart { max_restarts: u32::MAX, ..Restart::default() };
    let launches = resident::launches_in(DAY, &restart);
    // At the longest delay, each shortened by up to a quarter, while the agent itself lives up to 40 s.
    let (slowest, fastest) = (restart.max + Duration::from_secs(45), restart.max.mul_f64(0.75));
    let times = |each: Duration| usize::try_from(DAY.as_secs() / each.as_secs()).expect("a day has so many");
    let bounds = times(slowest)..=times(fastest) + 12;
    assert!(bounds.contains(&launches), "{launches} not in {bounds:?}");
}

/// Tries all seeds that are asked for, or one of `share`.
fn try_all(run: fn(u64) -> Verdict, share: u64) {
    if let Some(seed) = number("FARHELM_SIM_SEED") {
        let verdict = run(seed);
        let text = report(seed, &verdict, usize::MAX);
        assert!(verdict.wrong.is_empty(), "{text}");
        return;
    }
    let count = number("FARHELM_SIM_SCHEDULES").unwrap_or(SCHEDULES) / share;
    let first = number("FARHELM_SIM_FIRST").unwrap_or(0);
    let (next, end, runs) = (AtomicU64::new(first), first.saturating_add(count), AtomicU64::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut failures = Failures::default();
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(|| try_seeds(run, &next, end, &runs))).collect();
        for thread in all {
            failures.merge(thread.join().expect("panics of farhelm are caught"));
        }
    });
    if let Some((seed, verdict)) = &failures.first {
        let mut text = report(*seed, verdict, SHOWN);
        for (sort, (times, lowest)) in &failures.sorts {
            let _ = writeln!(text, "{times} of {count} schedules, first seed {lowest}: {sort}");
        }
        panic!("{text}");
    }
    assert!(runs.load(Ordering::Relaxed) >= count, "every schedule runs farhelm");
}
