//! `watch`: changes of many, and what has one cause.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::fleet::{Agent, Fleet, agent};
use crate::support::process;
use crate::support::wait::{wait_at_most, wait_until};
use crate::support::watching::Watching;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// An agent that runs, or ends at once, as a file says.
fn dependent(name: &str, broken: &Path) -> Agent {
    let invocation = format!(
        "invocation: [sh, -c, 'test \"$BAD\" != yes || test ! -e {} || exit 7; exec @AGENT@ --record @RECORDS@/{name}']",
        broken.display()
    );
    agent(name).with(&invocation).with("restart: {when: never}")
}

fn fleet_with(fleet: &Fleet, broken: &Path, bad: &str) {
    fleet.agents(NAMES.map(|name| dependent(name, broken).with(&format!("env: {{BAD: '{bad}'}}"))));
}

fn broken(fleet: &Fleet) -> PathBuf {
    let flag = fleet.path("broken-upgrade");
    fs::write(&flag, "").expect("a file");
    flag
}

#[test]
fn a_change_whose_first_try_fails_reaches_no_other_session_and_a_mended_file_does() {
    let fleet = Fleet::new();
    let flag = broken(&fleet);
    fleet_with(&fleet, &flag, "no");
    let watching = Watching::start(&fleet);
    let pids = NAMES.map(|name| fleet.started(name, 1).pid);
    fleet_with(&fleet, &flag, "yes");
    watching.held("b", "canary-failed");
    assert_eq!(["b", "c", "d"].map(|name| fleet.pid(name)), pids[1..]);
    assert!(!process::runs(pids[0]), "it was tried on the first");
    assert_eq!(fleet.status().of("c").sync, "out-of-sync");
    fleet_with(&fleet, &flag, "no");
    // Back as it was: only the first has to come back.
    fleet.started("a", 2);
    wait_until("all are in sync", || fleet.status().sessions.iter().all(|session| session.sync == "in-sync"));
    assert_eq!(["b", "c", "d"].map(|name| fleet.pid(name)), pids[1..]);
    watching.stop();
    fleet.down();
}

#[test]
fn a_rollout_that_was_cut_off_goes_on_where_it_was() {
    let fleet = Fleet::new();
    let write = |version: &str| {
        let agents = NAMES.map(|name| agent(name).with(&format!("env: {{VERSION: '{version}'}}")));
        fleet.agents_under("policy: {max_unavailable: 1, launch: {stagger: 1ms}}", agents);
    };
    write("1");
    let watching = Watching::start(&fleet);
    let _ = NAMES.map(|name| fleet.started(name, 1));
    write("2");
    fleet.started("a", 2);
    watching.kill();
    let watching = Watching::start(&fleet);
    wait_at_most(Duration::from_secs(90), "all have the change", || NAMES.iter().all(|n| fleet.starts(n).len() == 2));
    for name in NAMES {
        assert_eq!(fleet.started(name, 2).environment["VERSION"], "2");
        assert_eq!(fleet.agent_count(name), 1);
    }
    watching.stop();
    fleet.down();
}

#[test]
fn many_agents_of_a_kind_that_end_at_once_are_one_condition_that_one_apply_releases() {
    let fleet = Fleet::new();
    let names: Vec<String> = (0..6).map(|n| format!("s{n}")).collect();
    let flag = fleet.path("logged-in");
    let write = || {
        let agents = names.iter().map(|name| {
            let invocation = format!(
                "invocation: [sh, -c, 'test -e {} || exit 1; exec @AGENT@ --record @RECORDS@/{name}']",
                flag.display()
            );
            agent(name).with(&invocation).with("restart: {backoff: {initial: 1s, max: 2s}, max_restarts: 50}")
        });
        fleet.agents(agents);
    };
    write();
    let watching = Watching::start(&fleet);
    watching.wait("tripped", |line| line["said"] == "held" && line["kind"] == "generic");
    // Backoff alone would have started them several times meanwhile.
    let generations = || fleet.status().sessions.iter().map(|session| session.generation).collect::<Vec<_>>();
    let before = generations();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(generations(), before);
    let told = |line: &serde_json::Value| line["reason"] == "kind-tripped";
    assert_eq!(watching.count(told), 1, "{:#?}", watching.said());
    let words = watching.said().into_iter().find(told).expect("said")["words"].to_string();
    assert!(words.contains("farhelm apply"), "{words}");
    let status = fleet.status();
    assert!(status.sessions.iter().all(|session| session.reason.contains("ended right after")), "{status:#?}");
    fs::write(&flag, "").expect("a file");
    fleet.apply();
    names.iter().for_each(|name| drop(fleet.started(name, 1)));
    process::kill_hard(fleet.pid("s0"));
    fleet.started("s0", 2);
    watching.stop();
    fleet.down();
}
