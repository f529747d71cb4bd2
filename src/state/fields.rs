//! Hashes of launch-class fields: what decides whether a running session differs from the files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::desired::{EnvValue, Permissions, SecretRef, Session, Trust};

use super::digest;

/// Version of the canonical form below; another version is compared as "unknown", never as "changed", until [`renewed`].
/// Readable values ([`Shown`]) keep their form in all versions.
pub const VERSION: u32 = 1;

/// A field whose change restarts a session. The text form (`command`, `env.TOKEN`) is used in records, stamps, plans.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Field {
    /// The kind.
    Kind,
    /// The invocation.
    Command,
    /// The directory's spelling.
    Dir,
    /// `model`.
    Model,
    /// `effort`.
    Effort,
    /// `permissions`.
    Permissions,
    /// `trust`.
    Trust,
    /// `hooks`.
    Hooks,
    /// `hook_trust`.
    HookTrust,
    /// `agent_view`.
    AgentView,
    /// One environment variable, or (`env.*`) a bundle of them.
    Env(String),
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => f.write_str("kind"),
            Self::Command => f.write_str("command"),
            Self::Dir => f.write_str("dir"),
            Self::Model => f.write_str("model"),
            Self::Effort => f.write_str("effort"),
            Self::Permissions => f.write_str("permissions"),
            Self::Trust => f.write_str("trust"),
            Self::Hooks => f.write_str("hooks"),
            Self::HookTrust => f.write_str("hook_trust"),
            Self::AgentView => f.write_str("agent_view"),
            Self::Env(name) => write!(f, "env.{name}"),
        }
    }
}

impl TryFrom<String> for Field {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Ok(match text.as_str() {
            "kind" => Self::Kind,
            "command" => Self::Command,
            "dir" => Self::Dir,
            "model" => Self::Model,
            "effort" => Self::Effort,
            "permissions" => Self::Permissions,
            "trust" => Self::Trust,
            "hooks" => Self::Hooks,
            "hook_trust" => Self::HookTrust,
            "agent_view" => Self::AgentView,
            other => match other.strip_prefix("env.") {
                Some(name) if !name.is_empty() => Self::Env(name.to_owned()),
                _ => return Err(format!("`{other}` is no launch-class field")),
            },
        })
    }
}

impl From<Field> for String {
    fn from(field: Field) -> Self {
        field.to_string()
    }
}

/// Hashes by field: 16 hexadecimal digits each, salted per session.
pub type Fields = BTreeMap<Field, String>;

/// Values that may be shown, by field: never an environment value.
pub type Shown = BTreeMap<Field, Vec<String>>;

/// Fingerprints of the files whose content counts (`on_change: restart`), or, in words, why one cannot be read.
pub type Contents = BTreeMap<PathBuf, Result<String, String>>;

/// The hashes of `session`'s launch-class fields under `salt`. Absent choices have no entry, so that a default spelled
/// out and a default left out are the same. `contents` are those of its [`watched`] files; one that cannot be read says
/// nothing, and nothing may be made of the hash then.
#[must_use]
pub fn hashes(session: &Session, salt: &str, contents: &Contents) -> Fields {
    let mut fields: Fields =
        shown(session).into_iter().map(|(field, value)| (field, digest::short(salt, &value))).collect();
    for (name, value) in &session.env {
        let parts = match value {
            EnvValue::Literal(text) => vec!["literal".to_owned(), text.clone()],
            EnvValue::Secret(reference) => {
                let content = watched_path(reference).and_then(|path| contents.get(path)?.clone().ok());
                ["reference".to_owned(), canonical(reference)].into_iter().chain(content).collect()
            }
        };
        fields.insert(Field::Env(name.clone()), digest::short(salt, &parts));
    }
    if !session.env_bundles.is_empty() {
        let parts: Vec<String> = session.env_bundles.iter().map(canonical).collect();
        fields.insert(Field::Env("*".to_owned()), digest::short(salt, &parts));
    }
    fields
}

/// The hashes, in the present version, of what a session runs with whose own hashes are of another: by the readable values
/// of its last launch, where they are known. What was never readable counts as what the files say.
#[must_use]
pub fn renewed(old: &Shown, session: &Session, salt: &str, contents: &Contents) -> Fields {
    let mut fields = hashes(session, salt, contents);
    if !old.is_empty() {
        fields.retain(|field, _| matches!(field, Field::Env(_)));
        fields.extend(old.iter().map(|(field, value)| (field.clone(), digest::short(salt, value))));
    }
    fields
}

/// The references of `session` whose content counts.
pub fn watched(session: &Session) -> impl Iterator<Item = &SecretRef> {
    let references = session.env.values().filter_map(|value| match value {
        EnvValue::Secret(reference) => Some(reference),
        EnvValue::Literal(_) => None,
    });
    references.filter(|reference| watched_path(reference).is_some())
}

/// The file of a reference whose content counts.
#[must_use]
pub fn watched_path(reference: &SecretRef) -> Option<&PathBuf> {
    match reference {
        SecretRef::File { path, restart_on_change: true } => Some(path),
        SecretRef::File { .. } | SecretRef::Command { .. } => None,
    }
}

/// The values of `session`'s launch-class fields that a plan may show.
#[must_use]
pub fn shown(session: &Session) -> Shown {
    let mut values = Shown::new();
    values.insert(Field::Kind, vec![session.kind.to_string()]);
    values.insert(Field::Command, session.invocation.clone());
    values.insert(Field::Dir, vec![session.dir.spelling.clone()]);
    let choices = &session.choices;
    for (field, value) in [(Field::Model, &choices.model), (Field::Effort, &choices.effort)] {
        if let Some(value) = value {
            values.insert(field, vec![value.clone()]);
        }
    }
    if choices.permissions == Permissions::Yolo {
        values.insert(Field::Permissions, vec!["yolo".to_owned()]);
    }
    if let Some(trust) = choices.trust {
        let word = if trust == Trust::Trusted { "trusted" } else { "untrusted" };
        values.insert(Field::Trust, vec![word.to_owned()]);
    }
    if !session.hooks {
        values.insert(Field::Hooks, vec!["off".to_owned()]);
    }
    if choices.bypass_hook_trust {
        values.insert(Field::HookTrust, vec!["bypass".to_owned()]);
    }
    if choices.agent_view {
        values.insert(Field::AgentView, vec!["on".to_owned()]);
    }
    values
}

fn canonical<T: Serialize>(value: &T) -> String {
    // Plain data types with string keys: serialising them cannot fail; an empty text would only cost a restart.
    serde_json::to_string(value).unwrap_or_default()
}
