//! Situations of processes: children that try to get away, left-overs, scopes.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::wait_until;

const CHILDREN: &str = "--children plain,nohup,setsid,double-fork,scrubbed --pids @RECORDS@/pids";

/// What still runs of the noted children, by how they were started.
fn survivors(fleet: &Fleet) -> Vec<String> {
    fleet.noted("pids").into_iter().filter(|(_, pid)| process::runs(*pid)).map(|(how, _)| how).collect()
}

#[test]
fn d1_every_child_ends_with_the_session_but_a_detached_scrubbed_one() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does(CHILDREN)]);
    fleet.apply();
    wait_until("the children start", || fleet.noted("pids").len() == 5);
    for (how, pid) in fleet.noted("pids") {
        if how == "scrubbed" {
            fleet.end_with_fleet(pid);
        }
    }
    fleet.down();
    // The stated gap of a launch without a scope.
    assert_eq!(survivors(&fleet), ["scrubbed"]);
}

#[test]
fn d1_under_a_scope_every_child_ends_with_the_session() {
    let Some(fleet) = Fleet::under_a_user_manager() else { return };
    fleet.agents([agent("a").does(CHILDREN)]);
    fleet.apply();
    wait_until("the children start", || fleet.noted("pids").len() == 5);
    let id = fleet.status().of("a").id.clone().expect("it has an id");
    let scopes = || fleet.manager().scopes().into_iter().filter(|scope| scope.contains(&id)).count();
    assert_eq!(scopes(), 1);
    fleet.down();
    assert_eq!(survivors(&fleet), [""; 0]);
    assert_eq!(scopes(), 0);
}

#[test]
fn d2_a_session_that_forks_while_it_is_ended_ends() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--forks-on-term 400 --pids @RECORDS@/pids").with("stop: {grace: 1s}")]);
    fleet.apply();
    let begin = Instant::now();
    fleet.down();
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    assert!(fleet.noted("pids").len() > 20, "it did not fork");
    assert_eq!(survivors(&fleet), [""; 0]);
}

#[test]
fn d2_a_child_born_of_the_term_signal_is_ended_too() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--fork-on-term --pids @RECORDS@/pids")]);
    fleet.apply();
    fleet.farhelm(["stop", "a"]).ok();
    assert_eq!(fleet.noted("pids").len(), 1, "it did not fork");
    assert_eq!(survivors(&fleet), [""; 0]);
    fleet.down();
}

#[test]
fn d11_a_hangup_in_the_middle_of_a_launch_leaves_no_second_and_no_half_agent() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").with("before_launch: {run: [sleep, '1']}")]);
    let first = fleet.start(["apply", "-y"]);
    wait_until("the pane is open", || !fleet.tmux().stamped().is_empty());
    for pane in fleet.tmux().stamped() {
        process::signal(pane.pid, Signal::SIGHUP);
        process::signal(pane.pid, Signal::SIGCONT);
    }
    let _ = first.wait();
    fleet.apply();
    let pid = fleet.pid("a");
    let latest = fleet.starts("a").pop().expect("it has started");
    assert_eq!(latest.pid, pid);
    assert_eq!(fleet.marked().iter().map(|p| p.pid).collect::<Vec<_>>(), [pid]);
    fleet.down();
}

#[test]
fn d13_left_overs_end_before_the_next_launch() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--children nohup,setsid,double-fork --pids @RECORDS@/pids")]);
    fleet.apply();
    wait_until("the children start", || fleet.noted("pids").len() == 3);
    let old = fleet.noted("pids");
    fleet.tmux().kill_server();
    wait_until("the agent ends with its terminal", || fleet.marked().len() == 3);

    fleet.farhelm(["plan"]).ok().says("3 processes");
    fleet.apply();
    fleet.started("a", 2);
    assert!(old.iter().all(|(_, pid)| !process::runs(*pid)), "left-overs live beside the new agent");
    fleet.down();
}

#[test]
fn d13_a_second_writer_is_never_started_beside_a_left_over_that_does_not_end() {
    let fleet = Fleet::new();
    // The wrapper dies, the agent itself lives on without a terminal.
    fleet.agents([agent("a")
        .with("invocation: [sh, -c, 'setsid \"$@\" & exec sleep 1000', w, '@AGENT@', --record, '@RECORDS@/a']")]);
    fleet.apply();
    let first = fleet.started("a", 1);
    fleet.crash("a");
    assert!(process::runs(first.pid));
    fleet.apply();
    fleet.started("a", 2);
    assert!(!process::runs(first.pid), "two writers");
    fleet.down();
}

