use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::host::clock::Clock;
use crate::host::disk::{Disk, DiskFault, Locked};
use crate::host::process::{Markers, MarkersRead, ProcessKey, Processes, Signal, Signalled};
use crate::host::tmux::{OpenPane, Opened, PaneEnd, PaneId, Place, Socket, StampText, Tmux, TmuxError};

const ID: &str = "11111111-1111-4111-8111-111111111111";

fn world(seed: u64) -> World {
    let world = World::new(seed);
    world.set_faults(Faults::none());
    world.start();
    world.make_dir(Path::new("/state/launch")).unwrap();
    world
}

fn socket() -> Socket {
    Socket(PathBuf::from("/tmp/tmux-0/farhelm"))
}

fn stamp(id: &str, generation: u32) -> StampText {
    [("id", id.to_owned()), ("generation", generation.to_string())].map(|(k, v)| (k.to_owned(), v)).into()
}

/// Opens a pane whose shim becomes `argv`.
fn launch(world: &World, place: Place, generation: u32, argv: &[&str]) -> Result<Opened, TmuxError> {
    let spec = PathBuf::from(format!("/state/launch/{ID}.{generation}.json"));
    let text = serde_json::json!({
        "argv": argv, "session": ID, "generation": generation,
        "exec_file": spec.with_extension("exec"), "status_file": spec.with_extension("status"),
    });
    world.create(&spec, text.to_string().as_bytes()).unwrap();
    let inner = format!("exec '/usr/bin/farhelm' 'internal' 'launch' '{}'", spec.display());
    let argv = ["/bin/bash", "-l", "-i", "-c", &inner].map(str::to_owned).to_vec();
    let request = OpenPane { place, window: "agent".into(), dir: "/".into(), argv, stamp: stamp(ID, generation) };
    world.open(&socket(), &[request])?.remove(0)
}

fn fresh(world: &World, program: &str) -> (Opened, ProcessKey) {
    let opened = launch(world, Place::NewSession("f_a".into()), 1, &[program]).unwrap();
    let key = key_of(world, opened.pid);
    world.advance(500);
    (opened, key)
}

fn key_of(world: &World, pid: i32) -> ProcessKey {
    world.table().unwrap().processes[&pid].key
}

fn end_of(world: &World, pane: &PaneId) -> Option<PaneEnd> {
    world.panes(&socket()).unwrap().panes.into_iter().find(|p| p.id == *pane).unwrap().end
}

#[test]
fn a_pane_becomes_the_agent_with_its_marks_and_its_spec_is_gone() {
    let world = world(1);
    let (_, key) = fresh(&world, "steady");
    let marks = Markers { session: Some(ID.into()), agent: Some(ID.into()), ..Markers::default() };
    assert_eq!(world.markers(key), MarkersRead::Read(marks));
    assert_eq!(world.argv(key).unwrap(), ["steady"]);
    assert_eq!(world.list(Path::new("/state/launch")).unwrap(), [format!("{ID}.1.exec")]);
    assert_eq!(world.agents(ID), [key]);
}

#[test]
fn a_missing_program_leaves_a_sentinel_and_a_dead_pane() {
    let world = world(2);
    let (opened, _) = fresh(&world, MISSING);
    assert_eq!(world.list(Path::new("/state/launch")).unwrap(), [format!("{ID}.1.status")]);
    assert_eq!(end_of(&world, &opened.pane).unwrap().status, Some(125));
    assert_eq!(world.panes(&socket()).unwrap().panes[0].pid, opened.pid, "a dead pane keeps showing its number");
}

#[test]
fn only_a_dead_pane_is_respawned() {
    let world = world(3);
    let (opened, key) = fresh(&world, "steady");
    let again = launch(&world, Place::Respawn(opened.pane.clone()), 2, &["steady"]);
    assert!(matches!(again, Err(TmuxError::Failed(_))), "{again:?}");
    assert_eq!(world.signal(key, Signal::Term), Signalled::Sent);
    assert_eq!(world.wait_gone(&BTreeSet::from([key]), Duration::from_secs(5)), BTreeSet::new());
    let again = launch(&world, Place::Respawn(opened.pane.clone()), 3, &["steady"]).unwrap();
    assert_eq!(again.pane, opened.pane);
    assert_eq!(world.violations(), [""; 0]);
}

