//! Real ancestries: shells in the place of agents, and what judging makes of what they leave.

use std::fs;
use std::process::Command;

use farhelm::agents::admission::{self, Refusal};
use farhelm::agents::catalogue::builtin;
use farhelm::host::process::{BootId, ProcessKey, Processes};
use farhelm::host::tmux::Socket;
use farhelm::state::record::{Launch, Phase};
use farhelm::state::reports::{MAX_REPORTERS, Report};

use crate::world::{START, World, machine, silently};

/// A shell with `script`; `exit` keeps it there as a parent.
fn shell(world: &World, script: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{script}; exit $?")]);
    world.launched(command)
}

/// A launch whose terminal's process is the link at `place` of the ancestry.
fn launch(report: &Report, place: usize) -> Launch {
    Launch {
        generation: 1,
        phase: Phase::Running,
        at: report.at,
        boot: machine().boot().expect("a boot id"),
        socket: Socket("/s".into()),
        server: None,
        pane: None,
        process: Some(report.ancestry[place].process),
        agent: None,
        scoped: false,
        resumed: false,
        prompt: None,
        hook: farhelm::state::record::HookState::None,
        ran: false,
        over: None,
        refused: None,
        contradicted: None,
        ended: None,
    }
}

#[track_caller]
fn judged(report: &Report, place: usize) -> Result<bool, &'static str> {
    let claude = builtin().values().find(|kind| kind.name.as_str() == "claude").expect("a built-in kind");
    admission::comes_from(claude, Some(&launch(report, place)), report).map_err(|refusal: Refusal| refusal.code())
}

const HOOK: &str = r#""$HOOK" internal hook --vendor claude --launch 1"#;

#[test]
fn the_terminals_own_process_and_its_child_report_and_nothing_below() {
    let world = World::new();
    silently(shell(&world, HOOK), START.as_bytes());
    let report = world.only_report();
    // The hook, the shell, this test.
    assert_eq!(report.reporter, report.ancestry[1].process);
    assert_eq!(report.ancestry[1].comm, "bash");
    assert_eq!(report.ancestry[2].process.pid, i32::try_from(std::process::id()).expect("a pid"));
    assert_eq!(judged(&report, 1), Ok(true));
    assert_eq!(judged(&report, 2), Ok(true));
    assert_eq!(judged(&report, 3), Err("too-deep"));
}

#[test]
fn a_shell_that_only_runs_the_hook_is_no_link() {
    let world = World::new();
    // bash stays here, since it is told to do more than one thing; the inner shells become what they run, or stay.
    let script = r#"sh -c "'$HOOK' internal hook --vendor claude --launch 1""#;
    silently(shell(&world, script), START.as_bytes());
    let report = world.only_report();
    let outer = report.ancestry.iter().position(|link| link.comm == "bash").expect("the shell is there");
    assert_eq!(report.reporter, report.ancestry[outer].process);
    assert_eq!(judged(&report, outer), Ok(true));
}

#[test]
fn a_nested_agents_report_is_refused_and_overwrites_none() {
    let world = World::new();
    let other = START.replace("aa26917c", "bb26917c");
    fs::write(world.state().join("other.json"), other).expect("our own file");
    let nested = format!(
        r#"{HOOK}; bash -c 'bash -c "\"\$HOOK\" internal hook --vendor claude --launch 1 <{}/other.json; exit"; exit'"#,
        world.state().display()
    );
    silently(shell(&world, &nested), START.as_bytes());
    let reports = world.reports();
    assert_eq!(reports.len(), 2, "{reports:?}");
    let own = reports.iter().find(|report| report.conversation.starts_with("aa")).expect("its own");
    let nested = reports.iter().find(|report| report.conversation.starts_with("bb")).expect("the nested one's");
    let place = |report: &Report| report.ancestry.iter().position(|link| link.process == own.reporter).expect("there");
    assert_eq!(judged(own, place(own)), Ok(true));
    assert_eq!(judged(nested, place(nested)), Err("too-deep"));
}

#[test]
fn a_report_counts_when_all_of_its_processes_are_gone() {
    let world = World::new();
    silently(shell(&world, HOOK), START.as_bytes());
    let report = world.only_report();
    let shell: ProcessKey = report.ancestry[1].process;
    assert!(machine().argv(shell).is_none(), "the shell has ended");
    assert_eq!(judged(&report, 1), Ok(true));
    let mut elsewhen = launch(&report, 1);
    elsewhen.boot = BootId("earlier".to_owned());
    let claude = &builtin().values().find(|kind| kind.name.as_str() == "claude").expect("a built-in kind");
    assert_eq!(admission::comes_from(claude, Some(&elsewhen), &report), Err(Refusal::OtherBoot));
}

#[test]
fn fifty_hooks_at_once_leave_one_whole_report_each_within_the_bounds() {
    let world = World::new();
    let all = format!(
        "for i in $(seq 50); do (bash -c '{HOOK} <{0}/start.json; exit') & done; wait",
        world.state().display()
    );
    fs::write(world.state().join("start.json"), START).expect("our own file");
    silently(shell(&world, &all), b"");
    let reports = world.reports();
    assert!(reports.iter().all(|report| report.conversation.starts_with("aa26917c")), "{reports:?}");
    assert_eq!(world.log().lines().filter(|line| line.contains(" reported ")).count(), 50, "{}", world.log());
    let names =
        || fs::read_dir(world.reports_dir()).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    assert!(names().all(|name| !name.to_string_lossy().ends_with(".unfinished")));
    // Those that came at the same moment may each have taken the last place; the next one finds it out.
    silently(shell(&world, HOOK), START.as_bytes());
    assert!(world.reports().len() <= MAX_REPORTERS, "{}", world.reports().len());
}
