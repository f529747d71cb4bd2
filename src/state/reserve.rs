//! Room kept for the day the disk is full: an operator's decision is remembered even then.

use sha2::{Digest, Sha256};

use crate::host::disk::{Disk, DiskError};

use super::layout::Layout;

/// How much is kept, in bytes: enough for many records, each written beside its place before it replaces the old one.
const SIZE: usize = 32 * 1024;

/// Puts the room aside, where that is not done yet and more than as much again is left: what was given back a moment ago
/// is not taken away from whoever needed it.
///
/// # Errors
/// [`DiskError`]: there is none to be had.
pub(super) fn keep(disk: &dyn Disk, layout: &Layout) -> Result<(), DiskError> {
    let file = layout.reserve();
    let kept = disk.list(layout.dir())?.iter().any(|name| file.file_name().is_some_and(|own| own == name.as_str()));
    if kept {
        return Ok(());
    }
    let probe = disk.replace(&[(file.clone(), filling(2 * SIZE))]);
    let result = probe.and_then(|()| disk.replace(&[(file, filling(SIZE))]));
    if result.is_err() {
        let _ = release(disk, layout);
    }
    result
}

/// Gives the room back to the disk.
///
/// # Errors
/// [`DiskError`].
pub(super) fn release(disk: &dyn Disk, layout: &Layout) -> Result<(), DiskError> {
    disk.remove(&layout.reserve())
}

/// Bytes that no file system stores in less room than they have.
fn filling(size: usize) -> Vec<u8> {
    (0_u64..).flat_map(|number| Sha256::digest(number.to_le_bytes())).take(size).collect()
}