#[test]
fn a_stubborn_program_survives_term_and_not_kill() {
    let world = world(4);
    let (_, key) = fresh(&world, "stubborn");
    world.signal(key, Signal::Term);
    assert_eq!(world.wait_gone(&BTreeSet::from([key]), Duration::from_secs(5)), BTreeSet::from([key]));
    world.signal(key, Signal::Kill);
    assert_eq!(world.wait_gone(&BTreeSet::from([key]), Duration::from_secs(2)), BTreeSet::new());
}

#[test]
fn an_undying_program_is_gone_a_while_after_its_kill() {
    let world = world(5);
    let (_, key) = fresh(&world, "undying");
    world.signal(key, Signal::Kill);
    assert_eq!(world.wait_gone(&BTreeSet::from([key]), Duration::from_millis(100)), BTreeSet::from([key]));
    assert_eq!(world.wait_gone(&BTreeSet::from([key]), Duration::from_secs(20)), BTreeSet::new());
}

#[test]
fn a_stopped_process_does_nothing_until_it_is_continued() {
    let world = world(6);
    let (_, key) = fresh(&world, "done");
    world.signal(key, Signal::Stop);
    world.signal(key, Signal::Term);
    world.advance(120_000);
    assert_eq!(world.agents(ID), [key]);
    world.signal(key, Signal::Cont);
    world.advance(10);
    assert_eq!(world.agents(ID), []);
}

#[test]
fn a_daemon_belongs_to_pid_1_and_keeps_its_marks() {
    let world = world(7);
    let (_, key) = fresh(&world, "daemon");
    world.advance(100);
    world.kill_server(&socket());
    world.advance(100);
    let left = world.remains(ID);
    assert!(!left.is_empty() && !left.contains(&key), "{left:?}");
    let table = world.table().unwrap();
    assert!(left.iter().all(|k| table.alive(*k).unwrap().parent == 1));
}

#[test]
fn a_deleted_socket_is_no_server_and_usr1_brings_it_back() {
    let world = world(8);
    let (opened, _) = fresh(&world, "steady");
    world.delete_socket(&socket());
    assert_eq!(world.panes(&socket()), Err(TmuxError::NoServer(socket())));
    let server = key_of(&world, opened.server);
    world.signal(server, Signal::Usr1);
    assert_eq!(world.panes(&socket()).unwrap().panes.len(), 1);
    assert_eq!(world.violations(), [""; 0]);
}

#[test]
fn a_second_server_beside_a_live_one_is_a_violation() {
    let world = world(9);
    fresh(&world, "steady");
    world.delete_socket(&socket());
    let _ = launch(&world, Place::NewSession("f_b".into()), 2, &["steady"]);
    assert!(world.violations().iter().any(|v| v.contains("second tmux server")), "{:?}", world.violations());
}

#[test]
fn a_signal_to_a_stranger_is_a_violation() {
    let world = world(10);
    let theirs = Markers { session: Some("22222222-2222-4222-8222-222222222222".into()), ..Markers::default() };
    let stranger = world.stranger(false, false, theirs);
    world.signal(stranger, Signal::Term);
    let foreign = world.stranger(true, false, Markers::default());
    assert!(matches!(world.signal(foreign, Signal::Kill), Signalled::Refused(_)));
    assert_eq!(world.violations().len(), 2);
}

#[test]
fn two_live_agents_of_a_session_are_a_violation() {
    let world = world(11);
    fresh(&world, "steady");
    launch(&world, Place::NewSession("f_b".into()), 2, &["steady"]).unwrap();
    world.advance(500);
    let found = world.violations();
    assert!(found.iter().any(|v| v.contains("second pane")) && found.iter().any(|v| v.contains("two agents")));
}

#[test]
fn a_relaunch_beside_leftovers_is_a_violation() {
    let world = world(12);
    fresh(&world, "daemon");
    world.advance(100);
    world.kill_server(&socket());
    world.advance(100);
    launch(&world, Place::NewSession("f_a".into()), 2, &["steady"]).unwrap();
    world.advance(500);
    assert!(world.violations().iter().any(|v| v.contains("left of an earlier launch")), "{:?}", world.violations());
}

#[test]
fn closing_a_strange_pane_is_a_violation_and_the_user_may_do_it() {
    let world = world(13);
    let place = Place::NewSession("mine".into());
    let pane = world.strange_pane(&socket(), place, StampText::new(), Markers::default()).unwrap();
    world.close(&socket(), std::slice::from_ref(&pane)).unwrap();
    assert_eq!(world.violations().len(), 1);
    world.close_by_user(&socket(), &pane);
    assert_eq!(world.violations().len(), 1);
}

