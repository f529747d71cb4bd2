//! Situations reported against agent fleets: coming back after a death, and ending completely.

use std::time::{Duration, Instant};

use crate::support::fleet::{AGENT, Fleet, Start, agent};
use crate::support::process;
use crate::support::wait::wait_until;

/// A resume command for a session of this name.
fn resume(name: &str) -> String {
    format!("resume: '@AGENT@ --record @RECORDS@/{name} --resumed'")
}

/// The agent's own arguments, without its name and `--record FILE`.
fn own(start: &Start) -> &[String] {
    &start.argv[3..]
}

#[test]
fn b3_after_the_servers_death_every_session_comes_back_by_its_resume_command() {
    let names = ["a", "b", "c"];
    let fleet = Fleet::new();
    fleet.agents(names.map(|name| agent(name).with(&resume(name))));
    fleet.apply();
    for name in names {
        assert_eq!(own(&fleet.started(name, 1)), [""; 0]);
    }
    fleet.tmux().kill_server();
    let plan = fleet.farhelm(["plan"]).ok();
    assert!(plan.stdout.contains("server"), "the reason is the server's death\n{plan}");
    fleet.apply();
    for name in names {
        assert_eq!(own(&fleet.started(name, 2)), ["--resumed"]);
    }
    fleet.is_settled();
    fleet.down();
}

#[test]
fn b3_a_dead_pane_and_a_restart_resume_as_well() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").with(&resume("a"))]);
    fleet.apply();
    fleet.started("a", 1);
    fleet.crash("a");
    fleet.apply();
    assert_eq!(own(&fleet.started("a", 2)), ["--resumed"]);
    fleet.farhelm(["restart", "a"]).ok();
    assert_eq!(own(&fleet.started("a", 3)), ["--resumed"]);
    fleet.farhelm(["restart", "--fresh", "a"]).ok();
    assert_eq!(own(&fleet.started("a", 4)), [""; 0]);
    fleet.down();
}

#[test]
fn b13_a_relaunch_has_the_same_arguments_environment_and_directory() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")
        .does("--model big 'a b' '' --flag=#{x};")
        .with("env: {GREETING: 'hello # \"world\" $HOME', EMPTY: ''}")]);
    fleet.apply();
    let first = fleet.started("a", 1);
    assert_eq!(own(&first), ["--model", "big", "a b", "", "--flag=#{x};"]);
    assert_eq!(first.cwd, fleet.path("work/a").canonicalize().expect("it exists"));
    assert_eq!(first.environment["GREETING"], "hello # \"world\" $HOME");
    assert_eq!(first.environment["EMPTY"], "");
    fleet.crash("a");
    fleet.apply();
    let second = fleet.started("a", 2);
    assert_eq!((&first.argv, &first.cwd), (&second.argv, &second.cwd));
    assert_eq!(first.environment, second.environment);
    fleet.down();
}

#[test]
fn b14_a_wrapper_is_kept_and_its_slot_filled() {
    let wrapper = r#"[sh, -c, 'cd "$1" && shift && "$@"; exit $?', w, "{cwd}", '@AGENT@', --record, '@RECORDS@/a'"#;
    let fleet = Fleet::new();
    let resume = format!("resume: {wrapper}, --resumed]");
    fleet.agents([agent("a").with(&format!("invocation: {wrapper}, '--dir={{cwd}}']")).with(&resume)]);
    fleet.apply();
    let first = fleet.started("a", 1);
    assert_eq!(own(&first), ["--dir={cwd}"], "only a whole argument is a slot");
    let wrapper_pid = fleet.pid("a");
    assert_eq!(process::children(wrapper_pid), [first.pid]);

    process::kill_hard(first.pid);
    wait_until("the wrapper ends after its agent", || !process::runs(wrapper_pid));
    fleet.apply();
    let second = fleet.started("a", 2);
    assert_eq!(own(&second), ["--resumed"]);
    assert_eq!(process::children(fleet.pid("a")), [second.pid]);
    assert_eq!(process::argv(fleet.pid("a"))[4], fleet.path("work/a").canonicalize().expect("it exists").as_os_str());
    fleet.down();
}

#[test]
fn b23_launching_a_second_session_leaves_the_first_alone() {
    let fleet = Fleet::new();
    fleet.agents([agent("one")]);
    fleet.apply();
    let one = fleet.pid("one");
    fleet.agents([agent("one"), agent("two")]);
    fleet.apply();
    assert_eq!(fleet.pid("one"), one);
    fleet.pid("two");
    fleet.down();
}

#[test]
fn b28_a_session_that_is_to_be_stopped_stays_stopped() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let pid = fleet.pid("a");
    fleet.agents([agent("a").with("desired: stopped")]);
    fleet.apply();
    assert!(!process::runs(pid));
    fleet.tmux().kill_server();
    for _ in 0..2 {
        fleet.apply();
        fleet.is_settled();
    }
    assert_eq!(fleet.starts("a").len(), 1);
    assert_eq!(fleet.status().of("a").health, "stopped");
    fleet.down();
}

