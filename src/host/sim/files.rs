//! The simulated file system: what is written, and what of it a power cut leaves.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::super::disk::{DiskError, DiskFault, Lock};
use super::random::Random;

/// One file.
#[derive(Debug, Clone)]
struct File {
    bytes: Vec<u8>,
    /// What a power cut leaves; `None` when it may leave nothing.
    durable: Option<Vec<u8>>,
}

/// Everything on the disk.
#[derive(Debug)]
pub(super) struct Files {
    files: BTreeMap<PathBuf, File>,
    dirs: BTreeSet<PathBuf>,
    /// Directories by another spelling.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// Removed, and the removal not yet on the disk.
    ghosts: BTreeMap<PathBuf, Vec<u8>>,
    /// Held locks.
    pub(super) locks: Rc<RefCell<BTreeSet<PathBuf>>>,
}

/// A lock of farhelm, released when dropped.
#[derive(Debug)]
pub(super) struct HeldLock {
    pub(super) locks: Rc<RefCell<BTreeSet<PathBuf>>>,
    pub(super) path: PathBuf,
}

impl Lock for HeldLock {}

impl Drop for HeldLock {
    fn drop(&mut self) {
        self.locks.borrow_mut().remove(&self.path);
    }
}

pub(super) fn fault(doing: &'static str, path: &Path, fault: DiskFault) -> DiskError {
    let words = match fault {
        DiskFault::Missing => "no such file or directory",
        DiskFault::Exists => "file exists",
        DiskFault::Full => "no space left on device",
        DiskFault::ReadOnly => "read-only file system",
        DiskFault::Denied => "permission denied",
        DiskFault::TooLarge => "larger than allowed",
        DiskFault::WrongType => "not a plain file or directory",
        DiskFault::Other => "input/output error",
    };
    DiskError { doing, path: path.to_owned(), fault, words: words.to_owned() }
}

impl Files {
    pub(super) fn new() -> Self {
        let dirs = [PathBuf::from("/")].into_iter().collect();
        Self {
            files: BTreeMap::new(),
            dirs,
            links: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            locks: Rc::new(RefCell::new(BTreeSet::new())),
        }
    }

    pub(super) fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
        if self.dirs.contains(path) {
            return Err(fault("read", path, DiskFault::WrongType));
        }
        let file = self.files.get(path).ok_or_else(|| fault("read", path, DiskFault::Missing))?;
        if file.bytes.len() as u64 > limit {
            return Err(fault("read", path, DiskFault::TooLarge));
        }
        Ok(file.bytes.clone())
    }

    pub(super) fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError> {
        if self.files.contains_key(dir) {
            return Err(fault("list", dir, DiskFault::WrongType));
        }
        let child = |path: &Path| -> Option<String> {
            (path.parent() == Some(dir)).then(|| path.file_name()?.to_str().map(str::to_owned)).flatten()
        };
        let below = |path: &&PathBuf| path.starts_with(dir);
        let files = self.files.range(dir.to_owned()..).map(|(path, _)| path).take_while(below);
        let dirs = self.dirs.range(dir.to_owned()..).take_while(below);
        let names: BTreeSet<String> = files.chain(dirs).filter_map(|path| child(path)).collect();
        Ok(names.into_iter().collect())
    }

    pub(super) fn make_dir(&mut self, dir: &Path) -> Result<(), DiskError> {
        for part in dir.ancestors() {
            if self.files.contains_key(part) {
                return Err(fault("make directory", dir, DiskFault::WrongType));
            }
        }
        self.dirs.extend(dir.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn check_parent(&self, doing: &'static str, path: &Path) -> Result<(), DiskError> {
        if self.dirs.contains(path) {
            return Err(fault(doing, path, DiskFault::WrongType));
        }
        match path.parent() {
            Some(parent) if self.dirs.contains(parent) => Ok(()),
            _ => Err(fault(doing, path, DiskFault::Missing)),
        }
    }

    /// Replaces one file durably; its directory is synced, so that earlier removals in it are durable too.
    pub(super) fn replace(&mut self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.check_parent("replace", path)?;
        self.ghosts.retain(|ghost, _| ghost.parent() != path.parent());
        self.files.insert(path.to_owned(), File { bytes: bytes.to_owned(), durable: Some(bytes.to_owned()) });
        Ok(())
    }

    pub(super) fn create(&mut self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.check_parent("create", path)?;
        if self.files.contains_key(path) {
            return Err(fault("create", path, DiskFault::Exists));
        }
        self.files.insert(path.to_owned(), File { bytes: bytes.to_owned(), durable: None });
        Ok(())
    }

    pub(super) fn append(&mut self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.check_parent("append to", path)?;
        let file = self.files.entry(path.to_owned()).or_insert(File { bytes: Vec::new(), durable: None });
        file.bytes.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<(), DiskError> {
        if self.dirs.contains(path) {
            return Err(fault("remove", path, DiskFault::WrongType));
        }
        if let Some(durable) = self.files.remove(path).and_then(|file| file.durable) {
            self.ghosts.insert(path.to_owned(), durable);
        }
        Ok(())
    }

    /// Gives a file another name; a power cut may bring the old name back, as it may what was removed.
    pub(super) fn move_file(&mut self, from: &Path, to: &Path, replace: bool) -> Result<(), DiskError> {
        self.check_parent("rename", to)?;
        if !replace && self.files.contains_key(to) {
            return Err(fault("rename", from, DiskFault::Exists));
        }
        let file = self.files.remove(from).ok_or_else(|| fault("rename", from, DiskFault::Missing))?;
        if let Some(durable) = &file.durable {
            self.ghosts.insert(from.to_owned(), durable.clone());
        }
        self.files.insert(to.to_owned(), file);
        Ok(())
    }

    pub(super) fn resolve_dir(&self, dir: &Path) -> Result<PathBuf, DiskError> {
        let real = self.links.get(dir).map_or(dir, PathBuf::as_path);
        if self.files.contains_key(real) {
            return Err(fault("resolve", dir, DiskFault::WrongType));
        }
        if self.dirs.contains(real) { Ok(real.to_owned()) } else { Err(fault("resolve", dir, DiskFault::Missing)) }
    }

    pub(super) fn remove_dir(&mut self, dir: &Path) {
        self.dirs.retain(|path| !path.starts_with(dir));
        self.files.retain(|path, _| !path.starts_with(dir));
    }

    /// The files below a directory are gone for good.
    pub(super) fn lose(&mut self, dir: &Path) {
        self.files.retain(|path, _| !path.starts_with(dir));
        self.ghosts.retain(|path, _| !path.starts_with(dir));
    }

    /// The paths of all files, for checks.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// The power goes: what was not synced is lost, cut, or kept, and what was removed may be back.
    pub(super) fn lose_power(&mut self, random: &mut Random) {
        self.locks.borrow_mut().clear();
        let ghosts = std::mem::take(&mut self.ghosts);
        self.files.retain(|_, file| {
            match (&file.durable, random.below(3)) {
                (Some(durable), 0) => file.bytes.clone_from(durable),
                (None, 0) => return false,
                (_, 1) => {
                    let kept = file.durable.as_ref().map_or(0, Vec::len);
                    let length = random.range(kept as u64, file.bytes.len().max(kept) as u64);
                    file.bytes.truncate(usize::try_from(length).unwrap_or(kept));
                }
                _ => {}
            }
            file.durable = Some(file.bytes.clone());
            true
        });
        for (path, bytes) in ghosts {
            if random.chance(500) {
                let file = File { durable: Some(bytes.clone()), bytes };
                self.files.entry(path).or_insert(file);
            }
        }
    }
}
