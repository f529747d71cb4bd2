//! Gemini CLI: a settings file named by `GEMINI_CLI_SYSTEM_SETTINGS_PATH`, one for each session. Hooks of all settings
//! files run (seen on 0.61.0, 2026-11-30). Gemini reads it only where it and every directory above it are root's and
//! nobody else's to write.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::state::record::SessionId;

use super::super::kind::reports::Reports;
use super::{Hook, Injected, Skip};

/// The variable that names the file.
const SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

pub(super) fn inject(
    reports: &Reports,
    hook: &Hook<'_>,
    extensions: &Path,
    session: SessionId,
) -> Result<Injected, Skip> {
    let command = hook.command();
    let of = |event: &str| {
        let milliseconds = reports.timeout_of(event) * 1000;
        json!([{"hooks": [{"name": "farhelm", "type": "command", "command": command, "timeout": milliseconds}]}])
    };
    let hooks: BTreeMap<&str, Value> = reports.events().into_iter().map(|event| (event, of(event))).collect();
    // Its clean-up at every start deletes conversations that were resumed and then killed.
    let settings = json!({"general": {"sessionRetention": {"enabled": false}}, "hooks": hooks});
    let file = extensions.join(format!("gemini-{session}.json"));
    let name = file.to_str().ok_or(Skip::NotText)?.to_owned();
    Ok(Injected {
        argv: Vec::new(),
        env: BTreeMap::from([(SETTINGS.to_owned(), name)]),
        files: vec![(file, settings.to_string().into_bytes())],
    })
}
