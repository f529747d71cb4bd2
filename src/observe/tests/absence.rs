use super::*;
use crate::observe::observed::ServerSeen;
use crate::state::launch_files::LaunchFiles;
use crate::state::record::{Ended, EndedHow};

const SECOND: i64 = 1000;

fn how(seen: &Seen) -> EndedHow {
    match &seen.agent {
        AgentSeen::Ended { how, .. } => how.how.clone(),
        other => panic!("{other:?}"),
    }
}

fn servers(observed: &Observed) -> ServerSeen {
    observed.servers[&socket()].clone()
}

#[test]
fn no_server_is_absent_when_the_recorded_one_is_gone_too_and_its_agents_died_with_it() {
    let record = running();
    let machine = Machine::new(&[World::without_server(&[])]);
    let observed = machine.look(&[&record]);
    assert_eq!(servers(&observed), ServerSeen::Absent);
    assert_eq!(how(&observed.sessions[&id(1)]), EndedHow::ServerDied);
    assert_eq!(machine.tables.get(), 2);
}

#[test]
fn no_server_is_unknown_while_the_recorded_one_lives_and_the_words_say_what_to_do() {
    let record = running();
    let observed = Machine::new(&[World::without_server(&[process(SERVER, 1)])]).look(&[&record]);
    assert!(matches!(servers(&observed), ServerSeen::Unknown(words) if words.contains("kill -USR1 100")));
    assert!(is_unknown(&observed.sessions[&id(1)]));
}

#[test]
fn a_reused_number_is_not_the_recorded_server() {
    let stranger = Process { key: ProcessKey { pid: SERVER, start: 99_999 }, ..process(SERVER, 1) };
    let observed = Machine::new(&[World::without_server(&[stranger])]).look(&[&running()]);
    assert_eq!(servers(&observed), ServerSeen::Absent);
}

#[test]
fn a_server_that_another_fleet_recorded_is_not_absent_either() {
    let machine = Machine::new(&[World::without_server(&[process(SERVER, 1)])]);
    let observed = machine.look_for(&BTreeMap::new(), &[(socket(), key(SERVER))].into(), Vec::new());
    assert!(matches!(servers(&observed), ServerSeen::Unknown(_)));
}

#[test]
fn a_server_that_no_record_names_is_known_by_the_process_that_a_launch_became_though_it_hides_its_environment() {
    let mut record = at_phase(Phase::Intended);
    record.launches[0] = Launch { server: None, pane: None, process: None, ..record.launches[0].clone() };
    let server = Process { comm: "tmux: server".into(), ..process(SERVER, 1) };
    let mut machine = Machine::new(&[World::without_server(&[server, process(AGENT, SERVER)])]);
    machine.markers.insert(AGENT, MarkersRead::Unreadable);
    assert_eq!(servers(&machine.look(&[&record])), ServerSeen::Absent);
    let files = LaunchFiles::new(Path::new("/s/launch"), record.id, 1, None);
    machine.files.insert(files.exec.clone(), b"201\n".to_vec());
    assert_eq!(servers(&machine.look(&[&record])), ServerSeen::Absent, "another process");
    machine.files.insert(files.exec, b"200\n".to_vec());
    assert!(matches!(servers(&machine.look(&[&record])), ServerSeen::Unknown(words) if words.contains("-USR1 100")));
    record.launches[0].boot = BootId("boot-0".into());
    assert_eq!(servers(&machine.look(&[&record])), ServerSeen::Absent, "the number is another boot's");
}

#[test]
fn a_new_server_on_the_socket_of_a_living_one_makes_its_sessions_unknown() {
    let mut world = World::with(vec![], &[process(101, 1)]);
    world.servers.insert(socket(), Ok(Panes { server: 101, panes: vec![] }));
    let record = running();
    assert!(is_unknown(&Machine::new(std::slice::from_ref(&world)).seen(&record)));
    assert_eq!(how(&Machine::new(&[world.without(SERVER)]).seen(&record)), EndedHow::ServerDied);
}

