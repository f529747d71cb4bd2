use super::*;
use crate::observe::observed::{DirSeen, PaneSeen, TabSeen};
use crate::state::record::{Ended, EndedHow};

fn alive(record: &Record) -> World {
    World::with(vec![pane(1, AGENT, stamp_of(record))], &[])
}

#[test]
fn an_agent_in_its_pane_is_alive_and_one_listing_one_table_and_no_environment_are_read() {
    let record = running();
    let machine = Machine::new(&[alive(&record)]);
    let AgentSeen::Alive(seen) = machine.seen(&record).agent else { panic!() };
    assert_eq!((seen.process, seen.generation), (key(AGENT), 1));
    assert_eq!((machine.listings.get(), machine.tables.get(), machine.environments.get()), (1, 1, 0));
}

#[test]
fn an_agent_is_launching_until_its_exec_is_proven_by_its_marks() {
    let record = at_phase(Phase::Opened);
    let mut machine = Machine::new(&[alive(&record)]);
    let AgentSeen::Launching { since, .. } = machine.seen(&record).agent else { panic!() };
    assert_eq!(since, Duration::from_secs(499));
    machine.markers.insert(AGENT, marks(id(2)));
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Launching { .. }));
    machine.markers.insert(AGENT, marks(id(1)));
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Alive(_)));
}

#[test]
fn an_agent_that_hides_its_environment_is_proven_by_the_exec_file_without_a_sentinel() {
    let record = at_phase(Phase::Opened);
    let mut machine = Machine::new(&[alive(&record)]);
    machine.markers.insert(AGENT, MarkersRead::Unreadable);
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Launching { .. }));
    let file = |ending| PathBuf::from(format!("/s/launch/{}.1.{ending}", id(1)));
    machine.files.insert(file("exec"), Vec::new());
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Alive(_)));
    machine.files.insert(file("status"), Vec::new());
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Launching { .. }));
}

#[test]
fn a_launch_whose_record_lacks_its_pane_is_found_by_its_stamp() {
    let mut record = at_phase(Phase::Intended);
    let stamp = stamp_of(&record);
    (record.launches[0].pane, record.launches[0].process, record.launches[0].server) = (None, None, None);
    let mut machine = Machine::new(&[World::with(vec![pane(1, AGENT, stamp)], &[])]);
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Launching { .. }));
    machine.markers.insert(AGENT, marks(id(1)));
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Alive(pane) if pane.process == key(AGENT)));
}

#[test]
fn an_older_record_sees_the_agent_of_a_newer_generation_through_its_stamp() {
    let record = running();
    let newer = Record { launches: vec![Launch { generation: 4, ..launch(4) }], ..record.clone() };
    let mut machine = Machine::new(&[World::with(vec![pane(1, 300, stamp_of(&newer))], &[])]);
    machine.markers.insert(300, marks(id(1)));
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Alive(pane) if pane.generation == 4));
}

#[test]
fn a_pane_without_its_options_is_still_known_by_its_process() {
    let record = running();
    let machine = Machine::new(&[World::with(vec![pane(1, AGENT, StampText::new())], &[])]);
    assert!(matches!(machine.seen(&record).agent, AgentSeen::Alive(_)));
}

#[test]
fn something_else_in_the_agents_pane_is_not_the_agent_and_nothing_may_be_done() {
    let record = running();
    let machine = Machine::new(&[World::with(vec![pane(1, 300, stamp_of(&record))], &[])]);
    assert!(is_unknown(&machine.seen(&record)));
}

#[test]
fn a_stamped_pane_without_a_record_is_seen_with_its_stamp() {
    let lost = running();
    let mut machine = Machine::new(&[alive(&lost)]);
    machine.markers.insert(AGENT, marks(id(1)));
    let seen = machine.look(&[]).sessions[&id(1)].clone();
    assert!(matches!(seen.agent, AgentSeen::Alive(_)));
    assert_eq!(seen.stamp, Some(Stamp::of(&lost, &owner())));
}

