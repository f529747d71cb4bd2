//! What an operator at a terminal sees and decides.

use crate::support::fleet::{Fleet, agent};
use crate::support::operator::Operator;
use crate::support::process;
use crate::support::terminal::Terminal;
use crate::support::wait::wait_until;

fn my_tmux(fleet: &Fleet) -> Terminal {
    Terminal::new(fleet.path("my-tmux"), fleet.path("home"))
}

#[test]
fn c30_apply_shows_the_plan_asks_and_does_what_it_is_told() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let mine = my_tmux(&fleet);

    let no = Operator::runs(&fleet, &mine, "no", &["apply"]);
    no.sees("1 to launch").sees("[y/N]").types(&["n", "Enter"]).ends_with(1);
    assert_eq!(fleet.starts("a"), []);
    let yes = Operator::runs(&fleet, &mine, "yes", &["apply"]);
    yes.sees("[y/N]").types(&["y", "Enter"]).ends_with(0);
    fleet.started("a", 1);
    // Nothing to do: nothing is asked.
    Operator::runs(&fleet, &mine, "again", &["apply"]).ends_with(0);
    mine.kill_server();
    fleet.down();
}

#[test]
fn what_changes_while_the_question_stands_is_shown_and_asked_again() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    fleet.agents([agent("a"), agent("b").does("--changed")]);
    let mine = my_tmux(&fleet);
    let operator = Operator::runs(&fleet, &mine, "asked", &["apply"]);
    operator.sees("[y/N]");
    fleet.crash("a");
    operator.types(&["y", "Enter"]).sees("1 to launch");
    assert_eq!(fleet.starts("a").len(), 1, "done without a second question");
    operator.types(&["y", "Enter"]).ends_with(0);
    fleet.started("a", 2);
    mine.kill_server();
    fleet.down();
}

#[test]
fn attach_shows_the_session_also_from_within_another_tmux() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")
        .does("--say here-I-am")
        .with("tabs: {logs: {run: [sh, -c, 'echo a-tab; exec sleep 1000']}}")]);
    fleet.apply();
    let mine = my_tmux(&fleet);
    let operator = Operator::runs(&fleet, &mine, "attach", &["attach", "a"]);
    operator.sees("here-I-am");
    assert_eq!(fleet.tmux().run(&["list-clients", "-F", "#{session_name}"]), "t_a");
    fleet.farhelm(["plan"]).ok().says("no changes");
    Operator::runs(&fleet, &mine, "tab", &["attach", "t/a:logs"]).sees("a-tab");
    fleet.agents([]);
    fleet.farhelm(["plan"]).ok().says("client");
    mine.kill_server();
    fleet.down();
}

#[test]
fn a_status_that_is_followed_begins_in_the_first_line_and_is_replaced_there() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let mine = my_tmux(&fleet);
    let operator = Operator::runs(&fleet, &mine, "status", &["status", "--watch"]);
    operator.sees("running");
    assert!(operator.screen().starts_with("fleet t"), "{}", operator.screen());
    fleet.crash("a");
    fleet.apply();
    let pid = fleet.pid("a").to_string();
    operator.sees(&pid);
    assert!(operator.screen().starts_with("fleet t"), "{}", operator.screen());
    assert_eq!(operator.screen().matches("fleet t").count(), 1, "{}", operator.screen());
    mine.kill_server();
    fleet.down();
}

