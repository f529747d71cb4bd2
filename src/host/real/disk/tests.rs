use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::process::{Resource, Rlimit};

use super::*;
use crate::host::real::testing::machine;

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn fault_of<T: std::fmt::Debug>(result: Result<T, DiskError>) -> DiskFault {
    result.unwrap_err().fault
}

#[test]
fn replaced_files_hold_the_new_bytes_and_are_private() {
    let dir = dir();
    let files: Vec<(PathBuf, Vec<u8>)> =
        (0..50).map(|i| (dir.path().join(format!("{i:02}")), format!("new {i}").into_bytes())).collect();
    fs::write(&files[7].0, "old").unwrap();
    machine().replace(&files).unwrap();
    for (path, bytes) in &files {
        assert_eq!((&fs::read(path).unwrap(), mode(path)), (bytes, 0o600));
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 50, "nothing else is left there");
}

#[test]
fn a_failed_write_replaces_nothing_and_names_the_file() {
    let dir = dir();
    let good = dir.path().join("good");
    fs::write(&good, "old").unwrap();
    let bad = dir.path().join("missing/file");
    let error = machine().replace(&[(good.clone(), b"new".to_vec()), (bad.clone(), b"x".to_vec())]).unwrap_err();
    assert_eq!((error.fault, error.path), (DiskFault::Missing, bad));
    assert_eq!(fs::read(&good).unwrap(), b"old");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// The limit is a process's, and so a child has it: this very test program again.
#[test]
fn more_files_are_replaced_at_once_than_may_be_open() {
    const CHILD: &str = "FARHELM_TEST_FEW_FILES_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(400), maximum }).unwrap();
        let dir = dir();
        let file = |number: usize| (dir.path().join(number.to_string()), b"new".to_vec());
        machine().replace(&(0..500).map(file).collect::<Vec<_>>()).unwrap();
        return assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 500);
    }
    let name = "host::real::disk::tests::more_files_are_replaced_at_once_than_may_be_open";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", name]).env(CHILD, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn replacing_a_link_leaves_its_target_alone() {
    let dir = dir();
    let (target, link) = (dir.path().join("target"), dir.path().join("link"));
    fs::write(&target, "kept").unwrap();
    symlink(&target, &link).unwrap();
    machine().replace(&[(link.clone(), b"new".to_vec())]).unwrap();
    assert_eq!((fs::read(&target).unwrap(), fs::read(&link).unwrap()), (b"kept".to_vec(), b"new".to_vec()));
    assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn the_leftover_of_an_interrupted_replace_is_not_listed() {
    let dir = dir();
    fs::write(dir.path().join(".x1y2.unfinished"), "half").unwrap();
    fs::write(dir.path().join("b.json"), "").unwrap();
    fs::write(dir.path().join("a.json"), "").unwrap();
    assert_eq!(machine().list(dir.path()).unwrap(), ["a.json", "b.json"]);
}

#[test]
fn a_full_disk_is_told_apart() {
    let error = fault("write", Path::new("/x"), &Errno::NOSPC.into());
    assert_eq!(error.fault, DiskFault::Full);
    assert_eq!(error.to_string(), "cannot write /x: No space left on device (os error 28)");
}

#[test]
fn an_absent_directory_lists_nothing_and_a_file_is_no_directory() {
    let dir = dir();
    assert_eq!(machine().list(&dir.path().join("none")).unwrap(), Vec::<String>::new());
    fs::write(dir.path().join("file"), "").unwrap();
    assert_eq!(fault_of(machine().list(&dir.path().join("file"))), DiskFault::WrongType);
}

#[test]
fn only_plain_files_within_the_limit_are_read() {
    let dir = dir();
    let (file, link, pipe) = (dir.path().join("file"), dir.path().join("link"), dir.path().join("pipe"));
    fs::write(&file, "12345").unwrap();
    symlink(&file, &link).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let machine = machine();
    assert_eq!(machine.read(&file, 5).unwrap(), b"12345");
    assert_eq!(fault_of(machine.read(&file, 4)), DiskFault::TooLarge);
    for path in [&link, &pipe, &dir.path().to_owned()] {
        assert_eq!(fault_of(machine.read(path, 100)), DiskFault::WrongType, "{}", path.display());
    }
    assert_eq!(fault_of(machine.read(Path::new("/proc/self/environ"), 1)), DiskFault::TooLarge);
    assert_eq!(fault_of(machine.read(&dir.path().join("none"), 1)), DiskFault::Missing);
}

#[test]
fn directories_are_made_private_with_their_parents() {
    let dir = dir();
    let deep = dir.path().join("a/b/c");
    machine().make_dir(&deep).unwrap();
    machine().make_dir(&deep).unwrap();
    assert_eq!((mode(&deep), mode(&dir.path().join("a"))), (0o700, 0o700));
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(machine().make_dir(&dir.path().join("file")).is_err());
}

#[test]
fn create_refuses_what_exists_even_as_a_dangling_link() {
    let dir = dir();
    let path = dir.path().join("new");
    machine().create(&path, b"1").unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"1".to_vec(), 0o600));
    assert_eq!(fault_of(machine().create(&path, b"2")), DiskFault::Exists);
    let link = dir.path().join("link");
    symlink(dir.path().join("elsewhere"), &link).unwrap();
    assert_eq!(fault_of(machine().create(&link, b"2")), DiskFault::Exists);
    assert_eq!(fs::read(&path).unwrap(), b"1");
}

