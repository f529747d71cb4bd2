use std::fs;
use std::os::unix::fs::symlink;

use super::super::{WalkEnd, log};
use super::*;
use crate::host::clock::Moment;
use crate::host::process::BootId;
use crate::host::real::{Machine, Settings};

fn disk() -> Machine {
    Machine::new(Settings::default()).unwrap()
}

fn report(pid: i32, conversation: &str, boot_ms: u64) -> Report {
    Report {
        version: VERSION,
        vendor: "claude".to_owned(),
        generation: 1,
        boot: BootId("boot".to_owned()),
        at: Moment { boot_ms, wall_ms: 0 },
        conversation: conversation.to_owned(),
        source: None,
        transcript: None,
        event: None,
        detail: None,
        agent_id: None,
        reporter: ProcessKey { pid, start: 1 },
        ancestry: Vec::new(),
        ended: WalkEnd::Pane,
    }
}

fn leave(dir: &Path, report: &Report, slot: Slot) -> PathBuf {
    let path = file(dir, report.reporter, slot);
    fs::write(&path, serde_json::to_vec(report).unwrap()).unwrap();
    path
}

fn conversations(dir: &Path) -> Vec<String> {
    let found = all(&disk(), dir).unwrap();
    found.into_iter().map(|found| found.report.map_or_else(|words| words, |report| report.conversation)).collect()
}

#[test]
fn reports_are_read_oldest_first_and_other_files_are_none_of_them() {
    let dir = tempfile::tempdir().unwrap();
    leave(dir.path(), &report(7, "second", 20), Slot::Start);
    leave(dir.path(), &report(8, "first", 10), Slot::Start);
    leave(dir.path(), &report(7, "third", 30), Slot::Activity);
    fs::write(log::file(dir.path()), "x").unwrap();
    assert_eq!(conversations(dir.path()), ["first", "second", "third"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "reading changes nothing");
    assert_eq!(conversations(&dir.path().join("missing")), Vec::<String>::new());
}

#[test]
fn what_cannot_be_understood_is_said_and_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    leave(dir.path(), &report(9, "good", 10), Slot::Start);
    fs::write(file(dir.path(), ProcessKey { pid: 1, start: 1 }, Slot::Start), "{\"secret\"").unwrap();
    fs::rename(
        leave(dir.path(), &report(3, "x", 1), Slot::Start),
        file(dir.path(), ProcessKey { pid: 2, start: 1 }, Slot::Start),
    )
    .unwrap();
    leave(dir.path(), &Report { version: 2, ..report(4, "x", 1) }, Slot::Start);
    symlink("/etc/passwd", file(dir.path(), ProcessKey { pid: 5, start: 1 }, Slot::Start)).unwrap();
    let words = conversations(dir.path());
    assert_eq!(words.len(), 5, "{words:?}");
    assert_eq!(words[4], "good");
    for expected in ["damaged in line 1", "another reporter's", "of version 2", "symbolic link"] {
        assert!(words.iter().any(|words| words.contains(expected)), "{expected}: {words:?}");
    }
    assert!(words.iter().all(|words| !words.contains("secret")), "{words:?}");
}

#[test]
fn a_taken_report_is_nobody_elses_until_it_is_put_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = leave(dir.path(), &report(7, "a", 10), Slot::Start);
    let found = all(&disk(), dir.path()).unwrap().remove(0);
    let taken = take(&disk(), &found).unwrap().unwrap();
    assert_eq!(taken.found.report.as_ref().unwrap().conversation, "a");
    assert!(!path.exists());
    assert_eq!(take(&disk(), &found).unwrap(), None, "taken twice");
    put_back(&disk(), &taken).unwrap();
    assert!(path.exists());
    assert_eq!(conversations(dir.path()), ["a"]);
}

#[test]
fn a_taken_report_gives_way_to_a_newer_one() {
    let dir = tempfile::tempdir().unwrap();
    leave(dir.path(), &report(7, "old", 10), Slot::Start);
    let found = all(&disk(), dir.path()).unwrap().remove(0);
    let taken = take(&disk(), &found).unwrap().unwrap();
    leave(dir.path(), &report(7, "new", 20), Slot::Start);
    put_back(&disk(), &taken).unwrap();
    assert_eq!(conversations(dir.path()), ["new"]);
}

#[test]
fn what_is_taken_is_what_is_there_then_not_what_was_read() {
    let dir = tempfile::tempdir().unwrap();
    leave(dir.path(), &report(7, "old", 10), Slot::Start);
    let found = all(&disk(), dir.path()).unwrap().remove(0);
    leave(dir.path(), &report(7, "new", 20), Slot::Start);
    let taken = take(&disk(), &found).unwrap().unwrap();
    assert_eq!(taken.found.report.as_ref().unwrap().conversation, "new");
    discard(&disk(), &taken).unwrap();
    assert_eq!(conversations(dir.path()), Vec::<String>::new());
}

#[test]
fn what_a_killed_pass_had_taken_is_read_and_taken_again() {
    let dir = tempfile::tempdir().unwrap();
    leave(dir.path(), &report(7, "a", 10), Slot::Start);
    let found = all(&disk(), dir.path()).unwrap().remove(0);
    take(&disk(), &found).unwrap().unwrap();
    let found = all(&disk(), dir.path()).unwrap().remove(0);
    let taken = take(&disk(), &found).unwrap().unwrap();
    assert_eq!(taken.found.report.as_ref().unwrap().conversation, "a");
    discard(&disk(), &taken).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_overlong_report_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), ProcessKey { pid: 1, start: 1 }, Slot::Start);
    fs::write(path, vec![b' '; usize::try_from(MAX_REPORT).unwrap() + 1]).unwrap();
    assert!(conversations(dir.path())[0].contains("larger than"));
}

#[test]
fn reports_of_buried_sessions_are_removed_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path());
    let [known, gone, never] = [1, 2, 3].map(|n| SessionId(uuid::Uuid::from_u128(n)));
    for id in [known, gone] {
        fs::create_dir_all(layout.report_dir(id)).unwrap();
        leave(&layout.report_dir(id), &report(7, "a", 1), Slot::Start);
    }
    fs::create_dir(layout.reports().join("not-ours")).unwrap();
    prune(&disk(), &layout, &BTreeSet::from([gone, never])).unwrap();
    assert_eq!(conversations(&layout.report_dir(known)), ["a"]);
    assert!(!layout.report_dir(gone).exists());
    assert!(layout.reports().join("not-ours").exists());
}
