//! Short salted hashes of values that must not be stored as they are.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// 16 hexadecimal digits of the hash of `parts` under `salt`; where one part ends and the next begins counts.
pub(super) fn digest<T: AsRef<str>>(salt: &str, parts: &[T]) -> String {
    let mut digest = Sha256::new();
    for part in std::iter::once(salt).chain(parts.iter().map(AsRef::as_ref)) {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    let mut text = String::with_capacity(16);
    for byte in digest.finalize().iter().take(8) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
