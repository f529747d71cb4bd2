//! Room kept for the day the disk is full: an operator's decision is remembered even then.

use sha2::{Digest, Sha256};

use crate::host::disk::{Disk, DiskError};

use super::layout::Layout;

/// How much is kept, in bytes: enough for many records, each written beside its place before it replaces the old one.
const SIZE: usize = 32 * 1024;

/// Puts the room aside, where that is not done yet.
///
/// # Errors
/// [`DiskError`]: there is none to be had.
pub(super) fn keep(disk: &dyn Disk, layout: &Layout) -> Result<(), DiskError> {
    let file = layout.reserve();
    let kept = disk.list(layout.dir())?.iter().any(|name| file.file_name().is_some_and(|own| own == name.as_str()));
    if kept { Ok(()) } else { disk.replace(&[(file, filling())]) }
}

/// Gives the room back to the disk.
///
/// # Errors
/// [`DiskError`].
pub(super) fn release(disk: &dyn Disk, layout: &Layout) -> Result<(), DiskError> {
    disk.remove(&layout.reserve())
}

/// Bytes that no file system stores in less room than they have.
fn filling() -> Vec<u8> {
    (0_u64..).flat_map(|number| Sha256::digest(number.to_le_bytes())).take(SIZE).collect()
}
