use std::fs;

use super::*;
use crate::state::error::StateError;
use crate::state::record::{FleetRecord, Provenance};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

#[test]
fn what_is_saved_is_read_again() {
    let place = Place::new();
    let store = place.store();
    let saved = [record(1, "web", "api"), record(2, "web", "docs"), record(3, "other", "api")];
    store.save(&saved).unwrap();
    let recorded = store.recorded(&name("web"), None).unwrap();
    assert_eq!(recorded.records.into_values().collect::<Vec<_>>(), saved[..2]);
    assert_eq!(recorded.owner, *store.owner());
    assert_eq!(store.records().unwrap().records.len(), 3);
}

#[test]
fn a_renamed_fleet_sees_the_former_fleets_records_and_sources_and_its_own_come_first() {
    let place = Place::new();
    let store = place.store();
    store.save(&[record(1, "old", "api"), record(2, "old", "docs"), record(3, "new", "docs")]).unwrap();
    let former = FleetRecord { sources: vec!["/f.yaml".into()], ..FleetRecord::default() };
    store.save_fleet(&name("old"), &former).unwrap();
    let recorded = store.recorded(&name("new"), Some(&name("old"))).unwrap();
    let ids: Vec<_> = recorded.records.values().map(|record| record.id).collect();
    assert_eq!(ids, [id(1), id(3)]);
    assert_eq!(recorded.fleet.sources, former.sources);
    assert!(recorded.damaged.is_empty());
}

#[test]
fn at_most_five_launches_are_kept_the_newest() {
    let place = Place::new();
    let launches = (1..=8).map(launch).collect();
    place.store().save(&[Record { launches, ..record(1, "web", "api") }]).unwrap();
    let read = &place.store().records().unwrap().records[&id(1)];
    assert_eq!(read.launches.iter().map(|launch| launch.generation).collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
}

#[test]
fn a_buried_session_is_a_tombstone_and_no_record() {
    let place = Place::new();
    let store = place.store();
    let alive = record(1, "web", "api");
    store.save(std::slice::from_ref(&alive)).unwrap();
    store.bury(&alive, moment(5000)).unwrap();
    let recorded = store.recorded(&name("web"), None).unwrap();
    assert!(recorded.records.is_empty());
    let grave = &recorded.tombstones[&name("api")];
    assert_eq!((grave.reaped_ms, &grave.record), (5000, &alive));
}

#[test]
fn the_newest_tombstone_of_a_name_counts_and_forget_drops_them_all() {
    let place = Place::new();
    let store = place.store();
    store.bury(&record(9, "other", "api"), moment(900)).unwrap();
    for (number, at) in [(1, 100), (2, 300), (3, 200)] {
        store.bury(&record(number, "web", "api"), moment(at)).unwrap();
    }
    store.bury(&record(4, "web", "docs"), moment(50)).unwrap();
    assert_eq!(store.recorded(&name("web"), None).unwrap().tombstones[&name("api")].reaped_ms, 300);
    assert_eq!(store.forget(&name("web"), &name("api")).unwrap(), 3);
    let left = store.recorded(&name("web"), None).unwrap().tombstones;
    assert_eq!(left.into_keys().collect::<Vec<_>>(), [name("docs")]);
}

#[test]
fn tombstones_expire_after_thirty_days_and_not_before() {
    let place = Place::new();
    let store = place.store();
    store.bury(&record(1, "web", "old"), moment(0)).unwrap();
    store.bury(&record(2, "web", "new"), moment(DAY_MS)).unwrap();
    store.tidy(moment(30 * DAY_MS)).unwrap();
    assert_eq!(store.records().unwrap().tombstones.len(), 2);
    store.tidy(moment(30 * DAY_MS + 1)).unwrap();
    assert_eq!(store.records().unwrap().tombstones.into_keys().collect::<Vec<_>>(), [id(2)]);
}

#[test]
fn down_is_remembered_beside_the_sources() {
    let place = Place::new();
    let store = place.store();
    let fleet = FleetRecord { sources: vec!["/f.yaml".into()], ..FleetRecord::default() };
    store.save_fleet(&name("web"), &fleet).unwrap();
    store.set_down(&name("web"), true).unwrap();
    let read = store.fleet(&name("web")).unwrap().unwrap();
    assert!(read.down && read.sources == fleet.sources);
}

#[test]
fn a_newer_record_is_refused_by_name_and_nothing_is_written() {
    let place = Place::new();
    let store = place.store();
    let file = store.layout().record(id(1));
    for newer in [r#"{"version":9}"#.to_owned(), {
        let newer = Record { version: 9, ..record(1, "web", "api") };
        serde_json::to_string(&newer).unwrap()
    }] {
        fs::write(&file, &newer).unwrap();
        let error = store.recorded(&name("web"), None).unwrap_err();
        assert_eq!(error, StateError::Newer { file: file.clone(), version: 9, known: RECORD_VERSION });
        assert!(error.to_string().contains(file.to_str().unwrap()) && error.to_string().contains("version 9"));
        assert_eq!(fs::read_to_string(&file).unwrap(), newer);
    }
}

