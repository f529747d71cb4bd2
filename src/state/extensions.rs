//! Files that agents load for their hooks, `extensions/`: farhelm's own, never an agent's or its user's.
//!
//! What an agent runs must be what this farhelm wrote: the bytes are looked at before each launch.

use std::path::PathBuf;

use crate::host::disk::{Disk, DiskFault};

use super::error::StateError;

/// The largest of these files, in bytes.
const MAX: u64 = 1 << 20;

/// Sees to it that each of `files` holds exactly these bytes, and says whether any had to be written.
///
/// # Errors
/// [`StateError::Disk`]: the launch must go without its hook.
pub fn keep(disk: &dyn Disk, files: &[(PathBuf, Vec<u8>)]) -> Result<bool, StateError> {
    let mut wrong = Vec::new();
    for (path, bytes) in files {
        match disk.read(path, MAX) {
            Ok(there) if there == *bytes => {}
            Ok(_) => wrong.push((path.clone(), bytes.clone())),
            Err(error) if matches!(error.fault, DiskFault::Missing | DiskFault::TooLarge | DiskFault::WrongType) => {
                wrong.push((path.clone(), bytes.clone()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if wrong.is_empty() {
        return Ok(false);
    }
    disk.replace(&wrong)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::host::real::{Machine, Settings};

    #[test]
    fn a_file_is_written_when_it_is_not_exactly_what_it_must_be() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::new(Settings::default()).unwrap();
        let path = dir.path().join("pi.ts");
        let files = [(path.clone(), b"ours".to_vec())];
        assert!(keep(&machine, &files).unwrap(), "missing");
        assert!(!keep(&machine, &files).unwrap(), "right");
        fs::write(&path, "ours, and more").unwrap();
        assert!(keep(&machine, &files).unwrap(), "changed");
        let other = dir.path().join("other");
        fs::write(&other, "ours").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&other, &path).unwrap();
        assert!(keep(&machine, &files).unwrap(), "a link");
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert!(!path.is_symlink());
    }
}