#[test]
fn a_tmux_that_does_not_answer_or_fails_makes_its_sessions_unknown() {
    let errors = [
        TmuxError::Timeout(Duration::from_secs(2)),
        TmuxError::Failed("protocol version mismatch".into()),
        TmuxError::NotUsable("tmux: not found".into()),
    ];
    for error in errors {
        let machine = Machine::new(&[World::failing(error.clone(), &[])]);
        let observed = machine.look(&[&running()]);
        assert_eq!(servers(&observed), ServerSeen::Unknown(error.to_string()));
        assert_eq!(observed.sessions[&id(1)].agent, AgentSeen::Unknown(error.to_string()));
    }
}

#[test]
fn without_a_process_table_everything_is_unknown() {
    let world = World { table_fails: true, ..World::with(vec![pane(1, AGENT, stamp_of(&running()))], &[]) };
    let observed = Machine::new(&[world]).look(&[&running()]);
    assert!(matches!(servers(&observed), ServerSeen::Unknown(words) if words.contains("too many open files")));
    assert!(is_unknown(&observed.sessions[&id(1)]));
}

#[test]
fn a_session_on_another_socket_is_looked_for_there() {
    let record = running();
    let mut world = World::with(vec![pane(1, AGENT, stamp_of(&record))], &[]);
    let answer = world.servers.remove(&socket()).unwrap();
    let mut elsewhere = record.clone();
    elsewhere.launches[0].socket = Socket("/run/other".into());
    world.servers.insert(elsewhere.launches[0].socket.clone(), answer);
    assert!(matches!(Machine::new(&[world]).seen(&elsewhere).agent, AgentSeen::Alive(_)));
}

#[test]
fn a_live_agent_stays_alive_when_only_the_socket_for_new_sessions_is_silent() {
    let mut record = running();
    record.launches[0].socket = Socket("/run/other".into());
    let mut world = World::with(vec![pane(1, AGENT, stamp_of(&record))], &[]);
    let answer = world.servers.remove(&socket()).unwrap();
    world.servers.insert(record.launches[0].socket.clone(), answer);
    world.servers.insert(socket(), Err(TmuxError::Timeout(Duration::from_secs(2))));
    let other = Record { id: id(2), name: name("docs"), ..at_phase(Phase::Ended) };
    let observed = Machine::new(&[world]).look(&[&record, &other]);
    assert!(matches!(observed.sessions[&id(1)].agent, AgentSeen::Alive(_)));
    assert!(is_unknown(&observed.sessions[&id(2)]));
}

#[test]
fn a_tab_on_a_silent_server_makes_the_session_unknown() {
    let elsewhere = TabRecord { socket: Some(Socket("/run/other".into())), ..tab() };
    let record = Record { tabs: [(name("logs"), elsewhere)].into(), ..running() };
    let mut world = World::with(vec![pane(1, AGENT, stamp_of(&record))], &[]);
    world.servers.insert(Socket("/run/other".into()), Err(TmuxError::Timeout(Duration::from_secs(2))));
    assert!(is_unknown(&Machine::new(&[world]).seen(&record)));
}

#[test]
fn a_dead_pane_tells_status_and_signal_and_needs_no_second_look() {
    let record = running();
    for (status, signal, expected) in [
        (Some(0), None, EndedHow::Exited(0)),
        (Some(127), None, EndedHow::Exited(127)),
        (None, Some(9), EndedHow::Killed(9)),
    ] {
        let machine = Machine::new(&[World::with(vec![dead(1, AGENT, stamp_of(&record), status, signal)], &[])]);
        assert_eq!(how(&machine.seen(&record)), expected);
        assert_eq!(machine.tables.get(), 1);
    }
}

#[test]
fn a_status_that_tmux_does_not_know_is_looked_up_again_and_then_lost() {
    let record = running();
    let without = World::with(vec![dead(1, AGENT, stamp_of(&record), None, None)], &[]);
    let with = World::with(vec![dead(1, AGENT, stamp_of(&record), Some(3), None)], &[]);
    assert_eq!(how(&Machine::new(&[without.clone(), with]).seen(&record)), EndedHow::Exited(3));
    assert_eq!(how(&Machine::new(&[without]).seen(&record)), EndedHow::Lost);
}

#[test]
fn a_pane_that_was_closed_is_lost_after_two_looks() {
    let machine = Machine::new(&[World::with(vec![], &[])]);
    assert_eq!(how(&machine.seen(&running())), EndedHow::Lost);
    assert_eq!((machine.tables.get(), machine.listings.get()), (2, 2));
}

