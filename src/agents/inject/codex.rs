//! Codex: `-c` with TOML (seen on 0.171.0, 2026-11-30).
//!
//! Codex asks before it runs a hook it does not know. `hooks.state` with a hash trusts exactly ours, for this run, with
//! nothing saved. Any `-c` also keeps Codex out of its shared background process, whose hooks would not descend from the
//! terminal.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::state::digest;

use super::super::kind::reports::Reports;
use super::{Hook, Injected};

/// How Codex names the source of `-c` values in `hooks.state`.
const SOURCE: &str = "/<session-flags>/config.toml";

pub(super) fn inject(reports: &Reports, hook: &Hook<'_>, bypass_trust: bool) -> Injected {
    let command = hook.command();
    let mut argv = Vec::new();
    let mut config = |value: String| argv.extend(["-c".to_owned(), value]);
    config("features.hooks=true".to_owned());
    let mut trusted = Vec::new();
    for event in reports.events() {
        let (timeout, text) = (reports.timeout_of(event), toml_string(&command));
        config(format!(r#"hooks.{event}=[{{hooks=[{{type="command",command={text},timeout={timeout}}}]}}]"#));
        let name = snake_case(event);
        let hash = trusted_hash(&name, &command, timeout);
        trusted.push(format!(r#""{SOURCE}:{name}:0:0"={{trusted_hash="sha256:{hash}"}}"#));
    }
    if bypass_trust {
        argv.push("--dangerously-bypass-hook-trust".to_owned());
    } else {
        config(format!("hooks.state={{{}}}", trusted.join(",")));
    }
    Injected { argv, ..Injected::default() }
}

/// The hash by which Codex knows a hook again: of its canonical JSON, keys sorted, without spaces.
fn trusted_hash(event: &str, command: &str, timeout: u32) -> String {
    let hook = json!({"async": false, "command": command, "timeout": timeout, "type": "command"});
    // `serde_json` sorts the keys of an object.
    let canonical = json!({"event_name": event, "hooks": [hook]}).to_string();
    digest::hex(&Sha256::digest(canonical))
}

/// `UserPromptSubmit` as `user_prompt_submit`.
fn snake_case(event: &str) -> String {
    let mut name = String::new();
    for (place, c) in event.chars().enumerate() {
        if c.is_ascii_uppercase() && place > 0 {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// `text` as a TOML basic string: JSON's escapes, and DEL, which JSON leaves as it is.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_the_canonical_form() {
        // sha256sum of {"event_name":"session_start","hooks":[{"async":false,"command":"/x internal hook","timeout":10,"type":"command"}]}
        assert_eq!(trusted_hash("session_start", "/x internal hook", 10), HASH);
    }

    #[test]
    fn event_names_are_written_as_codex_writes_them_in_its_state() {
        for (event, name) in
            [("SessionStart", "session_start"), ("UserPromptSubmit", "user_prompt_submit"), ("Stop", "stop")]
        {
            assert_eq!(snake_case(event), name);
        }
    }

    #[test]
    fn a_command_is_one_toml_string_whatever_is_in_it() {
        assert_eq!(toml_string("/a \"b\"\\'ü\n\u{7f}"), r#""/a \"b\"\\'ü\n\u007f""#);
    }

    const HASH: &str = "8a366f2e360b7bed917a79a9d349066b82f0e4b3838daf795848f9b91e3f89e5";
}
