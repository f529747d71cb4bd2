//! Situations reported against agent fleets: which pane is whose, and what a failed look means.

use std::fs;

use crate::support::fleet::{AGENT, Fleet, agent};
use crate::support::process;
use crate::support::wait::wait_until;

/// While tmux is broken nothing is killed or launched; afterwards all is as it was.
fn nothing_is_done_while_tmux(instead: &str, words: &str) {
    let fleet = Fleet::new();
    let flag = fleet.breakable_tmux(instead);
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    let before = fleet.pids(&["a", "b"]);
    fleet.agents([agent("a").does("--changed"), agent("c")]);

    fs::write(&flag, "").expect("a file");
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(4).says("unknown").mentions(words);
    fleet.farhelm(["apply", "-y"]).mentions(words);
    let _ = fleet.farhelm(["down", "-y"]);
    assert!(before.iter().all(|pid| process::runs(*pid)), "something was killed on a failed observation");
    assert_eq!(fleet.marked().len(), 2, "something was launched on a failed observation");

    fs::remove_file(&flag).expect("just made");
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    assert_eq!(fleet.pids(&["a", "b"]), before);
    fleet.down();
}

#[test]
fn b17_nothing_is_done_while_tmux_does_not_answer() {
    nothing_is_done_while_tmux("exec sleep 1000", "did not answer");
}

#[test]
fn b17_nothing_is_done_while_tmux_fails() {
    nothing_is_done_while_tmux(
        "[ \"$1\" = -V ] && echo 'tmux 3.3a' && exit 0\necho 'lost server' >&2; exit 1",
        "lost server",
    );
}

#[test]
fn d28_nothing_is_done_while_tmux_speaks_another_protocol_than_its_server() {
    nothing_is_done_while_tmux(
        "[ \"$1\" = -V ] && echo 'tmux 3.5' && exit 0\necho 'open terminal failed: protocol version mismatch (client 8, server 7)' >&2; exit 1",
        "protocol version mismatch",
    );
}

#[test]
fn b19_another_instance_on_the_same_server_sees_whose_panes_they_are() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let pid = fleet.pid("a");

    let other = fleet.path("other-state");
    fleet.set("FARHELM_STATE_DIR", &other);
    fleet.farhelm(["plan"]).ok().says("blocked");
    let _ = fleet.farhelm(["apply", "-y"]);
    let _ = fleet.farhelm(["down", "-y"]);
    assert!(process::runs(pid));
    assert_eq!(fleet.starts("a").len(), 1, "a second one was started");

    fleet.set("FARHELM_STATE_DIR", fleet.state());
    assert_eq!(fleet.pid("a"), pid);
    fleet.is_settled();
    fleet.down();
}

#[test]
fn b20_a_name_that_begins_another_name_reaps_only_itself() {
    let fleet = Fleet::new();
    fleet.agents([agent("a-1"), agent("a-10"), agent("a-100")]);
    fleet.apply();
    let others = fleet.pids(&["a-10", "a-100"]);
    fleet.agents([agent("a-10"), agent("a-100")]);
    fleet.apply();
    assert_eq!(fleet.pids(&["a-10", "a-100"]), others);
    assert_eq!(fleet.marked().len(), 2);
    fleet.down();
}

#[test]
fn d23_a_missing_session_is_never_taken_for_one_whose_name_it_begins() {
    let fleet = Fleet::new();
    fleet.agents([agent("fh-1"), agent("fh-10")]);
    fleet.apply();
    let ten = fleet.pid("fh-10");
    fleet.tmux().run(&["kill-session", "-t", "=t_fh-1"]);
    wait_until("the session's agent ends", || fleet.marked().len() == 1);
    assert_ne!(fleet.status().of("fh-1").pid, Some(ten));
    fleet.farhelm(["stop", "fh-1"]).ok();
    assert_eq!(fleet.pid("fh-10"), ten);
    fleet.farhelm(["start", "fh-1"]).ok();
    assert_eq!(fleet.pid("fh-10"), ten);
    assert_ne!(fleet.pid("fh-1"), ten);
    fleet.down();
}

#[test]
fn b24_a_dead_agent_behind_a_live_wrapper_is_not_taken_for_a_running_one() {
    let fleet = Fleet::new();
    let kinds = "kinds:\n  fake:\n    name: fake\n    about: A test's agent.\n    executables: [fake-agent]\n    process_names: [fake-agent]\n";
    fleet.agents_under(
        kinds,
        [agent("a")
            .with("kind: fake")
            .with("invocation: [sh, -c, '\"$@\"; sleep 1000', w, '@AGENT@', --record, '@RECORDS@/a']")],
    );
    fleet.apply();
    let start = fleet.started("a", 1);
    fleet.is_settled(); // the agent has been seen behind its wrapper
    process::kill_hard(start.pid);
    let status = fleet.status();
    assert_ne!(status.of("a").sync, "in-sync", "{status:#?}");
    fleet.apply();
    fleet.started("a", 2);
    assert_eq!(fleet.marked().len(), 2, "the old wrapper is left");
    fleet.down();
}

#[test]
fn b42_a_vanished_tmux_session_is_a_crash() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    let b = fleet.pid("b");
    fleet.tmux().run(&["kill-session", "-t", "=t_a"]);
    wait_until("its agent ends", || fleet.marked().len() == 1);
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(2).says("launch");
    fleet.apply();
    fleet.started("a", 2);
    assert_eq!(fleet.pid("b"), b);
    fleet.down();
}

#[test]
fn b43_a_renamed_session_moves_in_place() {
    let fleet = Fleet::new();
    fleet.agents([agent("old").with("tabs: {shell: {}}")]);
    fleet.apply();
    let status = fleet.status();
    let (pid, id) = (fleet.pid("old"), status.of("old").id.clone());
    let same = |name: &str| {
        let invocation = format!("invocation: '{AGENT} --record @RECORDS@/old'");
        agent(name).with(&invocation).with("tabs: {shell: {}}")
    };
    fleet.dir("old");
    let text = fs::read_to_string(fleet.agents([same("new").with("moved: {from: old}")])).expect("just written");
    fleet.file("farhelm.yaml", text.replace("/new'\n", "/old'\n")); // the directory stays
    fleet.farhelm(["plan"]).ok().says("move");
    fleet.apply();
    assert_eq!(fleet.pid("new"), pid);
    assert_eq!(fleet.status().of("new").id, id);
    assert!(!fleet.status().has("old"));
    assert_eq!(fleet.tmux().sessions(), ["t_new"]);
    fleet.is_settled();
    fleet.down();
}