#[test]
fn one_empty_answer_between_good_ones_is_no_absence() {
    let record = running();
    let good = World::with(vec![pane(1, AGENT, stamp_of(&record))], &[]);
    let machine = Machine::new(&[World::with(vec![], &[]), good]);
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Alive(_)));
}

#[test]
fn a_second_look_that_fails_leaves_it_unknown() {
    let failing = World { table_fails: true, ..World::default() };
    let silent = World::failing(TmuxError::Timeout(Duration::from_secs(2)), &[process(SERVER, 1)]);
    for second in [failing, silent] {
        assert!(is_unknown(&Machine::new(&[World::with(vec![], &[]), second]).seen(&running())));
    }
}

#[test]
fn what_only_the_second_look_misses_is_still_as_the_first_saw_it() {
    let record = running();
    let other = Record { id: id(2), name: name("docs"), ..running() };
    let first = World::with(vec![pane(1, AGENT, stamp_of(&record))], &[]);
    let observed = Machine::new(&[first, World::with(vec![], &[])]).look(&[&record, &other]);
    assert!(matches!(observed.sessions[&id(1)].agent, AgentSeen::Alive(_)));
    assert!(matches!(observed.sessions[&id(2)].agent, AgentSeen::Ended { .. }));
}

#[test]
fn a_process_that_ended_between_listing_and_table_is_settled_by_the_second_look() {
    let record = running();
    let first = World::with(vec![pane(1, AGENT, stamp_of(&record))], &[]).without(AGENT);
    let second = World::with(vec![dead(1, AGENT, stamp_of(&record), Some(1), None)], &[]);
    assert_eq!(how(&Machine::new(&[first.clone(), second]).seen(&record)), EndedHow::Exited(1));
    assert!(is_unknown(&Machine::new(&[first]).seen(&record)));
}

#[test]
fn after_a_reboot_what_was_live_was_interrupted_at_whatever_number_runs_now() {
    let record = running();
    let stranger = World::without_server(&[process(SERVER, 1), process(AGENT, 1)]);
    let machine = Machine { boot: "boot-2".into(), ..Machine::new(&[stranger]) };
    let seen = machine.seen(&record);
    assert_eq!(how(&seen), EndedHow::Rebooted);
    assert!(seen.leftovers.is_empty());
}

#[test]
fn a_launch_that_failed_before_its_exec_tells_the_shims_words_with_or_without_its_pane() {
    let record = at_phase(Phase::Opened);
    for panes in [vec![dead(1, AGENT, stamp_of(&record), Some(1), None)], vec![]] {
        let mut machine = Machine::new(&[World::with(panes, &[])]);
        let words = r#"{"version":1,"what":"unreadable-spec","words":"claude: not found in PATH"}"#;
        machine.files.insert(format!("/s/launch/{}.1.status", id(1)).into(), words.into());
        assert_eq!(how(&machine.seen(&record)), EndedHow::LaunchFailed("claude: not found in PATH".into()));
    }
}

#[test]
fn a_launch_that_was_intended_and_left_no_pane_never_was() {
    let mut record = at_phase(Phase::Intended);
    (record.launches[0].pane, record.launches[0].process, record.launches[0].server) = (None, None, None);
    let machine = Machine::new(&[World::with(vec![], &[])]);
    assert_eq!(machine.seen(&record).agent, AgentSeen::Absent);
    assert_eq!(machine.tables.get(), 2);
}

#[test]
fn an_intended_relaunch_that_came_to_nothing_leaves_the_end_and_the_dead_pane_of_the_one_before() {
    let mut record = running();
    let stamp = stamp_of(&record);
    let intended = Launch { phase: Phase::Intended, pane: None, process: None, server: None, ..launch(2) };
    record.launches.push(intended);
    let seen = Machine::new(&[World::with(vec![dead(1, AGENT, stamp, Some(4), None)], &[])]).seen(&record);
    let how = Ended { how: EndedHow::Exited(4), at_ms: Some(7000) };
    assert_eq!(seen.agent, AgentSeen::Ended { pane: Some(PaneId("%1".into())), how });
}

#[test]
fn an_end_while_farhelm_was_stopping_it_is_a_stop() {
    let record = at_phase(Phase::Stopping);
    for panes in [vec![dead(1, AGENT, stamp_of(&record), None, Some(15))], vec![]] {
        assert_eq!(how(&Machine::new(&[World::with(panes, &[])]).seen(&record)), EndedHow::Stopped);
    }
}

