//! Speed as ratios: each figure is measured beside its yardstick, in turn, in one run. `cargo bench --bench ratios`.
//!
//! Nothing here fails: a machine's noise is no verdict. Read the medians.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod apply;
mod bed;
mod down;
mod hook;
mod plan;
mod reports;
mod validate;
mod watch;

use std::time::Duration;

/// Runs of each side.
const RUNS: usize = 9;

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| name.contains(word.as_str()));
    let benches: [(&str, fn()); 9] = [
        ("validate", validate::run),
        ("plan", plan::run),
        ("reports", reports::run),
        ("hook", hook::run),
        ("apply", apply::run),
        ("down", down::run),
        ("watch-restarts", watch::restarts),
        ("watch-files", watch::files),
        ("watch-idle", watch::idle),
    ];
    for (name, run) in benches {
        // What takes twenty minutes is asked for by its name.
        if wanted(name) && (name != "watch-idle" || only.iter().any(|word| word == name)) {
            run();
        }
    }
}

/// Prints one ratio: medians of both sides, and of the ratios pair by pair.
fn report(what: &str, limit: f64, pairs: &[(Duration, Duration)]) {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    let ours = median(pairs.iter().map(|(ours, _)| ms(ours)).collect());
    let theirs = median(pairs.iter().map(|(_, theirs)| ms(theirs)).collect());
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours.as_secs_f64() / theirs.as_secs_f64()).collect();
    let (low, high) = ratios.iter().fold((f64::MAX, 0.0_f64), |(low, high), r| (low.min(*r), high.max(*r)));
    let ratio = median(ratios);
    println!(
        "{what}\n    farhelm {ours:.1} ms, yardstick {theirs:.1} ms, ratio {ratio:.2} ({low:.2} to {high:.2}), goal {limit}"
    );
}
