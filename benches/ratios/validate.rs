//! `validate` of 5,000 sessions, against the event pass alone over the same text.

use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

use crate::bed::{Bed, time};
use crate::{RUNS, report};

const MANY: usize = 5_000;

pub fn run() {
    let bed = Bed::new();
    let mut text = "farhelm: v1\nfleet: bench\ndefaults: {permissions: yolo}\nsessions:\n".to_owned();
    for index in 0..MANY {
        let _ = write!(
            text,
            "  s{index:05}:\n    profile: claude\n    dir: /tmp/{index}\n    model: opus\n    prompt: Make the tests of module {index} pass.\n    tabs: {{shell: {{}}}}\n"
        );
    }
    let file = bed.path("farhelm.yaml");
    fs::write(&file, &text).expect("the fleet file");
    let pairs: Vec<(Duration, Duration)> = (0..RUNS)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(farhelm::config::tree::events_only(&text)).expect("the text is YAML");
            let events = begun.elapsed();
            (time(&mut bed.farhelm(&["validate"])), events)
        })
        .collect();
    report("validate of 5,000 sessions, the whole command / the event pass alone, in process", 6.0, &pairs);
}