#[test]
fn a_kill_unwinds_before_or_after_the_effect_and_frees_the_lock() {
    for (before, written) in [(true, false), (false, true)] {
        let world = world(14);
        world.kill_at(2, before);
        let run = catch_unwind(AssertUnwindSafe(|| {
            let _lock = world.lock(Path::new("/state/lock"), "me").unwrap();
            world.replace(&[("/state/a".into(), b"1".to_vec()), ("/state/b".into(), b"2".to_vec())]).unwrap();
        }));
        assert!(run.unwrap_err().is::<Killed>());
        assert_eq!(world.read(Path::new("/state/a"), 9).is_ok(), written);
        assert!(world.read(Path::new("/state/b"), 9).is_err());
        world.start();
        assert!(matches!(world.lock(Path::new("/state/lock"), "me").unwrap(), Locked::Held(_)));
    }
}

#[test]
fn a_reboot_keeps_what_was_replaced_and_ends_every_process() {
    for seed in 0..20 {
        let world = world(seed);
        let (_, key) = fresh(&world, "daemon");
        let boot = world.boot().unwrap();
        world.replace(&[("/state/record".into(), b"whole".to_vec())]).unwrap();
        world.append(Path::new("/state/events"), b"a long line").unwrap();
        world.reboot();
        world.start();
        assert_eq!(world.read(Path::new("/state/record"), 9).unwrap(), b"whole");
        let events = world.read(Path::new("/state/events"), 99).unwrap_or_default();
        assert!(b"a long line".starts_with(&events));
        assert_ne!(world.boot().unwrap(), boot);
        assert!(world.table().unwrap().alive(key).is_none_or(|p| p.comm != "daemon"));
        assert_eq!(world.panes(&socket()), Err(TmuxError::NoServer(socket())));
    }
}

#[test]
fn a_full_disk_refuses_writes_and_still_removes() {
    let world = world(15);
    world.create(Path::new("/state/a"), b"x").unwrap();
    world.set_faults(Faults { disk: DiskMode::Full, ..Faults::none() });
    let refused = world.replace(&[("/state/b".into(), vec![])]).unwrap_err();
    assert_eq!(refused.fault, DiskFault::Full);
    world.remove(Path::new("/state/a")).unwrap();
    assert_eq!(world.read(Path::new("/state/a"), 9).unwrap_err().fault, DiskFault::Missing);
}

#[test]
fn a_lost_answer_leaves_the_effect_done_or_not() {
    let mut seen = BTreeSet::new();
    for seed in 0..40 {
        let world = world(seed);
        let (opened, _) = fresh(&world, "steady");
        world.set_faults(Faults { tmux_timeout: 1000, ..Faults::none() });
        let asked = world.moment();
        assert!(matches!(world.close(&socket(), std::slice::from_ref(&opened.pane)), Err(TmuxError::Timeout(_))));
        assert!(world.moment().since(&asked) >= Duration::from_secs(2));
        seen.insert(world.panes_of(ID).is_empty());
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn numbers_come_round_and_a_zombie_is_collected_late() {
    let world = world(16);
    let (_, key) = fresh(&world, "daemon");
    world.advance(50);
    let child = *world.remains(ID).iter().find(|k| **k != key).unwrap();
    world.signal(child, Signal::Kill);
    assert!(world.table().unwrap().processes[&child.pid].dead);
    assert_eq!(world.wait_gone(&BTreeSet::from([child]), Duration::from_secs(1)), BTreeSet::new());
    let mut reused = false;
    for _ in 0..300 {
        world.advance(400);
        reused |= world.stranger(false, false, Markers::default()).pid == child.pid;
    }
    assert!(reused);
    assert_eq!(world.signal(child, Signal::Kill), Signalled::Gone);
    assert_eq!(world.violations(), [""; 0]);
}

#[test]
fn sleep_lets_time_go_by_until_the_operator_interrupts() {
    let world = world(17);
    let start = world.now();
    world.interrupt_in(300, None);
    world.sleep(Duration::from_secs(10));
    assert_eq!(world.now().since(&start), Duration::from_millis(300));
}

#[test]
fn a_crossed_conversation_is_a_violation() {
    let world = world(18);
    let opened = launch(&world, Place::NewSession("f_a".into()), 1, &["steady", "--session-id", "c1"]).unwrap();
    world.advance(500);
    world.kill_agent(ID);
    launch(&world, Place::Respawn(opened.pane), 2, &["steady", "--resume", "c2"]).unwrap();
    world.advance(500);
    assert!(world.violations()[0].contains("never was"), "{:?}", world.violations());
    assert_eq!(world.runs().len(), 2);
}