#[test]
fn d16_a_child_killed_for_memory_takes_neither_its_siblings_nor_the_server_along() {
    let Some(fleet) = Fleet::under_a_user_manager() else { return };
    fleet.agents([agent("a").does("--children plain,setsid --pids @RECORDS@/pids"), agent("b")]);
    fleet.apply();
    wait_until("the children start", || fleet.noted("pids").len() == 2);
    let id = fleet.status().of("a").id.clone().expect("it has an id");
    let scopes = fleet.manager().scopes();
    let scope = scopes.iter().find(|scope| scope.contains(&id)).unwrap_or_else(|| panic!("{id} is not in {scopes:?}"));
    // The kernel's killer cannot be called up here; what it would do to the rest is the unit's policy. Where scopes have
    // none (before systemd 252), nothing but the victim ends.
    let policy = fleet.manager().systemctl(&["show", "--property", "OOMPolicy", "--value", scope]);
    assert!(matches!(policy.trim(), "" | "continue"), "{policy}");
    let server = fleet.tmux().server().expect("there is a server");
    let cgroup = fs::read_to_string(format!("/proc/{server}/cgroup")).expect("it runs");
    assert!(!cgroup.contains(&id), "the server is in a session's scope: {cgroup}");

    let (_, child) = fleet.noted("pids")[0];
    process::kill_hard(child);
    fleet.pid("a");
    fleet.pid("b");
    assert!(process::runs(fleet.noted("pids")[1].1));
    fleet.down();
}

#[test]
fn d18_ending_one_scope_leaves_the_server_and_the_other_session_alone() {
    let Some(fleet) = Fleet::under_a_user_manager() else { return };
    fleet.agents_under("policy: {launch: {parallel: 1, stagger: 300ms}}", [agent("a"), agent("b")]);
    fleet.apply();
    let (b, server) = (fleet.pid("b"), fleet.tmux().server().expect("there is a server"));
    let id = fleet.status().of("a").id.clone().expect("it has an id");
    let scopes = fleet.manager().scopes();
    let first = scopes.iter().find(|scope| scope.contains(&id)).unwrap_or_else(|| panic!("{id} is not in {scopes:?}"));
    fleet.manager().systemctl(&["stop", first]);
    wait_until("the scope's agent ends", || fleet.marked().len() == 1);
    assert!(process::runs(server));
    assert_eq!(fleet.pid("b"), b);
    fleet.apply();
    fleet.started("a", 2);
    assert_eq!(fleet.pid("b"), b);
    fleet.down();
}

#[test]
fn d18_a_missing_program_is_a_plain_message_under_a_scope_as_well() {
    for fleet in [Some(Fleet::new()), Fleet::under_a_user_manager()].into_iter().flatten() {
        fleet.agents([agent("a").with("invocation: [no-such-agent, --flag]")]);
        fleet.farhelm(["apply", "-y"]).code(5).mentions("no-such-agent");
        let status = fleet.status();
        let a = status.of("a");
        assert_eq!(a.health, "failed", "{status:#?}");
        assert!(a.reason.contains("no-such-agent"), "{status:#?}");
        fleet.down();
    }
}

#[test]
fn d31_a_helper_in_a_deleted_directory_without_a_record_is_a_stray() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--children nohup --pids @RECORDS@/pids"), agent("b")]);
    fleet.apply();
    wait_until("the helper starts", || fleet.noted("pids").len() == 1);
    let (helper, b) = (fleet.noted("pids")[0].1, fleet.pid("b"));
    let id = fleet.status().of("a").id.clone().expect("it has an id");
    fleet.tmux().run(&["kill-session", "-t", "=t_a"]);
    wait_until("its agent ends", || fleet.marked().len() == 2);
    fs::remove_dir_all(fleet.path("work/a")).expect("our own directory");
    fs::remove_file(fleet.state().join("sessions").join(format!("{id}.json"))).expect("its record");

    // Without an answer it only lists.
    fleet.farhelm(["reap", "--strays"]).mentions(&helper.to_string());
    assert!(process::runs(helper));
    fleet.farhelm(["reap", "--strays", "-y"]).ok();
    assert!(!process::runs(helper));
    assert_eq!(fleet.pid("b"), b);
    fleet.dir("a");
    fleet.down();
}
