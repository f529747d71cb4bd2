use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use super::*;
use crate::host::clock::Clock;
use crate::host::real::testing::{Guarded, eventually, machine};

/// Starts `sh -c script`, which prints a line when it is ready.
fn shell(script: &str, environment: &[(&str, &str)]) -> (Guarded, BufReader<ChildStdout>) {
    let mut child = Command::new("sh")
        .args(["-c", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    (Guarded(child), out)
}

fn sleeper() -> Guarded {
    Guarded(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap())
}

fn key(child: &Child) -> ProcessKey {
    let pid = child.id().cast_signed();
    ProcessKey { pid, start: Stat::read(pid).unwrap().unwrap().start }
}

fn keys(children: &[Guarded]) -> BTreeSet<ProcessKey> {
    children.iter().map(|child| key(&child.0)).collect()
}

#[test]
fn the_table_has_this_process_with_its_parent_and_memory() {
    let machine = machine();
    let table = machine.table().unwrap();
    let own = table.running(machine.own()).unwrap();
    assert_eq!(own.parent, rustix::process::getppid().unwrap().as_raw_pid());
    assert!(own.memory > 100_000 && own.memory < 10_000_000_000, "{}", own.memory);
}

#[test]
fn a_child_is_in_its_parents_tree_and_started_now() {
    let machine = machine();
    let child = sleeper();
    let table = machine.table().unwrap();
    let own = table.running(machine.own()).unwrap().key;
    assert!(table.trees(&[own]).contains(&key(&child.0)));
    let age = machine.now().since(&machine.started(key(&child.0).start));
    assert!(age < Duration::from_secs(20), "{age:?}");
}

#[test]
fn an_uncollected_process_is_dead() {
    let machine = machine();
    let child = sleeper();
    let key = key(&child.0);
    assert_eq!(machine.signal(key, Signal::Kill), Signalled::Sent);
    assert!(machine.wait_gone(&[key].into(), Duration::from_secs(10)).is_empty());
    let table = machine.table().unwrap();
    assert!(table.processes[&key.pid].dead && table.alive(key).is_none());
    assert_eq!(machine.signal(key, Signal::Term), Signalled::Gone);
    assert_eq!(machine.markers(key), MarkersRead::Gone);
}

#[test]
fn a_number_with_another_start_time_is_not_signalled() {
    let machine = machine();
    let mut child = sleeper();
    let other = ProcessKey { start: key(&child.0).start + 1, ..key(&child.0) };
    assert_eq!(machine.signal(other, Signal::Kill), Signalled::Gone);
    assert!(machine.wait_gone(&[other].into(), Duration::from_secs(10)).is_empty());
    assert_eq!(machine.markers(other), MarkersRead::Gone);
    assert_eq!(machine.argv(other), None);
    assert!(child.0.try_wait().unwrap().is_none(), "the stranger must live on");
}

#[test]
fn numbers_that_mean_groups_or_everybody_are_never_signalled() {
    let machine = machine();
    for pid in [0, -1, -2, i32::MIN] {
        assert_eq!(machine.signal(ProcessKey { pid, start: 0 }, Signal::Cont), Signalled::Gone);
    }
}

#[test]
fn stop_and_continue_reach_the_process() {
    let machine = machine();
    let child = sleeper();
    let key = key(&child.0);
    let state = || fs::read_to_string(format!("/proc/{}/stat", key.pid)).unwrap().contains(") T ");
    assert_eq!(machine.signal(key, Signal::Stop), Signalled::Sent);
    eventually("stopped", state);
    assert_eq!(machine.signal(key, Signal::Cont), Signalled::Sent);
    eventually("continued", || !state());
}

#[test]
fn waiting_ends_the_moment_all_are_gone() {
    let machine = machine();
    let children = [sleeper(), sleeper()];
    let keys = keys(&children);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| keys.iter().for_each(|key| assert_eq!(machine.signal(*key, Signal::Kill), Signalled::Sent)));
        assert!(machine.wait_gone(&keys, Duration::from_secs(60)).is_empty());
    });
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn waiting_ends_at_its_limit_and_names_who_is_left() {
    let machine = machine();
    let children = [sleeper(), sleeper()];
    machine.signal(key(&children[0].0), Signal::Kill);
    let survivors = machine.wait_gone(&keys(&children), Duration::from_millis(200));
    assert_eq!(survivors, [key(&children[1].0)].into());
}

