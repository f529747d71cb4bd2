//! `watch` at rest: what wakes it, and what must not.

use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::wait_until;
use crate::support::watching::Watching;

/// Waits until nobody has taken the state directory's lock for a while: no pass is made.
#[track_caller]
fn rests(fleet: &Fleet) {
    wait_until("no pass is made for three seconds", || {
        let lock = fs::metadata(fleet.state().join("lock")).expect("farhelm has made it");
        let taken = lock.modified().expect("the file system knows times");
        taken.elapsed().is_ok_and(|ago| ago > Duration::from_secs(3))
    });
}

#[test]
fn watches_of_two_fleets_with_one_state_directory_hear_neither_themselves_nor_each_other() {
    let fleet = Fleet::new();
    let file = fleet.agents([agent("b")]);
    let text = fs::read_to_string(&file).expect("just written").replace("fleet: t", "fleet: other");
    let other = fleet.file("other.yaml", text);
    fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    rests(&fleet);
    let second = Watching::with(&fleet, &["other.yaml"]);
    fleet.started("b", 1);
    rests(&fleet);
    second.stop();
    watching.stop();
    let _ = fleet.farhelm(["down", "-y"].iter().map(OsStr::new).chain([other.as_os_str()])).ok();
    fleet.down();
}

#[test]
fn files_of_another_fleet_are_refused_once_and_change_nothing() {
    let fleet = Fleet::new();
    let file = fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    let first = fleet.started("a", 1);
    let text = fs::read_to_string(&file).expect("just written");
    fs::write(&file, text.replace("fleet: t", "fleet: other")).expect("our own file");
    watching.wait("refused them", |line| line["said"] == "unfit");
    rests(&fleet);
    assert_eq!(watching.count(|line| line["said"] == "unfit"), 1);
    assert!(process::runs(first.pid));
    watching.stop();
    fs::write(&file, text).expect("our own file");
    fleet.down();
}

#[test]
fn what_an_operator_does_for_an_instant_is_heard() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    let first = fleet.started("a", 1);
    fleet.farhelm(["pause", "a"]).ok();
    process::kill_hard(first.pid);
    watching.held("a", "paused");
    rests(&fleet);
    fleet.farhelm(["unpause", "a"]).ok();
    fleet.started("a", 2);
    watching.stop();
    fleet.down();
}

#[test]
fn room_is_put_aside_for_a_full_disk_also_where_nothing_but_watch_ever_ran() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    wait_until("room is put aside", || fleet.state().join("reserve").exists());
    watching.stop();
    fleet.down();
}
