//! What an agent needs before it can work unattended. Only ever read, never written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What must be there before an agent can work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    /// The oldest Node.js it runs on, where it is a script for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Signs of a login or key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<Login>,
    /// Settings of the agent's own that must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Where it keeps which directories are trusted, where that can be read and no choice expresses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust_store: Option<TrustStore>,
    /// Further things to know, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Setup {
    /// Nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Signs of a login: any one suffices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Login {
    /// Variables with a key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Files that a login leaves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Place>,
    /// How to log in, in words.
    pub how: String,
}

/// A setting of the agent's own, in a JSON file, that must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The file.
    pub file: Place,
    /// JSON pointer to the setting.
    pub pointer: String,
    /// What it must be.
    pub equals: serde_json::Value,
    /// What happens otherwise, in words.
    pub why: String,
    /// No conversation is resumed where it does not hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_resume: bool,
}

/// A JSON file that maps trusted directories. One covers what is below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustStore {
    /// The file.
    pub file: Place,
    /// JSON pointer to the map of directories.
    pub directories: String,
    /// The key of a directory's entry that is true when it is trusted.
    pub flag: String,
}

/// A file of the agent's own, wherever its environment puts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The variable that names the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// The directory where that variable is not set; `~` is the home directory.
    pub dir: String,
    /// The file in it.
    pub path: String,
}

impl Place {
    /// The file, for an agent started with `env` by an account with this home.
    #[must_use]
    pub fn resolve(&self, env: &BTreeMap<String, String>, home: &Path) -> PathBuf {
        let named = self.env.as_ref().and_then(|name| env.get(name)).filter(|dir| !dir.is_empty());
        let dir = named.map_or_else(|| in_home(&self.dir, home), PathBuf::from);
        dir.join(&self.path)
    }
}

fn in_home(dir: &str, home: &Path) -> PathBuf {
    match dir.strip_prefix('~') {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None => PathBuf::from(dir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_follows_its_variable_and_else_the_home() {
        let place = Place { env: Some("X_HOME".into()), dir: "~/.x".into(), path: "a/b.json".into() };
        let mut env = BTreeMap::new();
        assert_eq!(place.resolve(&env, Path::new("/home/u")), Path::new("/home/u/.x/a/b.json"));
        env.insert("X_HOME".to_owned(), "/srv/x".to_owned());
        assert_eq!(place.resolve(&env, Path::new("/home/u")), Path::new("/srv/x/a/b.json"));
        let at_home = Place { env: None, dir: "~".into(), path: ".x.json".into() };
        assert_eq!(at_home.resolve(&env, Path::new("/home/u")), Path::new("/home/u/.x.json"));
    }
}
