//! Hashes of values that must not be stored as they are, or that are too long to be.

use sha2::{Digest, Sha256};

/// The SHA-256 of `salt` and of `parts`, each with its length, so that no two lists of parts have the same.
#[must_use]
pub fn whole<T: AsRef<[u8]>>(salt: &str, parts: impl IntoIterator<Item = T>) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(salt.as_bytes());
    for part in parts {
        let part = part.as_ref();
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// The first 16 hexadecimal digits of [`whole`].
#[must_use]
pub fn short<T: AsRef<[u8]>>(salt: &str, parts: impl IntoIterator<Item = T>) -> String {
    hex(&whole(salt, parts)[..8])
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
