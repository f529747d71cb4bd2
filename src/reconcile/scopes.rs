//! Names of scopes: derived from the session's id, never stored.

use crate::spec::name::Name;
use crate::state::record::SessionId;

/// The scope of an agent's launch.
#[must_use]
pub fn agent(session: SessionId, generation: u32) -> String {
    format!("farhelm-{session}-{generation}.scope")
}

/// The scope of a tab.
#[must_use]
pub fn tab(session: SessionId, tab: &Name) -> String {
    format!("farhelm-{session}-tab-{tab}.scope")
}
