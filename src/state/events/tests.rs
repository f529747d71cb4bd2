use std::fs;

use super::*;
use crate::state::tests::{Place, moment, name};

fn event(at_ms: i64, action: &str) -> Event {
    Event::new(moment(at_ms), "apply", action, Outcome::Done)
}

fn actions(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.action.as_str()).collect()
}

#[test]
fn events_are_read_back_in_order_and_since_a_time() {
    let place = Place::new();
    let layout = place.store().layout().clone();
    let log = EventLog::new(&place.disk, &layout);
    let full = Event { session: Some(name("api")), detail: Some("because".into()), ..event(2000, "launch") };
    log.append(&[event(1000, "reap"), full.clone()]).unwrap();
    assert_eq!(Follower::new(&place.disk, &layout, None).next_events().unwrap(), [event(1000, "reap"), full.clone()]);
    let since = Timestamp::from_millisecond(1500).unwrap();
    assert_eq!(Follower::new(&place.disk, &layout, Some(since)).next_events().unwrap(), [full]);
}

#[test]
fn a_follower_gives_each_event_once_also_across_a_rotation() {
    let place = Place::new();
    let layout = place.store().layout().clone();
    let log = EventLog::new(&place.disk, &layout);
    let mut follower = Follower::new(&place.disk, &layout, None);
    assert!(follower.next_events().unwrap().is_empty());
    log.append(&[event(1, "a")]).unwrap();
    assert_eq!(actions(&follower.next_events().unwrap()), ["a"]);
    assert!(follower.next_events().unwrap().is_empty());
    log.append(&[event(2, "b")]).unwrap();
    // Rotation as a writer does it.
    fs::rename(layout.events(), layout.old_events()).unwrap();
    EventLog::new(&place.disk, &layout).append(&[event(3, "c")]).unwrap();
    assert_eq!(actions(&follower.next_events().unwrap()), ["b", "c"]);
}

#[test]
fn a_full_log_is_rotated_and_the_former_is_kept() {
    let place = Place::new();
    let layout = place.store().layout().clone();
    let filler = vec![b'\n'; usize::try_from(ROTATE_AT).unwrap()];
    fs::write(layout.events(), &filler).unwrap();
    EventLog::new(&place.disk, &layout).append(&[event(1, "a")]).unwrap();
    assert_eq!(fs::read(layout.old_events()).unwrap(), filler);
    assert!(fs::read(layout.events()).unwrap().len() < 200);
}

#[test]
fn a_line_cut_off_by_a_crash_spoils_no_other() {
    let place = Place::new();
    let layout = place.store().layout().clone();
    fs::write(layout.events(), br#"{"at":"2026-11-"#).unwrap();
    EventLog::new(&place.disk, &layout).append(&[event(1, "a")]).unwrap();
    assert_eq!(actions(&Follower::new(&place.disk, &layout, None).next_events().unwrap()), ["a"]);
}

#[test]
fn a_line_is_bounded_and_harmless_on_a_terminal() {
    let hostile = Event { detail: Some("\u{1b}]0;x\u{7}\u{202e}é\n".repeat(5000)), ..event(1, "a") };
    let line = String::from_utf8(hostile.line()).unwrap();
    assert!(line.len() < 5000);
    let read: Event = serde_json::from_str(&line).unwrap();
    let detail = read.detail.unwrap();
    assert!(
        !detail.contains(|c: char| c.is_control() || c == '\u{202e}') && detail.contains('é') && detail.ends_with('…')
    );
}

#[test]
fn a_full_disk_is_reported_and_nothing_else_happens() {
    let place = Place::new();
    let layout = place.store().layout().clone();
    place.disk.fault.set(Some(DiskFault::Full));
    let log = EventLog::new(&place.disk, &layout);
    assert_eq!(log.append(&[event(1, "a")]).unwrap_err().fault, DiskFault::Full);
    place.disk.fault.set(None);
    log.append(&[event(2, "b")]).unwrap();
    assert_eq!(actions(&Follower::new(&place.disk, &layout, None).next_events().unwrap()), ["b"]);
}

#[test]
fn the_schema_on_file_is_the_one_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/events.schema.json");
    if std::env::var_os("FARHELM_BLESS").is_some() {
        fs::write(path, schema()).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), schema(), "run the tests with FARHELM_BLESS=1");
}
