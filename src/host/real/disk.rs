//! Files: atomic and durable where the port promises it, never through a link, never without a bound.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::Machine;
use crate::host::disk::{Disk, DiskError, DiskFault, Locked};

mod lock;
mod replace;

impl Disk for Machine {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
        let failed = |error| fault("read", path, &error);
        // Without O_NONBLOCK, opening a pipe would wait for its writer.
        let file = open(OpenOptions::new().read(true), path, OFlags::NONBLOCK).map_err(failed)?;
        let size = plain(&file).map_err(failed)?;
        let too_large = || DiskError {
            doing: "read",
            path: path.to_owned(),
            fault: DiskFault::TooLarge,
            words: format!("it is larger than {limit} bytes"),
        };
        if size > limit {
            return Err(too_large());
        }
        // Room for it all and for the end, so that two reads do.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
    }

    fn head(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
        let failed = |error| fault("read", path, &error);
        let file = open(OpenOptions::new().read(true), path, OFlags::NONBLOCK).map_err(failed)?;
        plain(&file).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError> {
        let failed = |error| fault("list", dir, &error);
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            // farhelm gives no file a name that is not UTF-8.
            if let Ok(name) = entry.map_err(failed)?.file_name().into_string()
                && !replace::is_unfinished(&name)
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn make_dir(&self, dir: &Path) -> Result<(), DiskError> {
        make_dir(dir).map_err(|error| fault("make", dir, &error))
    }

    fn replace(&self, files: &[(PathBuf, Vec<u8>)]) -> Result<(), DiskError> {
        replace::all(files)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let write = || {
            let mut file = open(OpenOptions::new().write(true).create_new(true), path, OFlags::empty())?;
            file.write_all(bytes).inspect_err(|_| {
                // Half a file must not pass for one.
                let _ = fs::remove_file(path);
            })
        };
        write().map_err(|error| fault("create", path, &error))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let write = || {
            let mut file = open(OpenOptions::new().append(true).create(true), path, OFlags::NONBLOCK)?;
            plain(&file)?;
            file.write_all(bytes)
        };
        write().map_err(|error| fault("append to", path, &error))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault("remove", path, &error)),
            _ => Ok(()),
        }
    }

    fn move_file(&self, from: &Path, to: &Path, replace: bool) -> Result<(), DiskError> {
        let flags = if replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        renameat_with(CWD, from, CWD, to, flags).map_err(|error| fault("rename", from, &error.into()))
    }

    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError> {
        let remove = || {
            for entry in fs::read_dir(dir)? {
                fs::remove_file(entry?.path())?;
            }
            fs::remove_dir(dir)
        };
        match remove() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault("remove", dir, &error)),
            _ => Ok(()),
        }
    }

    fn resolve_dir(&self, dir: &Path) -> Result<PathBuf, DiskError> {
        let resolve = || {
            let path = fs::canonicalize(dir)?;
            if fs::metadata(&path)?.is_dir() { Ok(path) } else { Err(Errno::NOTDIR.into()) }
        };
        resolve().map_err(|error| fault("resolve", dir, &error))
    }

    fn only_root_writes(&self, dir: &Path) -> Result<bool, DiskError> {
        let look = || {
            let dir = fs::canonicalize(dir)?;
            let roots =
                |part: &Path| fs::symlink_metadata(part).map(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0);
            dir.ancestors().try_fold(true, |so_far, part| Ok(so_far && roots(part)?))
        };
        look().map_err(|error| fault("look at", dir, &error))
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Locked, DiskError> {
        lock::try_lock(path, holder).map_err(|error| fault("lock", path, &error))
    }
}

/// The kind of error for what is no plain file; the system has none of its own.
const NOT_PLAIN: io::ErrorKind = io::ErrorKind::InvalidInput;

/// Opens a file, private where it is made, and never through a link.
fn open(options: &mut OpenOptions, path: &Path, flags: OFlags) -> io::Result<File> {
    options.mode(0o600).custom_flags((flags | OFlags::NOFOLLOW).bits().cast_signed()).open(path)
}

/// The size of a plain file; an error for anything else.
fn plain(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return Ok(metadata.len());
    }
    Err(if metadata.is_dir() { Errno::ISDIR.into() } else { io::Error::new(NOT_PLAIN, "it is not a plain file") })
}

/// Makes `dir` and its missing parents, and syncs what now names them.
fn make_dir(dir: &Path) -> io::Result<()> {
    if fs::metadata(dir).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    let parent = parent(dir);
    if parent != dir {
        make_dir(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => File::open(parent)?.sync_all(),
    }
}

/// The directory that holds `path`.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

/// The port's error for the system's.
fn fault(doing: &'static str, path: &Path, error: &io::Error) -> DiskError {
    let raw = error.raw_os_error().map(Errno::from_raw_os_error);
    let fault = match error.kind() {
        io::ErrorKind::NotFound => DiskFault::Missing,
        io::ErrorKind::AlreadyExists => DiskFault::Exists,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskFault::Full,
        io::ErrorKind::ReadOnlyFilesystem => DiskFault::ReadOnly,
        io::ErrorKind::PermissionDenied => DiskFault::Denied,
        io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory | NOT_PLAIN => DiskFault::WrongType,
        // A link where none is followed, or a pipe without a reader.
        _ if matches!(raw, Some(Errno::LOOP | Errno::NXIO)) => DiskFault::WrongType,
        _ => DiskFault::Other,
    };
    let words = if raw == Some(Errno::LOOP) {
        "it is a symbolic link, or behind a loop of them".to_owned()
    } else {
        error.to_string()
    };
    DiskError { doing, path: path.to_owned(), fault, words }
}

#[cfg(test)]
mod tests;