#[test]
fn a_session_cannot_be_ended_from_within_itself() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").with("tabs: {shell: {}}"), agent("b")]);
    fleet.apply();
    let pids = fleet.pids(&["a", "b"]);
    let tmux = fleet.tmux();
    let shell = tmux.stamped().into_iter().find(|pane| pane.session == "t_a" && pane.pid != pids[0]).expect("a tab");
    let line = |verb: &str| {
        let root = fleet.root().display();
        let binary = env!("CARGO_BIN_EXE_farhelm");
        format!(
            "cd {root}/work && FARHELM_STATE_DIR={root}/state FARHELM_TMUX_SOCKET={root}/tmux {binary} {verb} > \
             {root}/inside 2>&1; echo $? > {root}/inside.code"
        )
    };
    tmux.run(&["send-keys", "-l", "-t", &shell.id, &line("down -y")]);
    tmux.run(&["send-keys", "-t", &shell.id, "Enter"]);
    wait_until("it ends", || std::fs::read_to_string(fleet.path("inside.code")).is_ok_and(|code| code.ends_with('\n')));
    let said = std::fs::read_to_string(fleet.path("inside")).expect("its output");
    assert!(process::runs(pids[0]), "it ended the session it runs in\n{said}");
    assert!(process::runs(shell.pid), "it ended the shell it runs in\n{said}");
    assert!(said.contains("inside"), "{said}");
    fleet.down();
}

#[test]
fn tabs_open_close_and_are_drift_when_missing() {
    let fleet = Fleet::new();
    let with = |tabs: &str| fleet.agents([agent("a").with(&format!("tabs: {tabs}"))]);
    let names = || {
        let listed = fleet.tmux().run(&["list-windows", "-t", "=t_a:", "-F", "#{window_name}"]);
        let mut names: Vec<String> = listed.lines().map(str::to_owned).collect();
        names.sort();
        names
    };
    with("{logs: {run: [sleep, '1000']}, shell: {}}");
    fleet.apply();
    let agent_pid = fleet.pid("a");
    assert_eq!(names().len(), 3, "{:?}", names());
    fleet.is_settled();

    // Closed by hand: opened again. Its command ended: stays as it ended.
    fleet.tmux().run(&["kill-window", "-t", "=t_a:shell"]);
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(2).says("open tab").says("shell");
    fleet.apply();
    assert_eq!(names().len(), 3, "{:?}", names());
    with("{logs: {run: [sh, -c, 'exit 3']}, shell: {}}");
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(3).says("Destroys: close tab");
    fleet.apply();
    fleet.is_settled();

    with("{shell: {}}");
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(3).says("1 tab to close").says("logs");
    fleet.apply();
    assert_eq!(names().len(), 2, "{:?}", names());
    assert_eq!(fleet.pid("a"), agent_pid, "the agent was touched");
    fleet.is_settled();
    fleet.down();
}

#[test]
fn a_stop_and_a_restart_leave_the_tabs_running() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").with("tabs: {server: {run: [sleep, '1000']}}")]);
    fleet.apply();
    let tab = fleet.status().of("a").tabs[0].pid.expect("it runs");
    let environment = process::environment(tab);
    assert!(environment.keys().all(|name| name != "FARHELM_AGENT_ID"), "a tab carries the agent's mark");
    fleet.farhelm(["restart", "a"]).ok();
    fleet.farhelm(["stop", "a"]).ok();
    assert!(process::runs(tab));
    fleet.farhelm(["start", "a"]).ok();
    assert!(process::runs(tab));
    assert_eq!(fleet.tmux().sessions(), ["t_a"]);
    fleet.down();
}

#[test]
fn every_action_and_refusal_is_an_event() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b").with("invocation: [no-such-agent]")]);
    fleet.farhelm(["apply", "-y"]).code(5);
    fleet.crash("a");
    let _ = fleet.farhelm(["apply", "-y"]);
    fleet.farhelm(["stop", "a", "-m", "for the night"]).ok();
    let events = fleet.farhelm(["events"]).ok().stdout;
    let read: Vec<serde_json::Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect();
    let has = |session: &str, action: &str, result: &str| {
        read.iter().any(|e| e["session"] == session && e["action"] == action && e["result"] == result)
    };
    assert!(has("a", "launch", "done") && has("a", "stop", "done"), "{events}");
    assert!(has("b", "launch", "failed"), "{events}");
    assert!(read.iter().all(|e| e["actor"].is_string() && !e["at"].is_null()), "{events}");
    fleet.down();
}