#[test]
fn a_dead_stamped_pane_without_a_record_tells_how_it_ended() {
    let machine = Machine::new(&[World::with(vec![dead(1, AGENT, stamp_of(&running()), Some(3), None)], &[])]);
    let seen = machine.look(&[]).sessions[&id(1)].clone();
    let how = Ended { how: EndedHow::Exited(3), at_ms: Some(7000) };
    assert_eq!(seen.agent, AgentSeen::Ended { pane: Some(PaneId("%1".into())), how });
}

#[test]
fn panes_of_other_fleets_are_no_business_of_this_one() {
    let other = Record { fleet: name("other"), ..running() };
    assert!(Machine::new(&[alive(&other)]).look(&[]).sessions.is_empty());
}

#[test]
fn panes_of_the_fleet_under_its_former_name_are_seen() {
    let moved = Record { fleet: name("former"), ..running() };
    assert!(Machine::new(&[alive(&moved)]).look(&[]).sessions.contains_key(&id(1)));
}

#[test]
fn a_pane_of_another_owner_is_foreign_and_not_ours() {
    let record = running();
    let theirs = Stamp { owner: OwnerId("ffff".into()), ..Stamp::of(&record, &owner()) }.write();
    let observed = Machine::new(&[World::with(vec![pane(1, 300, theirs)], &[])]).look(&[&record]);
    assert_eq!(observed.foreign[&name("api")][0].owner, "ffff");
    assert!(matches!(observed.sessions[&id(1)].agent, AgentSeen::Ended { .. }));
}

#[test]
fn two_live_panes_of_one_session_are_several_by_name() {
    let record = running();
    let panes = vec![pane(1, AGENT, stamp_of(&record)), pane(2, 300, stamp_of(&record))];
    let AgentSeen::Several(words) = Machine::new(&[World::with(panes, &[])]).seen(&record).agent else { panic!() };
    assert!(words[0].contains("%1") && words[1].contains("%2"), "{words:?}");
}

#[test]
fn two_live_sessions_of_one_name_are_several_whatever_their_ids() {
    let record = running();
    let twin = Record { id: id(2), ..running() };
    let panes = vec![pane(1, AGENT, stamp_of(&record)), pane(2, 300, stamp_of(&twin))];
    let observed = Machine::new(&[World::with(panes, &[])]).look(&[&record]);
    assert!(observed.sessions.values().all(|seen| matches!(seen.agent, AgentSeen::Several(_))));
}

#[test]
fn a_server_asked_by_two_spellings_of_its_socket_has_each_pane_once() {
    let mut record = running();
    record.launches[0].socket = Socket("/var/tmp/link".into());
    let mut world = alive(&record);
    let answer = world.servers[&socket()].clone();
    world.servers.insert(record.launches[0].socket.clone(), answer);
    assert!(matches!(Machine::new(&[world]).seen(&record).agent, AgentSeen::Alive(_)));
}

#[test]
fn behind_a_live_wrapper_the_agent_is_gone_only_when_it_was_seen_and_none_of_its_kind_is_there() {
    let mut record = running();
    let claude = |pid| Process { comm: "claude".into(), ..process(pid, AGENT) };
    let wrapper = |others: &[Process]| {
        let mut machine = Machine::new(&[World::with(vec![pane(1, AGENT, stamp_of(&record))], others)]);
        machine.markers.insert(AGENT, marks(id(1)));
        machine
    };
    let (none, other, again) = (wrapper(&[]), wrapper(&[claude(201)]), wrapper(&[claude(202)]));
    assert!(matches!(none.seen(&record).agent, AgentSeen::Alive(_)));
    record.launches[0].agent = Some(key(201));
    assert!(matches!(other.seen(&record).agent, AgentSeen::Alive(_)));
    assert!(matches!(again.seen(&record).agent, AgentSeen::Alive(_)));
    let seen = none.seen(&record);
    assert!(matches!(seen.agent, AgentSeen::Ended { pane: None, .. }));
    assert_eq!(seen.leftovers, [key(AGENT)]);
}

