//! farhelm killed between any two disk effects: what is read afterwards is the state before or after, never less.

use super::*;

/// Runs `what` with a disk that stops after 0, 1, 2, … effects until it succeeds, and checks each outcome.
fn kill_everywhere(
    before: impl Fn(&Store),
    what: impl Fn(&Store) -> Result<(), super::super::error::StateError>,
    check: impl Fn(&Store, bool),
) {
    for effects in 0.. {
        let place = Place::new();
        let store = place.store();
        before(&store);
        place.disk.left.set(Some(effects));
        let done = what(&store).is_ok();
        place.disk.left.set(None);
        // Seen the same before and after the repair.
        check(&store, done);
        store.tidy(moment(0)).unwrap();
        check(&store, done);
        assert!(store.records().unwrap().unfinished.is_empty());
        if done {
            assert!(effects > 1, "the disk was never stopped");
            return;
        }
    }
}

#[test]
fn a_killed_save_leaves_each_record_old_or_new() {
    let old = [record(1, "web", "a"), record(2, "web", "b")];
    let new = old.clone().map(|record| Record { protect: true, ..record });
    kill_everywhere(
        |store| store.save(&old).unwrap(),
        |store| store.save(&new),
        |store, done| {
            let memory = store.records().unwrap();
            assert_eq!((memory.records.len(), memory.damaged.len()), (2, 0));
            for (old, new) in old.iter().zip(&new) {
                let read = &memory.records[&old.id];
                assert!(read == new || (!done && read == old));
            }
        },
    );
}

#[test]
fn a_killed_burial_leaves_a_record_or_a_tombstone_and_never_neither() {
    let alive = record(1, "web", "a");
    kill_everywhere(
        |store| store.save(std::slice::from_ref(&alive)).unwrap(),
        |store| store.bury(&alive, moment(5)),
        |store, done| {
            let memory = store.records().unwrap();
            assert_eq!((memory.records.len() + memory.tombstones.len(), memory.damaged.len()), (1, 0));
            assert!(!done || memory.tombstones[&alive.id].record == alive);
        },
    );
}

#[test]
fn a_killed_restoration_keeps_the_tombstone_until_the_record_is_there() {
    let buried = record(1, "web", "a");
    let restored = Record { launches: vec![launch(1), launch(2)], ..buried.clone() };
    kill_everywhere(
        |store| store.bury(&buried, moment(5)).unwrap(),
        |store| store.save(std::slice::from_ref(&restored)).and_then(|()| store.tidy(moment(0))),
        |store, done| {
            let memory = store.records().unwrap();
            assert_eq!(memory.records.len() + memory.tombstones.len(), 1);
            assert!(!done || memory.records[&buried.id] == restored);
        },
    );
}
