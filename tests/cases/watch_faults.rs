//! `watch` on a disk that takes nothing.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::tiny_disk::TinyDisk;
use crate::support::wait::{wait_at_most, wait_until};
use crate::support::watching::Watching;

fn failed(line: &Value) -> bool {
    line["failure"].is_string() || line["said"] == "no-pass"
}

/// `a` is killed while the disk takes nothing: that is said once, `b` is left alone, and `a` comes back by itself.
fn survives(breaks: impl Fn(&TinyDisk), mends: impl Fn(&TinyDisk)) {
    let fleet = Fleet::new();
    let Some(disk) = TinyDisk::mount(&fleet.state()) else { return };
    fleet.agents([agent("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    let (a, b) = (fleet.started("a", 1), fleet.started("b", 1));
    wait_until("both are known to run", || fleet.status().sessions.iter().all(|session| session.sync == "in-sync"));
    breaks(&disk);
    process::kill_hard(a.pid);
    watching.wait("said so", failed);
    // Long enough for several tries.
    thread::sleep(Duration::from_secs(9));
    assert_eq!(watching.count(failed), 1, "{:#?}", watching.said());
    assert!(process::runs(b.pid));
    fleet.started("a", 1);
    mends(&disk);
    wait_at_most(Duration::from_secs(90), "it is back", || fleet.starts("a").len() == 2);
    assert_eq!(fleet.pid("b"), b.pid);
    watching.stop();
    fleet.down();
}

#[test]
fn a_full_disk_is_said_once_harms_nothing_and_is_recovered_from() {
    survives(TinyDisk::fill, TinyDisk::empty);
}

#[test]
fn a_state_directory_that_cannot_be_written_is_said_once_harms_nothing_and_is_recovered_from() {
    survives(|disk| disk.protect(true), |disk| disk.protect(false));
}