#[test]
fn a_truncated_record_is_damage_and_never_an_absence() {
    let place = Place::new();
    let store = place.store();
    store.save(&[record(1, "web", "api"), record(2, "web", "docs")]).unwrap();
    let file = store.layout().record(id(1));
    let text = fs::read(&file).unwrap();
    for length in [0, 1, text.len() / 2, text.len() - 3] {
        fs::write(&file, &text[..length]).unwrap();
        let recorded = store.recorded(&name("web"), None).unwrap();
        assert_eq!(recorded.damage(&name("api")).map(|damaged| damaged.file.clone()), Some(file.clone()));
        assert!(recorded.damage(&name("docs")).is_none() && recorded.records.contains_key(&name("docs")));
    }
}

#[test]
fn damage_that_still_tells_its_name_concerns_that_session_alone() {
    let place = Place::new();
    let store = place.store();
    fs::write(store.layout().record(id(1)), r#"{"version":1,"fleet":"web","name":"api","launches":3}"#).unwrap();
    fs::write(store.layout().tombstone(id(2)), r#"{"record":{"version":1,"fleet":"other","name":"docs"}}"#).unwrap();
    let recorded = store.recorded(&name("web"), None).unwrap();
    assert!(recorded.damage(&name("api")).is_some() && recorded.damage(&name("docs")).is_none());
    assert_eq!(recorded.damaged.len(), 1);
}

#[test]
fn a_file_that_is_unreadable_too_large_or_of_another_session_is_damage() {
    let place = Place::new();
    let store = place.store();
    store.save(&[record(1, "web", "a"), record(2, "web", "b"), record(3, "web", "c")]).unwrap();
    place.disk.unreadable.borrow_mut().push(store.layout().record(id(1)));
    fs::write(store.layout().record(id(2)), vec![b' '; 2 << 20]).unwrap();
    fs::copy(store.layout().record(id(3)), store.layout().record(id(4))).unwrap();
    let memory = store.records().unwrap();
    assert_eq!(memory.damaged.iter().filter_map(|damaged| damaged.id).collect::<Vec<_>>(), [id(1), id(2), id(4)]);
    assert_eq!(memory.known().len(), 4);
}

#[test]
fn two_records_of_one_name_are_damage() {
    let place = Place::new();
    place.store().save(&[record(1, "web", "api"), record(2, "web", "api")]).unwrap();
    let recorded = place.store().recorded(&name("web"), None).unwrap();
    assert!(recorded.damage(&name("api")).unwrap().words.contains(&id(1).to_string()));
}

#[test]
fn a_damaged_fleet_file_is_an_error_with_a_way_out() {
    let place = Place::new();
    let store = place.store();
    fs::write(store.layout().fleet(&name("web")), "{").unwrap();
    let error = store.recorded(&name("web"), None).unwrap_err().to_string();
    assert!(error.contains("web.json") && error.contains("--take-over"), "{error}");
    assert!(store.recorded(&name("other"), None).is_ok());
}

#[test]
fn foreign_and_temporary_files_beside_the_records_are_left_alone() {
    let place = Place::new();
    let store = place.store();
    for file in [".tmpAbC", "note.txt", "ABCDEF00-0000-0000-0000-000000000001.json"] {
        fs::write(store.layout().sessions().join(file), "x").unwrap();
    }
    store.tidy(moment(0)).unwrap();
    let memory = store.records().unwrap();
    assert!(memory.records.is_empty() && memory.damaged.is_empty());
    assert_eq!(place.disk.list(&store.layout().sessions()).unwrap().len(), 3);
}

#[test]
fn a_token_is_stable_and_its_key_is_in_no_record() {
    let place = Place::new();
    let token = place.store().token(id(1)).unwrap();
    assert_eq!(token.len(), 64);
    assert_eq!(token, place.store().token(id(1)).unwrap());
    assert_ne!(token, place.store().token(id(2)).unwrap());
    fs::write(place.store().layout().key(), "").unwrap();
    assert!(matches!(place.store().token(id(1)), Err(StateError::Corrupt { .. })));
}

#[test]
fn a_full_or_read_only_disk_is_an_error_and_keeps_what_was() {
    let place = Place::new();
    let store = place.store();
    let before = record(1, "web", "api");
    store.save(std::slice::from_ref(&before)).unwrap();
    for fault in [DiskFault::Full, DiskFault::ReadOnly] {
        place.disk.fault.set(Some(fault));
        let changed = Record { protect: true, ..before.clone() };
        assert!(matches!(store.save(&[changed]), Err(StateError::Disk(error)) if error.fault == fault));
        assert!(store.bury(&before, moment(1)).is_err());
        assert_eq!(store.records().unwrap().records[&id(1)], before);
    }
}

#[test]
fn a_path_that_json_cannot_hold_is_an_error_and_no_empty_file() {
    use std::os::unix::ffi::OsStringExt;
    let place = Place::new();
    let canonical = PathBuf::from(std::ffi::OsString::from_vec(vec![b'/', 0xff]));
    let dir = RecordedDir { spelling: "~/x".into(), canonical };
    assert!(place.store().save(&[Record { dir, ..record(1, "web", "api") }]).is_err());
    assert_eq!(place.store().records().unwrap(), Default::default());
}

#[test]
fn records_of_version_one_load_and_unknown_fields_are_tolerated() {
    let place = Place::new();
    let store = place.store();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/state-v1");
    for part in ["sessions", "tombstones", "fleets"] {
        for file in fs::read_dir(old.join(part)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), store.layout().dir().join(part).join(file.file_name())).unwrap();
        }
    }
    let recorded = store.recorded(&name("payments"), None).unwrap();
    assert_eq!(recorded.damaged, []);
    let api = &recorded.records[&name("api")];
    assert_eq!(api.generation(), 2);
    assert_eq!(api.conversation.as_ref().map(|known| known.provenance), Some(Provenance::Reported));
    assert_eq!(api.tabs.len(), 1);
    assert!(recorded.records.contains_key(&name("smallest")));
    assert!(recorded.tombstones.contains_key(&name("old-experiment")));
    assert!(recorded.fleet.down);
}

#[test]
#[ignore = "a measurement: cargo test --release --lib two_hundred -- --ignored --nocapture"]
fn two_hundred_records_are_read_in_a_few_milliseconds() {
    let place = Place::new();
    let records: Vec<_> = (0..200).map(|number| record(number, "web", &format!("s{number}"))).collect();
    place.store().save(&records).unwrap();
    let begun = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(place.store().records().unwrap().records.len(), 200);
    }
    println!("{:?} a reading", begun.elapsed() / 100);
}

#[test]
fn what_agents_of_reaped_sessions_reported_is_removed_and_nothing_else() {
    let place = Place::new();
    let store = place.store();
    store.save(&[record(1, "web", "api"), record(2, "web", "docs")]).unwrap();
    // The third has no record: it may be rebuilt from a live pane.
    for n in [1, 2, 3] {
        fs::create_dir_all(store.layout().report_dir(id(n))).unwrap();
        fs::write(store.layout().report_dir(id(n)).join("log"), "1 reported - -\n").unwrap();
    }
    store.bury(&record(2, "web", "docs"), moment(0)).unwrap();
    store.tidy(moment(0)).unwrap();
    assert_eq!([1, 2, 3].map(|n| store.layout().report_dir(id(n)).exists()), [true, false, true]);
}
