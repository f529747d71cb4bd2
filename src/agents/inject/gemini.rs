//! Gemini CLI: a settings file named by `GEMINI_CLI_SYSTEM_SETTINGS_PATH`, one for each session. Hooks of all settings
//! files run (seen on 0.61.0, 2026-11-30). Gemini reads it only where it and every directory above it are root's and
//! nobody else's to write.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::host::disk::{Disk, DiskFault};

use super::super::kind::reports::Reports;
use super::{Hook, Injected, Launching, Skip};

/// The variable that names the file.
const SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

/// Where a machine's own settings are; a file of ours would stand in their place.
const MACHINE: &str = "/etc/gemini-cli/settings.json";

pub(super) fn inject(reports: &Reports, hook: &Hook<'_>, launching: &Launching<'_>) -> Result<Injected, Skip> {
    if launching.env.contains_key(SETTINGS) {
        return Err(Skip::NotMergeable(SETTINGS));
    }
    let command = hook.command();
    let of = |event: &str| {
        let milliseconds = reports.timeout_of(event) * 1000;
        json!([{"hooks": [{"name": "farhelm", "type": "command", "command": command, "timeout": milliseconds}]}])
    };
    let hooks: BTreeMap<&str, Value> = reports.events().into_iter().map(|event| (event, of(event))).collect();
    // Its clean-up at every start deletes conversations that were resumed and then killed.
    let settings = json!({"general": {"sessionRetention": {"enabled": false}}, "hooks": hooks});
    let file = launching.extensions.join(format!("gemini-{}.json", launching.session));
    let name = file.to_str().ok_or(Skip::NotText)?.to_owned();
    Ok(Injected {
        argv: Vec::new(),
        env: BTreeMap::from([(SETTINGS.to_owned(), name)]),
        files: vec![(file, settings.to_string().into_bytes())],
    })
}

/// Why Gemini would not read a settings file in `extensions`, or must not, in words.
pub(super) fn refused(disk: &dyn Disk, extensions: &Path) -> Option<String> {
    match disk.only_root_writes(extensions) {
        Ok(true) => {}
        Ok(false) => return Some(format!("{} is not only root's to write", extensions.display())),
        Err(error) => return Some(error.to_string()),
    }
    match disk.head(Path::new(MACHINE), 0) {
        Err(error) if error.fault == DiskFault::Missing => None,
        _ => Some(format!("this machine has settings of its own, {MACHINE}")),
    }
}