#[test]
fn marked_processes_without_a_pane_are_left_over_and_so_is_the_recorded_one_that_hides_its_marks() {
    let others = [process(AGENT, 1), process(301, 1), process(302, 1), process(303, 1)];
    let mut machine = Machine::new(&[World::with(vec![], &others)]);
    machine.markers.insert(AGENT, MarkersRead::Unreadable);
    machine.markers.insert(301, marks(id(1)));
    machine.markers.insert(302, marks(id(11)));
    let tab_only = Markers { session: Some(id(1).to_string()), tab: Some("t".into()), ..Markers::default() };
    machine.markers.insert(303, MarkersRead::Read(tab_only));
    let seen = machine.seen(&running());
    assert_eq!((how(&seen), seen.leftovers), (EndedHow::Lost, vec![key(AGENT), key(301)]));
    assert_eq!(seen.processes, 2);
}

#[test]
fn farhelm_and_its_ancestors_are_never_left_over() {
    let mut machine = Machine::new(&[World::with(vec![], &[process(301, 1), process(302, 301)])]);
    machine.markers.insert(301, marks(id(1)));
    machine.markers.insert(302, marks(id(1)));
    machine.own = 302;
    assert!(machine.seen(&running()).leftovers.is_empty());
}

#[test]
fn an_agent_without_a_terminal_that_farhelm_runs_inside_of_is_not_gone() {
    let record = Record { launches: vec![Launch { process: None, ..launch(1) }], ..running() };
    let mut machine = Machine::new(&[World::with(vec![], &[process(301, 1), process(302, 301)])]);
    machine.own = 302;
    assert!(!is_unknown(&machine.seen(&record)));
    machine.markers.insert(302, marks(id(1)));
    assert!(!is_unknown(&machine.seen(&record)), "the agent that started it is gone");
    machine.markers.insert(301, MarkersRead::Unreadable);
    assert!(is_unknown(&machine.seen(&record)), "it hides its environment");
    machine.markers.insert(301, marks(id(1)));
    assert!(is_unknown(&machine.seen(&record)));
    machine.markers.insert(301, marks(id(2)));
    assert!(!is_unknown(&machine.seen(&record)), "it is another's");
}

fn completed(at_ms: i64) -> Record {
    let mut record = at_phase(Phase::Ended);
    record.launches[0].ended = Some(Ended { how: EndedHow::Exited(0), at_ms: Some(at_ms) });
    record
}

#[test]
fn a_recorded_end_stays_as_recorded_while_its_server_lives() {
    let machine = Machine::new(&[World::with(vec![], &[])]);
    let record = completed(machine.now.wall_ms - SECOND);
    assert_eq!(how(&machine.seen(&record)), EndedHow::Exited(0));
    assert_eq!(machine.tables.get(), 1);
}

#[test]
fn an_exit_a_minute_before_its_server_was_seen_dead_belongs_to_that_death() {
    let machine = Machine::new(&[World::without_server(&[])]);
    let (now, near, far) = (machine.now.wall_ms, 60 * SECOND, 61 * SECOND);
    assert_eq!(how(&machine.seen(&completed(now - near))), EndedHow::ServerDied);
    assert_eq!(how(&machine.seen(&completed(now - far))), EndedHow::Exited(0));
    // Long after, when another session's record knows when the death was seen.
    let mut witness = Record { id: id(2), name: name("docs"), ..at_phase(Phase::Ended) };
    witness.launches[0].ended = Some(Ended { how: EndedHow::ServerDied, at_ms: Some(now - 900 * SECOND) });
    let observed = machine.look(&[&completed(now - 930 * SECOND), &witness]);
    assert_eq!(how(&observed.sessions[&id(1)]), EndedHow::ServerDied);
}

#[test]
fn an_exit_a_minute_before_this_boot_began_belongs_to_the_reboot() {
    let machine = Machine { boot: "boot-2".into(), ..Machine::new(&[World::without_server(&[])]) };
    let began = machine.now.wall_ms - 500 * SECOND;
    assert_eq!(how(&machine.seen(&completed(began - 60 * SECOND))), EndedHow::Rebooted);
    assert_eq!(how(&machine.seen(&completed(began - 61 * SECOND))), EndedHow::Exited(0));
}