#[test]
fn more_processes_than_one_chunk_are_waited_for() {
    let machine = machine();
    let (shell, mut out) = shell("for i in $(seq 300); do sleep 1000 & done; echo ready; wait; echo over", &[]);
    let table = machine.table().unwrap();
    let mut sleepers = table.trees(&[key(&shell.0)]);
    sleepers.remove(&key(&shell.0));
    assert_eq!(sleepers.len(), 300);
    assert_eq!(machine.wait_gone(&sleepers, Duration::from_millis(10)), sleepers);
    for sleeper in &sleepers {
        assert_eq!(machine.signal(*sleeper, Signal::Kill), Signalled::Sent);
    }
    assert!(machine.wait_gone(&sleepers, Duration::from_secs(30)).is_empty());
    out.read_line(&mut String::new()).unwrap();
}

#[test]
fn markers_are_read_from_the_environment_of_the_exec() {
    let machine = machine();
    let set = [("FARHELM_SESSION_ID", "s 1"), ("FARHELM_AGENT_ID", "a"), ("FARHELM_TAB_ID", ""), ("OTHER", "x")];
    let (child, _out) = shell("export FARHELM_SUPERVISOR_SOCK=/late; echo ready; read x", &set);
    let expected = Markers {
        session: Some("s 1".to_owned()),
        agent: Some("a".to_owned()),
        tab: Some(String::new()),
        socket: None,
    };
    eventually("marked", || machine.markers(key(&child.0)) == MarkersRead::Read(expected.clone()));
}

#[test]
fn the_first_variable_of_a_name_counts_and_a_mere_prefix_does_not() {
    let environ = b"FARHELM_SESSION_IDX=no\0FARHELM_SESSION_ID=1\0FARHELM_SESSION_ID=2\0FARHELM_\0\0x";
    assert_eq!(parse_markers(environ), Markers { session: Some("1".to_owned()), ..Markers::default() });
}

#[test]
fn a_kernel_thread_and_an_empty_environment_are_unmarked() {
    let machine = machine();
    let child = Guarded(Command::new("sleep").arg("1000").env_clear().stdin(Stdio::null()).spawn().unwrap());
    assert_eq!(machine.markers(key(&child.0)), MarkersRead::Read(Markers::default()));
}

#[test]
fn another_accounts_process_is_foreign() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let child = Guarded(Command::new("sleep").arg("1000").uid(65_534).stdin(Stdio::null()).spawn().unwrap());
    eventually("foreign", || machine().markers(key(&child.0)) == MarkersRead::Foreign);
}

#[test]
fn arguments_are_read_back_exactly() {
    let machine = machine();
    let child =
        Guarded(Command::new("sh").args(["-c", "read x", "a b", "", "c\nd"]).stdin(Stdio::piped()).spawn().unwrap());
    let expected = ["sh", "-c", "read x", "a b", "", "c\nd"];
    eventually("argv", || machine.argv(key(&child.0)).is_some_and(|argv| argv == expected));
}

#[test]
fn the_working_directory_is_the_processs_own() {
    let machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(dir.path()).unwrap();
    let child = Guarded(Command::new("sleep").arg("1000").current_dir(&dir).stdin(Stdio::null()).spawn().unwrap());
    assert_eq!(machine.dir(key(&child.0)), Some(dir));
    assert_eq!(machine.dir(ProcessKey { start: 1, ..key(&child.0) }), None);
}

#[test]
fn the_boot_id_is_stable_and_well_formed() {
    let machine = machine();
    let boot = machine.boot().unwrap();
    assert_eq!(boot.0.len(), 36);
    assert_eq!(boot, machine.boot().unwrap());
}

#[test]
fn a_file_that_a_process_holds_open_is_among_its_open_files_until_it_ends() {
    let (machine, dir) = (machine(), tempfile::tempdir().unwrap());
    let file = dir.path().canonicalize().unwrap().join("lock");
    let script = format!("exec 9>'{}'; echo ready; read line", file.display());
    let (child, _out) = shell(&script, &[]);
    let key = key(&child.0);
    assert!(machine.open_files(key).unwrap().contains(&file));
    assert_eq!(machine.open_files(ProcessKey { start: key.start + 1, ..key }), None);
    drop(child);
    assert_eq!(machine.open_files(key), None);
}
