use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::state::launch_files::{Failure, LaunchFiles, LaunchSpec, Sentinel, VERSION, sweep};

fn spec(files: &LaunchFiles) -> LaunchSpec {
    LaunchSpec {
        version: VERSION,
        session: id(1),
        tab: None,
        generation: 3,
        argv: vec!["claude".into()],
        env: BTreeMap::from([("TOKEN".into(), "hunter2".into())]),
        unset: vec!["TMUX".into()],
        dir: "/src".into(),
        before_launch: None,
        durable_exec: false,
        kind: None,
        token: "t0ken".into(),
        socket: "/s/supervisor.sock".into(),
        bin_dir: "/usr/bin".into(),
        status_file: files.status.clone(),
        exec_file: files.exec.clone(),
    }
}

fn files(place: &Place, number: u128, generation: u32) -> LaunchFiles {
    LaunchFiles::new(&place.store().layout().launch(), id(number), generation, None)
}

#[test]
fn a_spec_is_written_once_and_shows_no_secret() {
    let place = Place::new();
    let files = files(&place, 1, 3);
    assert!(!files.spec_unread(&place.disk).unwrap());
    let spec = spec(&files);
    files.write_spec(&place.disk, &spec).unwrap();
    assert!(files.write_spec(&place.disk, &spec).is_err());
    assert!(files.spec_unread(&place.disk).unwrap());
    let read: LaunchSpec = serde_json::from_slice(&fs::read(&files.spec).unwrap()).unwrap();
    assert_eq!(read, spec);
    let shown = format!("{spec:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("t0ken"), "{shown}");
}

#[test]
fn a_sentinel_tells_what_failed_and_a_damaged_one_is_a_failure_too() {
    let place = Place::new();
    let files = files(&place, 1, 3);
    assert_eq!(files.failure(&place.disk).unwrap(), None);
    let left = Sentinel::new(Failure::Exec, "claude: not found\u{1b} in PATH");
    left.write(&place.disk, &files.status).unwrap();
    assert_eq!(files.failure(&place.disk).unwrap(), Some(left));
    fs::write(&files.status, "").unwrap();
    assert_eq!(files.failure(&place.disk).unwrap().unwrap().what, Failure::Garbled);
}

#[test]
fn a_sweep_takes_the_files_of_launches_nobody_keeps() {
    let place = Place::new();
    let (old, kept, gone) = (files(&place, 1, 2), files(&place, 1, 3), files(&place, 2, 1));
    for path in [&old.status, &old.exec, &kept.exec, &gone.spec] {
        fs::write(path, "").unwrap();
    }
    let tab = LaunchFiles::new(&place.store().layout().launch(), id(1), 2, Some(id(9)));
    fs::write(&tab.spec, "").unwrap();
    sweep(&place.disk, &place.store().layout().launch(), |session, generation| (session, generation) == (id(1), 3))
        .unwrap();
    assert!(kept.exec.exists());
    assert!(![&old.status, &old.exec, &gone.spec, &tab.spec].into_iter().any(|path| path.exists()));
}
