//! `farhelm status --json`, as far as the tests read it.

use serde::Deserialize;

/// The whole answer.
#[derive(Debug, Clone, Deserialize)]
pub struct Status {
    pub sessions: Vec<Session>,
}

/// One session of it.
#[derive(Debug, Clone, Deserialize)]
pub struct Session {
    pub name: String,
    #[serde(default)]
    pub id: Option<String>,
    pub sync: String,
    pub health: String,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub pid: Option<i32>,
    #[serde(default)]
    pub pane: Option<String>,
    #[serde(default)]
    pub generation: u32,
    #[serde(default)]
    pub tabs: Vec<Tab>,
}

/// One tab of a session.
#[derive(Debug, Clone, Deserialize)]
pub struct Tab {
    #[serde(default)]
    pub pid: Option<i32>,
}

impl Status {
    /// The session of this name.
    #[track_caller]
    pub fn of(&self, name: &str) -> &Session {
        self.sessions.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no session `{name}` in {self:#?}"))
    }

    /// Whether there is a session of this name.
    pub fn has(&self, name: &str) -> bool {
        self.sessions.iter().any(|s| s.name == name)
    }
}