#[test]
fn appended_bytes_follow_each_other() {
    let dir = dir();
    let path = dir.path().join("log");
    machine().append(&path, b"one\n").unwrap();
    machine().append(&path, b"two\n").unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"one\ntwo\n".to_vec(), 0o600));
    symlink(&path, dir.path().join("link")).unwrap();
    assert_eq!(fault_of(machine().append(&dir.path().join("link"), b"x")), DiskFault::WrongType);
}

#[test]
fn removing_a_missing_file_is_no_error() {
    let dir = dir();
    let path = dir.path().join("x");
    fs::write(&path, "").unwrap();
    machine().remove(&path).unwrap();
    machine().remove(&path).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_directory_resolves_through_links() {
    let dir = dir();
    let real = fs::canonicalize(dir.path()).unwrap().join("real");
    fs::create_dir(&real).unwrap();
    symlink(&real, dir.path().join("link")).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    assert_eq!(machine().resolve_dir(&dir.path().join("link")).unwrap(), real);
    assert_eq!(fault_of(machine().resolve_dir(&dir.path().join("none"))), DiskFault::Missing);
    assert_eq!(fault_of(machine().resolve_dir(&dir.path().join("file"))), DiskFault::WrongType);
}

#[test]
fn a_held_lock_names_its_holder_until_it_is_dropped() {
    let dir = dir();
    let path = dir.path().join("lock");
    let Locked::Held(held) = machine().lock(&path, "apply, pid 12").unwrap() else { panic!("busy") };
    let Locked::Busy(words) = machine().lock(&path, "other").unwrap() else { panic!("held twice") };
    assert_eq!(words, "apply, pid 12");
    drop(held);
    assert_eq!(fs::read_to_string(&path).unwrap(), "-pply, pid 12");
    assert!(matches!(machine().lock(&path, "other").unwrap(), Locked::Held(_)));
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_shorter_holder_leaves_nothing_of_a_longer_one() {
    let dir = dir();
    let path = dir.path().join("lock");
    fs::write(&path, "a very long text left by a killed holder").unwrap();
    let Locked::Held(_held) = machine().lock(&path, "short").unwrap() else { panic!("busy") };
    let Locked::Busy(words) = machine().lock(&path, "").unwrap() else { panic!("held twice") };
    assert_eq!(words, "short");
}

#[test]
fn a_removed_lock_file_can_be_locked_anew() {
    let dir = dir();
    let path = dir.path().join("lock");
    let Locked::Held(_old) = machine().lock(&path, "old").unwrap() else { panic!("busy") };
    fs::remove_file(&path).unwrap();
    assert!(matches!(machine().lock(&path, "new").unwrap(), Locked::Held(_)));
}

#[test]
fn a_head_is_the_beginning_of_a_plain_file_however_long_it_is() {
    let dir = dir();
    let (file, link) = (dir.path().join("file"), dir.path().join("link"));
    fs::write(&file, "beginning and more").unwrap();
    symlink(&file, &link).unwrap();
    assert_eq!(machine().head(&file, 9).unwrap(), b"beginning");
    assert_eq!(machine().head(&file, 100).unwrap(), b"beginning and more");
    assert_eq!(fault_of(machine().head(&link, 9)), DiskFault::WrongType);
    assert_eq!(fault_of(machine().head(dir.path(), 9)), DiskFault::WrongType);
    assert_eq!(fault_of(machine().head(&dir.path().join("other"), 9)), DiskFault::Missing);
}

#[test]
fn a_moved_file_takes_a_name_only_where_it_may() {
    let dir = dir();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    fs::write(&a, "a").unwrap();
    fs::write(&b, "b").unwrap();
    assert_eq!(fault_of(machine().move_file(&a, &b, false)), DiskFault::Exists);
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"a".to_vec(), b"b".to_vec()));
    machine().move_file(&a, &b, true).unwrap();
    assert_eq!(fs::read(&b).unwrap(), b"a");
    assert_eq!(fault_of(machine().move_file(&a, &b, true)), DiskFault::Missing);
    machine().move_file(&b, &a, false).unwrap();
    assert_eq!(fs::read(&a).unwrap(), b"a");
}

#[test]
fn a_removed_directory_takes_its_files_along_and_nothing_a_link_names() {
    let dir = dir();
    let (gone, kept) = (dir.path().join("gone"), dir.path().join("kept"));
    for dir in [&gone, &kept] {
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("file"), "x").unwrap();
    }
    symlink(&kept, gone.join("link")).unwrap();
    machine().remove_dir(&gone).unwrap();
    assert!(!gone.exists() && kept.join("file").exists());
    machine().remove_dir(&gone).unwrap();
    fs::create_dir(kept.join("below")).unwrap();
    assert!(machine().remove_dir(&kept).is_err(), "there is a directory in it");
}

#[test]
fn what_others_can_write_is_not_only_roots() {
    assert!(machine().only_root_writes(Path::new("/proc/sys")).unwrap());
    assert!(!machine().only_root_writes(tempfile::tempdir_in("/tmp").unwrap().path()).unwrap());
    assert_eq!(fault_of(machine().only_root_writes(Path::new("/nonexistent"))), DiskFault::Missing);
}
