use std::fs;
use std::process::Command;
use std::time::Instant;

use super::*;
use crate::host::process::Processes;
use crate::host::real::Settings;

struct Bed {
    dir: tempfile::TempDir,
    machine: Machine,
    inbox: Inbox,
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, machine: Machine::new(Settings::default()).unwrap(), inbox: Inbox::open().unwrap() }
    }

    fn interest(&self) -> Interest {
        Interest { dirs: BTreeSet::from([self.dir.path().to_owned()]), processes: BTreeSet::new() }
    }

    /// Waits until `told` has come.
    fn until(&mut self, interest: &Interest, told: impl Fn(&News) -> bool) -> News {
        let begun = Instant::now();
        let mut all = News::default();
        while !told(&all) {
            assert!(begun.elapsed() < Duration::from_secs(20), "only {all:?}");
            merge(&mut all, self.inbox.wait(&self.machine, interest, Duration::from_secs(1)));
        }
        all
    }
}

#[test]
fn a_file_written_replaced_and_removed_is_news_each_time() {
    let mut bed = Bed::new();
    let (interest, file) = (bed.interest(), bed.dir.path().join("fleet.yaml"));
    bed.inbox.wait(&bed.machine, &interest, Duration::ZERO);
    fs::write(&file, "a").unwrap();
    bed.until(&interest, |news| news.changed.contains(&file));
    let aside = bed.dir.path().join("aside");
    fs::write(&aside, "b").unwrap();
    bed.until(&interest, |news| news.changed.contains(&aside));
    fs::rename(&aside, &file).unwrap();
    bed.until(&interest, |news| news.changed.contains(&file) && news.removed.contains(&aside));
    fs::remove_file(&file).unwrap();
    bed.until(&interest, |news| news.removed.contains(&file));
}

#[test]
fn reading_a_file_is_no_news() {
    let mut bed = Bed::new();
    let (interest, file) = (bed.interest(), bed.dir.path().join("fleet.yaml"));
    fs::write(&file, "a").unwrap();
    bed.inbox.wait(&bed.machine, &interest, Duration::ZERO);
    fs::read(&file).unwrap();
    // What comes later than the reading's news would have come.
    fs::write(bed.dir.path().join("later"), "").unwrap();
    let news = bed.until(&interest, |news| !news.changed.is_empty());
    assert!(!news.changed.contains(&file), "{news:?}");
}

#[test]
fn a_directory_made_anew_under_its_name_is_watched_again() {
    let mut bed = Bed::new();
    let sub = bed.dir.path().join("sub");
    fs::create_dir(&sub).unwrap();
    let interest = Interest { dirs: BTreeSet::from([sub.clone()]), processes: BTreeSet::new() };
    bed.inbox.wait(&bed.machine, &interest, Duration::ZERO);
    // Kept, so that its number is not given to the new one.
    fs::rename(&sub, bed.dir.path().join("former")).unwrap();
    fs::create_dir(&sub).unwrap();
    bed.until(&interest, |news| news.lost);
    fs::write(sub.join("new"), "").unwrap();
    bed.until(&interest, |news| news.changed.contains(&sub.join("new")));
}

#[test]
fn the_end_of_a_process_is_news_once() {
    let mut bed = Bed::new();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let key = bed.machine.table().unwrap().processes[&pid].key;
    let interest = Interest { dirs: BTreeSet::new(), processes: BTreeSet::from([key]) };
    assert!(bed.inbox.wait(&bed.machine, &interest, Duration::from_millis(1)).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bed.until(&interest, |news| !news.ended.is_empty()).ended, BTreeSet::from([key]));
    let none = Interest::default();
    assert!(bed.inbox.wait(&bed.machine, &none, Duration::from_millis(1)).is_empty());
}

#[test]
fn a_process_that_ended_before_it_was_watched_is_news_at_once() {
    let mut bed = Bed::new();
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let key = ProcessKey { pid: i32::try_from(child.id()).unwrap(), start: 1 };
    let interest = Interest { dirs: BTreeSet::new(), processes: BTreeSet::from([key]) };
    let news = bed.inbox.wait(&bed.machine, &interest, Duration::from_secs(20));
    assert_eq!(news.ended, BTreeSet::from([key]));
}

#[test]
fn a_directory_without_a_watch_is_looked_at() {
    let mut bed = Bed::new();
    bed.inbox.watcher = None;
    let (interest, file) = (bed.interest(), bed.dir.path().join("fleet.yaml"));
    bed.inbox.wait(&bed.machine, &interest, Duration::ZERO);
    assert_eq!(bed.inbox.unwatched(), [bed.dir.path()]);
    fs::write(&file, "a").unwrap();
    bed.until(&interest, |news| news.changed.contains(&file));
    fs::remove_file(&file).unwrap();
    bed.until(&interest, |news| news.removed.contains(&file));
}
