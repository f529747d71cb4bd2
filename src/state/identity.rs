//! A conversation as its agent reported it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agents::kind::reports::Doing;
use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessKey};

/// A conversation as its agent reported it: what a record keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its id: what it was verified to be, or, before that, what was reported.
    pub id: String,
    /// The id in the report; another than `id` where the agent has two.
    pub reported: String,
    /// The files that reports of it named, the latest first.
    #[serde(default)]
    pub transcripts: Vec<PathBuf>,
    /// Why it was begun or taken up.
    #[serde(default)]
    pub source: Option<String>,
    /// The launch it was reported from.
    pub generation: u32,
    /// The boot.
    pub boot: BootId,
    /// When.
    pub at: Moment,
    /// Who reported it.
    pub reporter: ProcessKey,
    /// Its evidence was found once.
    #[serde(default)]
    pub seen: bool,
    /// A prompt was given.
    #[serde(default)]
    pub prompted: bool,
}

/// What an agent said that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// What.
    pub doing: Doing,
    /// When.
    pub at: Moment,
    /// In which launch.
    pub generation: u32,
}
