//! `watch` while something takes its time to end.

use std::time::{Duration, Instant};

use crate::support::fleet::{Agent, Fleet, agent};
use crate::support::process;
use crate::support::wait::wait_until;
use crate::support::watching::Watching;

/// Time that a stubborn agent is given.
const GRACE: Duration = Duration::from_secs(8);

/// An agent that does not care for TERM.
fn stubborn(name: &str) -> Agent {
    agent(name).does("--ignore TERM").with("stop: {grace: 8s}")
}

/// The same, with a change for which it is restarted.
fn changed(name: &str) -> Agent {
    stubborn(name).with("env: {CHANGED: 'yes'}")
}

/// Waits until the session's end was begun; when that was.
fn asked(fleet: &Fleet, name: &str) -> Instant {
    wait_until("it was asked to end", || fleet.record(name)["leaving"].is_array());
    Instant::now()
}

/// `quick` is killed while `slow` is being ended.
fn quick_does_not_wait_for_slow(fleet: &Fleet) {
    fleet.agents([stubborn("slow"), agent("quick")]);
    let watching = Watching::start(fleet);
    let (slow, quick) = (fleet.started("slow", 1), fleet.started("quick", 1));
    fleet.agents([changed("slow"), agent("quick")]);
    let begun = asked(fleet, "slow");
    process::kill_hard(quick.pid);
    let back = fleet.started("quick", 2);
    assert!(begun.elapsed() < GRACE / 2, "{:?}", begun.elapsed());
    assert!(process::runs(slow.pid), "it has its whole grace");
    let again = fleet.started("slow", 2);
    assert!(begun.elapsed() > GRACE * 3 / 4, "{:?}", begun.elapsed());
    assert_eq!(again.environment["CHANGED"], "yes");
    assert!(!process::runs(slow.pid));
    assert_eq!(fleet.pid("quick"), back.pid);
    wait_until("nothing of it is remembered", || fleet.record("slow")["leaving"].is_null());
    watching.stop();
    fleet.down();
}

#[test]
fn a_killed_agent_is_back_long_before_a_stubborn_one_has_ended() {
    quick_does_not_wait_for_slow(&Fleet::new());
}

#[test]
fn under_scopes_a_killed_agent_is_back_long_before_a_stubborn_one_has_ended() {
    let Some(fleet) = Fleet::under_a_user_manager() else { return };
    quick_does_not_wait_for_slow(&fleet);
}

#[test]
fn an_agent_that_answers_late_is_started_again_when_it_has_ended_and_was_asked_once() {
    let fleet = Fleet::new();
    let late = || agent("late").does("--term-after 3 --pids @RECORDS@/terms").with("stop: {grace: 40s}");
    fleet.agents([late()]);
    let watching = Watching::start(&fleet);
    let first = fleet.started("late", 1);
    fleet.agents([late().with("env: {CHANGED: 'yes'}")]);
    let begun = asked(&fleet, "late");
    fleet.started("late", 2);
    assert!(begun.elapsed() < Duration::from_secs(20), "it is not given more time than it takes");
    assert!(!process::runs(first.pid));
    assert_eq!(fleet.noted("terms").len(), 1, "it was asked once");
    watching.stop();
    fleet.down();
}

#[test]
fn another_farhelm_goes_on_with_what_a_killed_watch_asked_to_end() {
    let fleet = Fleet::new();
    let slow = || agent("slow").does("--count-term --pids @RECORDS@/terms").with("stop: {grace: 8s}");
    fleet.agents([slow()]);
    let watching = Watching::start(&fleet);
    let first = fleet.started("slow", 1);
    fleet.agents([slow().with("env: {CHANGED: 'yes'}")]);
    let begun = asked(&fleet, "slow");
    watching.kill();
    assert!(process::runs(first.pid));
    fleet.apply();
    fleet.started("slow", 2);
    let taken = begun.elapsed();
    assert!(taken > GRACE * 3 / 4 && taken < GRACE * 2, "one grace in all, not {taken:?}");
    assert_eq!(fleet.noted("terms").len(), 1, "it was asked once: {:?}", fleet.noted("terms"));
    fleet.down();
}

#[test]
fn what_is_wanted_again_while_it_ends_goes_on_or_comes_back() {
    let fleet = Fleet::new();
    fleet.agents([stubborn("a"), agent("b").does("--term-after 2 --pids @RECORDS@/terms")]);
    let watching = Watching::start(&fleet);
    let a = fleet.started("a", 1);
    fleet.started("b", 1);
    let stopped = "desired: stopped";
    fleet.agents([stubborn("a").with(stopped), agent("b").does("--term-after 2 --pids @RECORDS@/terms").with(stopped)]);
    asked(&fleet, "b");
    fleet.agents([stubborn("a"), agent("b").does("--term-after 2 --pids @RECORDS@/terms")]);
    // It had answered: that was no end of its own, and it is wanted.
    fleet.started("b", 2);
    wait_until("the other is as it was", || fleet.record("a")["leaving"].is_null());
    fleet.started("a", 1);
    assert_eq!(fleet.pid("a"), a.pid);
    fleet.is_settled();
    watching.stop();
    fleet.down();
}

#[test]
fn a_watch_that_is_stopped_finishes_what_it_asked_to_end() {
    let fleet = Fleet::new();
    fleet.agents([stubborn("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    let a = fleet.started("a", 1);
    fleet.started("b", 1);
    fleet.agents([stubborn("a").with("desired: stopped"), agent("b")]);
    asked(&fleet, "a");
    watching.stop();
    assert!(!process::runs(a.pid));
    fleet.started("b", 1);
    fleet.is_settled();
    fleet.down();
}
