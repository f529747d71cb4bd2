//! Situations reported against planners: what a plan says, and that text, JSON and exit codes agree.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::{wait_at_most, wait_until};

/// The numbers of a plan that are not zero, `unchanged` left out.
fn counted(plan: &Value) -> Vec<String> {
    let counters = plan["counters"].as_object().expect("a plan has counters");
    counters
        .iter()
        .filter(|(name, n)| *name != "unchanged" && **n != 0)
        .map(|(name, n)| format!("{name}={n}"))
        .collect()
}

#[test]
fn c1_without_differences_text_json_and_exit_code_agree() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    fleet.farhelm(["plan", "--detailed-exitcode"]).ok().says("no changes; 2 unchanged");
    let json = fleet.farhelm(["plan", "--json", "--detailed-exitcode"]).ok().json();
    assert_eq!(counted(&json), [""; 0]);
    assert_eq!(json["counters"]["unchanged"], 2);
    fleet.down();
}

#[test]
fn c1_with_differences_they_agree_as_well() {
    let fleet = Fleet::new();
    fleet.agents([agent("same"), agent("edited"), agent("removed")]);
    fleet.apply();
    fleet.agents([agent("same"), agent("edited").does("--more"), agent("new")]);
    let text = fleet.farhelm(["plan", "--detailed-exitcode"]).code(3);
    let json = fleet.farhelm(["plan", "--json", "--detailed-exitcode"]).code(3).json();
    for number in ["launch", "restart", "reap", "destructive", "unchanged"] {
        assert_eq!(json["counters"][number], 1, "{number}: {json:#}");
    }
    text.says("1 to launch").says("1 to restart").says("1 to reap").says("1 unchanged").says("Destroys: reap removed");
    // Planning has changed nothing.
    assert_eq!(fleet.marked().len(), 3);
    fleet.down();
}

#[test]
fn c3_and_c10_changes_are_an_exit_code_only_on_request_and_never_the_code_of_an_error() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.farhelm(["plan"]).ok();
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(2);
    fleet.write("farhelm: v1\nfleet: t\nsessions: [\n");
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(1);
    fleet.farhelm(["plan", "--no-such-flag"]).code(64);
    fleet.farhelm(["no-such-verb"]).code(64);
}

#[test]
fn c4_a_protected_session_stays_protected_when_its_whole_block_is_deleted() {
    let fleet = Fleet::new();
    fleet.agents([agent("vault").with("protect: true"), agent("a")]);
    fleet.apply();
    let pid = fleet.pid("vault");
    fleet.agents([agent("a")]);
    fleet.farhelm(["plan", "--detailed-exitcode"]).ok().says("blocked").says("farhelm unprotect vault");
    fleet.apply();
    assert_eq!(fleet.pid("vault"), pid);

    // A lost state directory does not lift it.
    fs::remove_dir_all(fleet.state()).expect("our own directory");
    fleet.apply();
    assert!(process::runs(pid));
    fleet.farhelm(["down", "-y"]).mentions("vault");
    assert!(process::runs(pid));

    fleet.farhelm(["unprotect", "vault"]).ok();
    fleet.apply();
    assert!(!process::runs(pid));
    fleet.down();
}

#[test]
fn c6_reaps_among_many_changes_are_named_again_beside_the_summary() {
    let fleet = Fleet::new();
    fleet.agents(["r1", "r2", "r3"].map(agent));
    fleet.apply();
    let names: Vec<String> = (0..258).map(|n| format!("new-{n}")).collect();
    fleet.agents(names.iter().map(|name| agent(name)));
    let plan = fleet.farhelm(["plan", "--detailed-exitcode"]).code(3);
    let last: Vec<&str> = plan.stdout.trim_end().lines().rev().take(2).collect();
    assert!(last[0].contains("258 to launch") && last[0].contains("3 to reap"), "{last:?}");
    assert!(["r1", "r2", "r3"].iter().all(|name| last[1].contains(name)), "{last:?}");
    fleet.agents([]);
    fleet.down();
}

