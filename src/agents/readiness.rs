//! What is known of an installed agent, compared with what its kind says. Pure.

use std::cmp::Ordering;
use std::path::Path;

use serde_json::Value;

use super::kind::{Setting, TrustStore, Verified};

/// An installed version beside the one that a kind's facts were seen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The very same.
    Verified,
    /// Older.
    Older,
    /// Newer.
    Newer,
    /// The kind was never verified.
    Unknown,
}

/// How an installed version stands beside the verified one.
#[must_use]
pub fn standing(verified: Option<&Verified>, installed: &str) -> Standing {
    let Some(verified) = verified else { return Standing::Unknown };
    match compare(installed, &verified.version) {
        Ordering::Less => Standing::Older,
        Ordering::Equal => Standing::Verified,
        Ordering::Greater => Standing::Newer,
    }
}

/// The first version in what a program prints for `--version`: `codex-cli 0.171.0`, `omp/18.2.3`, `v22.1.0`.
#[must_use]
pub fn version_in(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || "/()\"',;".contains(c));
    let bare = words.map(|word| word.strip_prefix('v').unwrap_or(word));
    bare.into_iter().find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && numbers(word).len() > 1)
}

/// Compares versions by their numbers; what is missing is 0.
#[must_use]
pub fn compare(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (numbers(one), numbers(other));
    let length = one.len().max(other.len());
    one.resize(length, 0);
    other.resize(length, 0);
    one.cmp(&other)
}

/// The leading numbers between dots: of `2.1.3-beta.4` 2, 1 and 3.
fn numbers(version: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    for part in version.split('.') {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let Ok(number) = digits.parse() else { break };
        numbers.push(number);
        if digits.len() < part.len() {
            break;
        }
    }
    numbers
}

/// Whether a setting holds in the agent's own file; `None` where that file is not there.
#[must_use]
pub fn holds(setting: &Setting, document: Option<&Value>) -> bool {
    document.and_then(|document| document.pointer(&setting.pointer)) == Some(&setting.equals)
}

/// Whether a directory, or one above it, is trusted in the agent's own store.
#[must_use]
pub fn trusts(store: &TrustStore, document: Option<&Value>, dir: &Path) -> bool {
    let entries = document.and_then(|document| document.pointer(&store.directories)).and_then(Value::as_object);
    let Some(entries) = entries else { return false };
    let trusted = |dir: &Path| {
        let entry = dir.to_str().and_then(|dir| entries.get(dir));
        entry.and_then(|entry| entry.get(&store.flag)) == Some(&Value::Bool(true))
    };
    dir.ancestors().any(trusted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::catalogue::builtin;

    #[test]
    fn a_version_is_found_in_what_agents_print() {
        for (text, version) in [
            ("2.1.332 (Claude Code)", "2.1.332"),
            ("codex-cli 0.171.0", "0.171.0"),
            ("grok 1.0.41 (4220f3b224a6)", "1.0.41"),
            ("omp/18.2.3", "18.2.3"),
            ("v22.23.3", "22.23.3"),
            ("2026.09.02-c22c1a3", "2026.09.02-c22c1a3"),
        ] {
            assert_eq!(version_in(text), Some(version), "{text}");
        }
        for text in ["", "unknown option", "7", "v."] {
            assert_eq!(version_in(text), None, "{text}");
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(compare("2.1.9", "2.1.10"), Ordering::Less);
        assert_eq!(compare("2.1", "2.1.0"), Ordering::Equal);
        assert_eq!(compare("3.0.0-beta.1", "2.9"), Ordering::Greater);
        let claude = builtin()["claude"].verified.as_ref();
        assert_eq!(standing(claude, "2.1.332"), Standing::Verified);
        assert_eq!(standing(claude, "1.9.0"), Standing::Older);
        assert_eq!(standing(claude, "2.2.0"), Standing::Newer);
        assert_eq!(standing(None, "1.0"), Standing::Unknown);
    }

    #[test]
    fn a_setting_holds_only_when_it_is_written() {
        let setting = &builtin()["gemini"].setup.settings[0];
        assert!(holds(setting, Some(&json!({"general": {"sessionRetention": {"enabled": false}}}))));
        assert!(!holds(setting, Some(&json!({"general": {"sessionRetention": {"enabled": true}}}))));
        assert!(!holds(setting, Some(&json!({}))) && !holds(setting, None));
    }

    #[test]
    fn trust_covers_what_is_below_a_directory() {
        let store = builtin()["claude"].setup.trust_store.as_ref().unwrap();
        let document = json!({"projects": {"/src": {"hasTrustDialogAccepted": true}, "/tmp": {}}});
        assert!(trusts(store, Some(&document), Path::new("/src/a b")));
        assert!(!trusts(store, Some(&document), Path::new("/tmp/x")));
        assert!(!trusts(store, Some(&json!([])), Path::new("/src")) && !trusts(store, None, Path::new("/src")));
    }
}