#[test]
fn b31_the_cap_holds_by_priority_and_then_name() {
    let names = ["a", "b", "c", "d", "e"];
    let fleet = Fleet::new();
    let with_priority = |name: &str| if name == "e" { agent(name).with("priority: 10") } else { agent(name) };
    fleet.agents_under("policy: {max_running: 2, launch: {parallel: 4, stagger: 1ms}}", names.map(with_priority));
    let _ = fleet.apply();
    assert_eq!(fleet.marked().len(), 2);
    fleet.pid("e");
    fleet.pid("a");
    fleet.farhelm(["plan", "--detailed-exitcode"]).ok().says("waiting").says("3 waiting");
    fleet.crash("e");
    fleet.apply();
    fleet.pid("e");
    assert_eq!(fleet.marked().len(), 2);
    fleet.down();
}

#[test]
fn b31_launches_keep_their_distance() {
    let names = ["a", "b", "c", "d"];
    let fleet = Fleet::new();
    fleet.agents_under("policy: {launch: {parallel: 4, stagger: 400ms}}", names.map(agent));
    fleet.apply();
    let mut starts: Vec<u64> =
        fleet.pids(&names).into_iter().map(|pid| process::seen(pid).expect("it runs").start).collect();
    starts.sort_unstable();
    // In clock ticks of 10 ms, from the login shell's start; a busy machine delays some of them.
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 15), "{starts:?}");
    assert!(starts[3] - starts[0] >= 90, "{starts:?}");
    fleet.down();
}

#[test]
fn b34_the_declared_environment_reaches_an_agent_on_a_server_that_lacks_it() {
    let fleet = Fleet::new();
    let tmux = fleet.tmux();
    tmux.run(&["new-session", "-d", "-s", "mine", "sleep 1000"]);
    for (name, value) in [("CLAUDECODE", "1"), ("FARHELM_TAB_ID", "stale"), ("API_KEY", "of the server")] {
        tmux.run(&["set-environment", "-g", name, value]);
    }
    fleet.agents([agent("a").with("env: {API_KEY: declared}")]);
    fleet.apply();
    let environment = fleet.started("a", 1).environment;
    assert_eq!(environment["API_KEY"], "declared");
    for foreign in ["CLAUDECODE", "FARHELM_TAB_ID", "TMUX", "TMUX_PANE"] {
        assert!(!environment.contains_key(foreign), "{foreign} reached the agent");
    }
    let id = fleet.status().of("a").id.clone().expect("it has an id");
    assert_eq!((&environment["FARHELM_SESSION_ID"], &environment["FARHELM_AGENT_ID"]), (&id, &id));
    assert_eq!(environment["COLORTERM"], "truecolor");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_farhelm")).parent().expect("a directory");
    assert!(environment["PATH"].starts_with(&format!("{}:", binary.display())), "{}", environment["PATH"]);
    fleet.down();
    assert_eq!(tmux.sessions(), ["mine"]);
}

#[test]
fn b38_helpers_in_groups_of_their_own_end_with_a_removed_session_and_are_counted() {
    let fleet = Fleet::new();
    fleet
        .agents([agent("keep"), agent("gone").does("--children plain,nohup,setsid,double-fork --pids @RECORDS@/pids")]);
    fleet.apply();
    wait_until("the helpers start", || fleet.noted("pids").len() == 4);
    let keep = fleet.pid("keep");
    fleet.agents([agent("keep")]);
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(3).says("5 processes").says("Destroys: reap gone");
    fleet.apply();
    for (how, pid) in fleet.noted("pids") {
        assert!(!process::runs(pid), "{how} helper {pid} survives");
    }
    assert_eq!(fleet.pid("keep"), keep);
    assert!(!fleet.status().has("gone"));
    fleet.is_settled();
    fleet.down();
}

#[test]
fn b39_helpers_of_a_killed_agent_are_found_and_reaped() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--children plain,nohup,setsid,double-fork --pids @RECORDS@/pids")]);
    fleet.apply();
    wait_until("the helpers start", || fleet.noted("pids").len() == 4);
    fleet.crash("a");
    // The terminal's end may have ended the plain one; the others live on with process 1 as parent.
    assert!(fleet.marked().len() >= 3);
    fleet.agents([]);
    fleet.apply();
    assert_eq!(fleet.marked(), []);
    for (how, pid) in fleet.noted("pids") {
        assert!(!process::runs(pid), "{how} helper {pid} survives");
    }
    fleet.down();
}

#[test]
fn a_reap_of_many_gives_each_the_full_grace_at_the_same_time() {
    let names: Vec<String> = (0..5).map(|n| format!("s{n}")).collect();
    let fleet = Fleet::new();
    fleet.agents(names.iter().map(|name| agent(name).does("--ignore TERM").with("stop: {grace: 1s}")));
    fleet.apply();
    let begin = Instant::now();
    fleet.down();
    let took = begin.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_millis(4500)).contains(&took), "{took:?}");
}

#[test]
fn the_agents_own_name_is_its_pane_process() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let argv = process::argv(fleet.pid("a"));
    assert_eq!(argv[1], AGENT, "a shell or the shim is left above the agent: {argv:?}");
    fleet.down();
}
