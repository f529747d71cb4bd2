//! Pi and omp: `-e` with an extension file (seen on Pi 1.6.0 and 0.73.1, omp 18.2.3, 2026-11-30).
//!
//! Never a file inside the session's directory: both would ask whether to trust it.

use std::collections::BTreeMap;
use std::path::Path;

use super::{HOOK_ENV, Hook, Injected, Skip};

/// The extension.
const EXTENSION: &str = include_str!("../extensions/pi.ts");

pub(super) fn inject(hook: &Hook<'_>, extensions: &Path) -> Result<Injected, Skip> {
    let file = extensions.join("pi.ts");
    let argument = file.to_str().ok_or(Skip::NotText)?.to_owned();
    Ok(Injected {
        argv: vec!["-e".to_owned(), argument],
        env: BTreeMap::from([(HOOK_ENV.to_owned(), hook.json())]),
        files: vec![(file, EXTENSION.as_bytes().to_vec())],
    })
}
