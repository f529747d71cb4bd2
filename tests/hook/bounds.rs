//! Slots: one for each reporter and sort of news, the latest only, never more than the bounds.

use std::fs;
use std::process::Command;

use farhelm::host::process::ProcessKey;
use farhelm::state::reports::{MAX_REPORTERS, Report, Slot, file};

use crate::world::{START, World, silently};

fn event(name: &str) -> String {
    START.replace("SessionStart", name)
}

#[test]
fn each_sort_of_news_has_a_slot_and_the_latest_stays() {
    let world = World::new();
    for input in [START.to_owned(), event("UserPromptSubmit"), event("Stop"), event("SessionEnd")] {
        silently(world.hook(), input.as_bytes());
    }
    silently(world.hook(), START.replace("aa26917c", "bb26917c").as_bytes());
    let found = world.found();
    let slots: Vec<Slot> = found.iter().map(|found| found.slot).collect();
    assert_eq!(slots, [Slot::Prompt, Slot::Activity, Slot::Start]);
    let report = |slot| {
        let found = found.iter().find(|found| found.slot == slot).expect("a slot");
        found.report.clone().expect("a readable report")
    };
    assert_eq!(report(Slot::Activity).event.as_deref(), Some("SessionEnd"));
    assert!(report(Slot::Start).conversation.starts_with("bb"));
}

#[test]
fn a_long_prompt_is_reported_and_not_kept() {
    let world = World::new();
    let prompt = "x".repeat(1 << 20);
    let input = event("UserPromptSubmit").replace("\"cwd\"", &format!("\"prompt\":\"{prompt}\",\"cwd\""));
    silently(world.hook(), input.as_bytes());
    assert_eq!(world.only_report().event.as_deref(), Some("UserPromptSubmit"));
    let found = world.found();
    assert!(fs::metadata(&found[0].file).expect("a file").len() < 64 << 10);
}

/// Leaves the report of a process that is no more, at `depth` below the terminal.
fn leave(world: &World, like: &Report, pid: i32, generation: u32, depth: usize) {
    let mut report = like.clone();
    report.reporter = ProcessKey { pid, start: 1 };
    report.generation = generation;
    report.ancestry[1].process = report.reporter;
    let last = report.ancestry[1].clone();
    report.ancestry.truncate(2);
    report.ancestry.extend(std::iter::repeat_n(last, depth).map(|mut link| {
        link.process.pid = 1;
        link
    }));
    let path = file(&world.reports_dir(), report.reporter, Slot::Start);
    fs::write(path, serde_json::to_vec(&report).expect("JSON")).expect("our own file");
}

#[test]
fn room_is_made_at_the_cost_of_old_launches_and_of_nested_agents() {
    let world = World::new();
    silently(world.hook(), START.as_bytes());
    let own = world.only_report();
    fs::remove_file(file(&world.reports_dir(), own.reporter, Slot::Start)).expect("its slot");
    // The agent itself, long ago and near the terminal; agents nested in it, later; one of an earlier launch.
    leave(
        &world,
        &Report { at: farhelm::host::clock::Moment { boot_ms: 1, wall_ms: 1 }, ..own.clone() },
        900_001,
        1,
        1,
    );
    for pid in 0..i32::try_from(MAX_REPORTERS).expect("small") - 2 {
        leave(&world, &own, 900_100 + pid, 1, 5);
    }
    leave(&world, &own, 900_500, 0, 1);
    assert_eq!(world.found().len(), MAX_REPORTERS);

    silently(world.hook(), START.as_bytes());
    let left = |pid: i32| world.found().iter().any(|found| found.reporter.pid == pid);
    assert_eq!(world.found().len(), MAX_REPORTERS);
    assert!(!left(900_500), "of an earlier launch");
    assert!(left(900_001) && left(own.reporter.pid));

    // A new reporter each: the shells are parents of their own.
    for _ in 0..3 {
        let mut shell = Command::new("bash");
        shell.args(["-c", "\"$HOOK\" internal hook --vendor claude --launch 1; exit"]);
        silently(world.launched(shell), START.as_bytes());
    }
    assert!(world.found().len() <= MAX_REPORTERS);
    assert!(left(900_001), "the agent's own was given up for a nested one");
}

#[test]
fn a_slot_is_kept_when_what_is_there_is_newer() {
    let world = World::new();
    silently(world.hook(), START.as_bytes());
    let mut newer = world.only_report();
    newer.at.boot_ms += 1_000_000;
    newer.conversation = "newer".to_owned();
    let path = file(&world.reports_dir(), newer.reporter, Slot::Start);
    fs::write(path, serde_json::to_vec(&newer).expect("JSON")).expect("our own file");
    silently(world.hook(), START.as_bytes());
    assert_eq!(world.only_report().conversation, "newer");
}

#[test]
fn what_killed_hooks_left_is_removed_when_it_is_old() {
    let world = World::new();
    silently(world.hook(), START.as_bytes());
    let (old, new) = (world.reports_dir().join(".a.1.unfinished"), world.reports_dir().join(".a.2.unfinished"));
    for path in [&old, &new] {
        fs::write(path, "x").expect("our own file");
    }
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    fs::File::options().write(true).open(&old).and_then(|file| file.set_modified(past)).expect("our own file");
    silently(world.hook(), START.as_bytes());
    assert!(!old.exists() && new.exists());
}
