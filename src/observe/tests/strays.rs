use super::*;
use crate::observe::strays::{Stray, find};

fn marked(number: u128, socket: &str) -> MarkersRead {
    let MarkersRead::Read(marks) = marks(id(number)) else { unreachable!() };
    MarkersRead::Read(Markers { socket: Some(socket.into()), ..marks })
}

fn strays(machine: &Machine, known: &[u128]) -> Vec<Stray> {
    let known = known.iter().map(|number| id(*number)).collect();
    find(machine, &[socket(), Socket("/run/silent".into())].into(), &known, Path::new("/s")).unwrap()
}

#[test]
fn a_marked_process_of_this_directory_with_neither_record_nor_live_pane_is_a_stray() {
    let panes =
        vec![pane(1, AGENT, stamp_of(&running())), dead(2, 900, stamp_of(&record(4, "web", "docs")), Some(0), None)];
    let others: Vec<_> = (301..=307).map(|pid| process(pid, 1)).collect();
    let mut machine = Machine::new(&[World::with(panes, &others)]);
    machine.markers.insert(301, marked(1, "/s/supervisor.sock")); // has a live pane
    machine.markers.insert(302, marked(2, "/s/supervisor.sock")); // has a record
    machine.markers.insert(303, marked(3, "/s/supervisor.sock"));
    machine.markers.insert(304, marked(4, "/s/supervisor.sock")); // has a dead pane only
    machine.markers.insert(305, marked(3, "/s2/supervisor.sock"));
    machine.markers.insert(306, marked(3, "/s/../s2/supervisor.sock"));
    machine.markers.insert(307, marks(id(3)));
    let found = strays(&machine, &[2]);
    assert_eq!(found.iter().map(|stray| stray.key).collect::<Vec<_>>(), [key(303), key(304)]);
}

#[test]
fn a_strays_command_line_is_harmless_on_a_terminal() {
    let mut machine = Machine::new(&[World::with(vec![], &[process(303, 1)])]);
    machine.markers.insert(303, marked(3, "/s/supervisor.sock"));
    let found = strays(&machine, &[]);
    assert!(found[0].words.starts_with("sleep ") && !found[0].words.contains('\u{1b}'));
    assert_eq!(found[0].age, Duration::from_millis(500_000 - 3030));
}