#[test]
fn behind_a_live_wrapper_the_first_process_of_the_kind_is_the_agent_once_it_has_lived_a_moment() {
    let mut record = running();
    let claude = |pid, parent| Process { comm: "claude".into(), ..process(pid, parent) };
    let behind = |record: &Record, others: &[Process]| {
        let world = World::with(vec![pane(1, AGENT, stamp_of(record))], others);
        match Machine::new(&[world]).seen(record).agent {
            AgentSeen::Alive(pane) => pane.agent,
            other => panic!("{other:?}"),
        }
    };
    let others = [process(201, AGENT), claude(202, 201), claude(203, 202), claude(301, 1)];
    assert_eq!(behind(&record, &others), Some(key(202)));
    let young = Process { key: ProcessKey { pid: 202, start: 499_500 }, ..claude(202, 201) };
    assert_eq!(behind(&record, &[process(201, AGENT), young]), None);
    assert_eq!(behind(&record, &[]), None);
    record.launches[0].agent = Some(key(203));
    assert_eq!(behind(&record, &others), Some(key(203)), "the one recorded stays while it lives");
    record.kind = name("generic");
    record.launches[0].agent = None;
    assert_eq!(behind(&record, &others), None);
}

#[test]
fn behind_a_live_wrapper_an_agent_that_only_its_arguments_tell_is_found_and_missed() {
    let mut record = running();
    record.kind = name("gemini");
    let node = |pid, parent| Process { comm: "node".into(), ..process(pid, parent) };
    let look = |record: &Record, argv: &[(Pid, Option<&str>)]| {
        let world = World::with(vec![pane(1, AGENT, stamp_of(record))], &[node(201, AGENT), node(202, AGENT)]);
        let mut machine = Machine::new(&[world]);
        let words = |script: &str| vec!["node".to_owned(), "--enable-source-maps".to_owned(), script.to_owned()];
        machine.argv = argv.iter().map(|(pid, script)| (*pid, script.map(words))).collect();
        machine.seen(record).agent
    };
    let others = &[(201, Some("/x/server.js")), (202, Some("/x/bin/gemini"))];
    assert!(
        matches!(look(&record, others), AgentSeen::Alive(PaneSeen { agent: Some(found), .. }) if found == key(202))
    );
    record.launches[0].agent = Some(key(203));
    let gone = &[(201, Some("/x/server.js")), (202, Some("/x/gemini.js"))];
    assert!(matches!(look(&record, gone), AgentSeen::Ended { pane: None, .. }));
    let unreadable = &[(201, Some("/x/server.js")), (202, None)];
    assert!(matches!(look(&record, unreadable), AgentSeen::Alive(PaneSeen { agent: None, .. })));
}

#[test]
fn tabs_are_found_by_their_id_and_a_recorded_one_that_is_not_there_is_missing() {
    let mut record = running();
    record.tabs = [(name("logs"), tab()), (name("shell"), TabRecord { id: id(52), ..tab() })].into();
    let panes = vec![pane(1, AGENT, stamp_of(&record)), pane(5, 500, tab_stamp(&record))];
    let seen = Machine::new(&[World::with(panes, &[])]).seen(&record);
    assert_eq!(
        seen.tabs[&name("logs")],
        TabSeen::Open { id: id(51), pane: PaneId("%5".into()), process: Some(key(500)) }
    );
    assert_eq!(seen.tabs[&name("shell")], TabSeen::Missing);
    assert_eq!((seen.processes, seen.memory), (2, 2000));
}

#[test]
fn a_tab_whose_command_ended_is_open_and_as_it_ended() {
    let record = Record { tabs: [(name("logs"), tab())].into(), ..running() };
    let panes = vec![pane(1, AGENT, stamp_of(&record)), dead(5, 500, tab_stamp(&record), Some(1), None)];
    let seen = Machine::new(&[World::with(panes, &[])]).seen(&record);
    assert_eq!(seen.tabs[&name("logs")], TabSeen::Open { id: id(51), pane: PaneId("%5".into()), process: None });
}

