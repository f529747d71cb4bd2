//! Who we are: the owner id in stamps, and the bearer token of a session.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::host::disk::Disk;

use super::digest;
use super::record::{OwnerId, SessionId};

/// The account farhelm runs as, on its machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The host's name; stands in where the machine has no id.
    pub hostname: String,
    /// The user's number.
    pub uid: u32,
}

/// The owner id for a machine, a user and a state directory's canonical path. It depends on nothing inside the
/// directory, so that a lost one made again is the same owner.
#[must_use]
pub fn owner(machine: &str, uid: u32, dir: &Path) -> OwnerId {
    let parts = [b"farhelm owner 1".as_slice(), machine.as_bytes(), &uid.to_le_bytes(), dir.as_os_str().as_bytes()];
    OwnerId(digest::hex(&digest::whole("", parts)[..16]))
}

/// The machine's id (`/etc/machine-id`, machine-id(5)), else its name.
#[must_use]
pub fn machine(disk: &dyn Disk, hostname: &str) -> String {
    let id = disk.read(Path::new("/etc/machine-id"), 4096).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match id.as_deref().map(str::trim) {
        Some(id) if !id.is_empty() && id != "uninitialized" => id.to_owned(),
        _ => hostname.to_owned(),
    }
}

/// A new key, as text: 64 hexadecimal digits. Random version 4 ids are the randomness at hand; three of them carry 366
/// random bits.
#[must_use]
pub(super) fn new_key() -> String {
    let ids = [(); 3].map(|()| *uuid::Uuid::new_v4().as_bytes());
    digest::hex(&digest::whole("", ids))
}

/// The bearer token of a session under `key`.
#[must_use]
pub(crate) fn token(key: &str, id: SessionId) -> String {
    digest::hex(&digest::whole("", ["farhelm token 1", key, &id.to_string()]))
}

/// Whether `text` is a key.
#[must_use]
pub(crate) fn is_key(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_depends_on_machine_user_and_directory_and_on_nothing_else() {
        let here = owner("m", 0, Path::new("/s"));
        assert_eq!(here, owner("m", 0, Path::new("/s")));
        assert_eq!(here.0.len(), 32);
        for other in [owner("n", 0, Path::new("/s")), owner("m", 1, Path::new("/s")), owner("m", 0, Path::new("/t"))] {
            assert_ne!(here, other);
        }
    }

    #[test]
    fn tokens_differ_by_session_and_by_key() {
        let ids = [1, 2].map(|n| SessionId(uuid::Uuid::from_u128(n)));
        let keys = [new_key(), new_key()];
        assert!(keys.iter().all(|key| is_key(key)) && keys[0] != keys[1]);
        assert_ne!(token(&keys[0], ids[0]), token(&keys[0], ids[1]));
        assert_ne!(token(&keys[0], ids[0]), token(&keys[1], ids[0]));
        assert_eq!(token(&keys[0], ids[0]), token(&keys[0], ids[0]));
    }
}