#[test]
fn c11_defaults_spelled_out_order_comments_and_targeted_applies_are_no_difference() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").with("env: {ONE: '1', TWO: '2'}"), agent("b")]);
    fleet.apply();
    fleet.is_settled();
    let before = fleet.pids(&["a", "b"]);
    fleet.agents_under(
        "# a comment\npolicy: {launch: {stagger: 1ms, parallel: 8}, prune: true, max_reap: 5}\ndefaults: {permissions: default}",
        [
            agent("b").with("desired: running").with("hooks: on").with("kind: generic"),
            agent("a").with("env: {TWO: '2', ONE: '1'}").with("restart: {when: on-failure, max_restarts: 5}"),
        ],
    );
    fleet.is_settled();
    fleet.farhelm(["apply", "-y", "--only", "a"]).ok();
    fleet.is_settled();
    fleet.apply();
    fleet.is_settled();
    assert_eq!(fleet.pids(&["a", "b"]), before);
    fleet.down();
}

#[test]
fn c11_a_targeted_apply_touches_nothing_else() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b"), agent("c")]);
    fleet.apply();
    let before = fleet.pids(&["a", "b"]);
    fleet.agents([agent("a").does("--new"), agent("b").does("--new")]);
    fleet.farhelm(["apply", "-y", "--only", "b"]).ok();
    let after = fleet.pids(&["a", "b", "c"]);
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
    let _ = fleet.farhelm(["plan", "--exclude", "a", "--exclude", "c", "--detailed-exitcode"]);
    fleet.apply();
    assert_eq!(fleet.pid("b"), after[1]);
    fleet.down();
}

#[test]
fn c16_a_pane_killed_after_an_apply_of_this_revision_is_healed() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    for times in 2..4 {
        let pane = fleet.status().of("a").pane.clone().expect("it has a pane");
        let pid = fleet.pid("a");
        fleet.tmux().run(&["kill-pane", "-t", &pane]);
        wait_until("its agent ends", || !process::runs(pid));
        fleet.apply();
        fleet.started("a", times);
    }
    fleet.down();
}

#[test]
fn c25_and_c31_a_one_shot_that_ended_well_is_a_success_and_is_not_run_again() {
    let fleet = Fleet::new();
    fleet.agents([agent("once").does("--exit 0 --after 3"), agent("a")]);
    fleet.farhelm(["apply", "-y", "--wait"]).ok();
    wait_at_most(Duration::from_secs(30), "it ends", || fleet.status().of("once").health == "completed");
    fleet.farhelm(["apply", "-y", "--wait"]).ok();
    fleet.is_settled();
    assert_eq!(fleet.starts("once").len(), 1);
    assert_eq!(fleet.status().of("once").sync, "in-sync");

    // Asked for, or changed, it runs again.
    fleet.farhelm(["restart", "once"]).ok();
    fleet.started("once", 2);
    fleet.down();
}

#[test]
fn c30_nothing_to_do_asks_nothing_and_something_to_do_does_nothing_unasked() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    // Without an answer nothing is done.
    let ran = fleet.farhelm(["apply"]);
    assert_eq!(fleet.starts("a"), [], "{ran}");
    assert_ne!(ran.code, 0, "{ran}");
    fleet.apply();
    fleet.farhelm(["apply"]).ok().says("no changes");
    fleet.down();
}

#[test]
fn a_saved_plan_is_carried_out_exactly_or_refused() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.farhelm(["plan", "--out", "saved.plan"]).ok();
    fleet.farhelm(["apply", "-y", "saved.plan"]).ok();
    fleet.started("a", 1);

    fleet.agents([agent("a"), agent("b")]);
    fleet.farhelm(["plan", "--out", "saved.plan"]).ok();
    fleet.crash("a");
    fleet.farhelm(["apply", "-y", "saved.plan"]).code(1).mentions("a");
    assert_eq!(fleet.starts("b"), []);
    assert_eq!(fleet.starts("a").len(), 1);
    fleet.down();
}

#[test]
fn a_plan_of_what_runs_asks_tmux_once() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    let asked = fleet.path("asked");
    let counting = fleet.breakable_tmux(&format!("echo \"$*\" >> '{}'", asked.display()));
    fleet.apply();
    fs::write(counting, "").expect("our own file");
    fleet.farhelm(["plan"]).ok().mentions("no changes");
    let asked = fs::read_to_string(&asked).expect("it asked");
    assert_eq!(asked.lines().count(), 1, "{asked}");
    fleet.down();
}
