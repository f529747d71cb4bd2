//! Claude Code: `--settings` with JSON. Hooks given so run beside the user's own; only the last `--settings` counts, so a
//! command with one of its own is left alone (seen on 2.1.332, 2026-11-30).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::kind::reports::Reports;
use super::{Hook, Injected};

pub(super) fn inject(reports: &Reports, hook: &Hook<'_>, agent_view: bool) -> Injected {
    let command = hook.command();
    let of = |event: &str| json!([{"hooks": [{"type": "command", "command": command, "timeout": reports.timeout_of(event)}]}]);
    let hooks: BTreeMap<&str, Value> = reports.events().into_iter().map(|event| (event, of(event))).collect();
    let mut settings = json!({"hooks": hooks});
    if !agent_view {
        // Left in an empty composer would move the conversation into a background process under a new id.
        settings["disableAgentView"] = true.into();
    }
    Injected { argv: vec!["--settings".to_owned(), settings.to_string()], ..Injected::default() }
}
