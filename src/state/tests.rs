//! What the tests of this module share: a disk on `std::fs`, one that stops, and a record.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::host::clock::Moment;
use crate::host::disk::{Disk, DiskError, DiskFault, Lock, Locked};
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::{PaneId, Socket};
use crate::spec::name::Name;

use super::fields::{Fields, Shown};
use super::owner::Account;
use super::record::{Launch, Phase, RECORD_VERSION, Record, RecordedDir, SessionId};
use super::store::Store;

mod crash;
mod files;
mod lock;
mod store;

/// A temporary state directory and the disk it is on.
pub struct Place {
    dir: tempfile::TempDir,
    pub disk: TestDisk,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), disk: TestDisk::default() }
    }

    pub fn dir(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("state")
    }

    pub fn store(&self) -> Store<'_> {
        Store::open(&self.disk, &self.dir(), &Account { hostname: "host".into(), uid: 7 }).unwrap()
    }
}

pub fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub fn id(number: u128) -> SessionId {
    SessionId(uuid::Uuid::from_u128(number))
}

pub fn moment(wall_ms: i64) -> Moment {
    Moment { boot_ms: u64::try_from(wall_ms).unwrap(), wall_ms }
}

pub fn record(number: u128, fleet: &str, session: &str) -> Record {
    Record {
        version: RECORD_VERSION,
        id: id(number),
        fleet: name(fleet),
        name: name(session),
        kind: name("claude"),
        dir: RecordedDir { spelling: "~/src".into(), canonical: "/home/u/src".into() },
        salt: "s4lt".into(),
        fields_version: super::fields::VERSION,
        fields: Fields::new(),
        shown: Shown::new(),
        protect: false,
        hold: None,
        sources: vec!["/etc/fleet.yaml".into()],
        conversation: None,
        identity: None,
        activity: None,
        prompt_delivered: None,
        launches: vec![launch(1)],
        tabs: Default::default(),
        failures: 0,
        title: None,
        stop_grace_ms: None,
        ending: false,
        leaving: Vec::new(),
    }
}

pub fn launch(generation: u32) -> Launch {
    Launch {
        generation,
        phase: Phase::Running,
        at: moment(1000),
        boot: BootId("boot-1".into()),
        socket: Socket("/tmp/tmux/farhelm".into()),
        server: Some(ProcessKey { pid: 100, start: 1 }),
        pane: Some(PaneId("%1".into())),
        process: Some(ProcessKey { pid: 200, start: 2 }),
        agent: None,
        scoped: false,
        resumed: false,
        prompt: None,
        hook: crate::state::record::HookState::None,
        ran: false,
        over: None,
        refused: None,
        contradicted: None,
        ended: None,
    }
}

/// A disk on `std::fs` that can be told to stop: after `left` more effects every call fails, as if the process had been
/// killed there.
#[derive(Default)]
pub struct TestDisk {
    pub left: Cell<Option<usize>>,
    /// What every effect fails with.
    pub fault: Cell<Option<DiskFault>>,
    /// Paths whose reading fails.
    pub unreadable: RefCell<Vec<PathBuf>>,
}

#[derive(Debug)]
struct HeldFile(#[expect(dead_code, reason = "closing it frees the lock")] fs::File);
impl Lock for HeldFile {}

fn failed(doing: &'static str, path: &Path, fault: DiskFault) -> DiskError {
    DiskError { doing, path: path.to_owned(), fault, words: format!("{fault:?}") }
}

fn failure(doing: &'static str, path: &Path) -> impl Fn(std::io::Error) -> DiskError {
    let path = path.to_owned();
    move |error| {
        let fault = match error.kind() {
            ErrorKind::NotFound => DiskFault::Missing,
            ErrorKind::AlreadyExists => DiskFault::Exists,
            ErrorKind::PermissionDenied => DiskFault::Denied,
            ErrorKind::IsADirectory | ErrorKind::NotADirectory => DiskFault::WrongType,
            _ => DiskFault::Other,
        };
        failed(doing, &path, fault)
    }
}

impl TestDisk {
    fn effect(&self, doing: &'static str, path: &Path) -> Result<(), DiskError> {
        if let Some(fault) = self.fault.get() {
            return Err(failed(doing, path, fault));
        }
        match self.left.get() {
            Some(0) => Err(failed(doing, path, DiskFault::Other)),
            Some(left) => {
                self.left.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Disk for TestDisk {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
        if self.unreadable.borrow().iter().any(|other| other == path) {
            return Err(failed("read", path, DiskFault::Denied));
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(failure("read", path))?;
        file.take(limit + 1).read_to_end(&mut bytes).map_err(failure("read", path))?;
        if bytes.len() as u64 > limit { Err(failed("read", path, DiskFault::TooLarge)) } else { Ok(bytes) }
    }

    fn head(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
        let mut bytes = self.read(path, u64::MAX - 1)?;
        bytes.truncate(usize::try_from(limit).unwrap());
        Ok(bytes)
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError> {
        let Ok(entries) = fs::read_dir(dir) else { return Ok(Vec::new()) };
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        Ok(names)
    }

    fn make_dir(&self, dir: &Path) -> Result<(), DiskError> {
        fs::create_dir_all(dir).map_err(failure("make", dir))
    }

    fn replace(&self, files: &[(PathBuf, Vec<u8>)]) -> Result<(), DiskError> {
        for (path, bytes) in files {
            let temporary = path.with_extension("tmp");
            self.effect("write", path)?;
            fs::write(&temporary, &bytes[..bytes.len() / 2]).map_err(failure("write", path))?;
            self.effect("write", path)?;
            fs::write(&temporary, bytes).map_err(failure("write", path))?;
            fs::rename(&temporary, path).map_err(failure("write", path))?;
        }
        Ok(())
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.effect("create", path)?;
        let mut file = fs::File::create_new(path).map_err(failure("create", path))?;
        file.write_all(bytes).map_err(failure("create", path))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.effect("append", path)?;
        let mut file = fs::File::options().append(true).create(true).open(path).map_err(failure("append", path))?;
        file.write_all(bytes).map_err(failure("append", path))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.effect("remove", path)?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failure("remove", path)(error)),
            _ => Ok(()),
        }
    }

    fn move_file(&self, from: &Path, to: &Path, replace: bool) -> Result<(), DiskError> {
        self.effect("rename", from)?;
        if !replace && to.exists() {
            return Err(failed("rename", from, DiskFault::Exists));
        }
        fs::rename(from, to).map_err(failure("rename", from))
    }

    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.effect("remove", dir)?;
        fs::remove_dir_all(dir).map_err(failure("remove", dir))
    }

    fn resolve_dir(&self, dir: &Path) -> Result<PathBuf, DiskError> {
        dir.canonicalize().map_err(failure("resolve", dir))
    }

    fn only_root_writes(&self, _: &Path) -> Result<bool, DiskError> {
        Ok(false)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Locked, DiskError> {
        let options = fs::File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(failure("lock", path))?;
        if file.try_lock().is_err() {
            return Ok(Locked::Busy(fs::read_to_string(path).unwrap_or_default()));
        }
        file.set_len(0).map_err(failure("lock", path))?;
        file.write_all(holder.as_bytes()).map_err(failure("lock", path))?;
        Ok(Locked::Held(Box::new(HeldFile(file))))
    }
}