#[test]
fn of_other_panes_of_a_recorded_tabs_name_only_a_living_one_is_the_tab() {
    let record = Record { tabs: [(name("logs"), TabRecord { id: id(52), ..tab() })].into(), ..running() };
    let seen = |others: Vec<Pane>| {
        let panes = [vec![pane(1, AGENT, stamp_of(&record))], others].concat();
        Machine::new(&[World::with(panes, &[])]).seen(&record).tabs[&name("logs")].clone()
    };
    let left = dead(4, 400, tab_stamp(&record), Some(0), None);
    let living = pane(5, 500, tab_stamp(&record));
    let open = TabSeen::Open { id: id(51), pane: PaneId("%5".into()), process: Some(key(500)) };
    assert_eq!(seen(vec![left.clone()]), TabSeen::Missing);
    assert_eq!(seen(vec![living.clone()]), open);
    assert_eq!(seen(vec![living, left]), open);
}

#[test]
fn a_second_agent_in_a_tab_is_seen_where_environments_are_read() {
    let record = running();
    let other = Record { id: id(2), name: name("docs"), ..at_phase(Phase::Ended) };
    let panes = vec![pane(1, AGENT, stamp_of(&record)), pane(5, 500, tab_stamp(&record))];
    let mut machine = Machine::new(&[World::with(panes, &[])]);
    machine.markers.insert(500, marks(id(1)));
    let observed = machine.look(&[&record, &other]);
    assert!(matches!(observed.sessions[&id(1)].agent, AgentSeen::Several(_)));
}

#[test]
fn directories_are_there_missing_or_unknown() {
    let machine = Machine::new(&[World::without_server(&[])]);
    let dirs = ["link", "none", "file", "locked"].map(|dir| (name(dir), PathBuf::from(format!("/{dir}"))));
    let observed = machine.look_for(&BTreeMap::new(), &BTreeSet::new(), dirs.into());
    assert_eq!(observed.dirs[&name("link")], DirSeen::Present("/real".into()));
    assert!(matches!(&observed.dirs[&name("none")], DirSeen::Missing(words) if words.contains("does not exist")));
    assert!(matches!(&observed.dirs[&name("file")], DirSeen::Missing(words) if words.contains("not a directory")));
    assert!(matches!(observed.dirs[&name("locked")], DirSeen::Unknown(_)));
}

#[test]
fn a_directory_of_many_sessions_is_resolved_once() {
    let machine = Machine::new(&[World::without_server(&[])]);
    let dirs = [("api", "/link"), ("web", "/link"), ("docs", "/none")];
    let dirs = dirs.map(|(session, dir)| (name(session), PathBuf::from(dir)));
    let observed = machine.look_for(&BTreeMap::new(), &BTreeSet::new(), dirs.into());
    assert_eq!(observed.dirs[&name("api")], DirSeen::Present("/real".into()));
    assert_eq!(observed.dirs[&name("web")], DirSeen::Present("/real".into()));
    assert!(matches!(observed.dirs[&name("docs")], DirSeen::Missing(_)));
    assert_eq!(machine.resolved.get(), 2);
}

#[test]
fn an_unmarked_agent_in_a_sessions_directory_is_mentioned_and_nothing_else_is() {
    let claude = |pid, parent| Process { comm: "claude".into(), ..process(pid, parent) };
    let others =
        [claude(301, 1), claude(302, 301), claude(303, 1), claude(304, AGENT), claude(305, 1), process(306, 1)];
    let mut machine = Machine::new(&[World::with(vec![pane(1, AGENT, stamp_of(&running()))], &others)]);
    machine.dirs = (301..=306).map(|pid| (pid, PathBuf::from("/real"))).collect();
    machine.dirs.insert(305, "/elsewhere".into());
    machine.markers.insert(303, marks(id(9)));
    let observed = machine.look_for(&BTreeMap::new(), &BTreeSet::new(), vec![(name("api"), "/link".into())]);
    assert_eq!(observed.unmanaged[&name("api")], ["claude (pid 301)"]);
}
