//! Sessions that agents asked for: `children/<fleet>.json`.
//!
//! They are part of the fleet as if its files said so, for as long as the session that asked is, unless an operator keeps
//! them. What ended stays for a while, so that a request that is made twice is known again.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::desired::{Departure, Desired, Dir, Session};
use crate::spec::name::Name;

use super::record::{RECORD_VERSION, SessionId, TOMBSTONE_DAYS};

/// All of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Children {
    /// [`RECORD_VERSION`].
    pub version: u32,
    /// The oldest first.
    pub children: Vec<Child>,
}

impl Default for Children {
    fn default() -> Self {
        Self { version: RECORD_VERSION, children: Vec::new() }
    }
}

/// A session that an agent asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// Its name.
    pub name: Name,
    /// The session that asked, as it was called then.
    pub parent: Name,
    /// The session that asked.
    pub parent_id: SessionId,
    /// 1 for a child of a session of the files.
    pub depth: u32,
    /// What it is made from: a key of [`crate::config::desired::Spawn::templates`].
    pub profile: Name,
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// Its prompt.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Its title.
    #[serde(default)]
    pub title: Option<String>,
    /// The key by which the same request is known again.
    #[serde(default)]
    pub key: Option<String>,
    /// Hash of what was asked.
    pub request: String,
    /// When, in milliseconds since 1970.
    pub asked_ms: i64,
    /// It stays when its parent leaves.
    #[serde(default)]
    pub kept: bool,
    /// It is not to be any more.
    #[serde(default)]
    pub ended: Option<Ended>,
}

/// How a child came to be no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// What happened.
    pub how: End,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// What ends a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Somebody said that it is no longer wanted.
    Dismissed,
    /// It was reaped.
    Reaped,
    /// The files have a session of its name now.
    Declared,
}

impl Children {
    /// Those that are to be.
    pub fn live(&self) -> impl Iterator<Item = &Child> {
        self.children.iter().filter(|child| child.ended.is_none())
    }

    /// A child that is to be.
    #[must_use]
    pub fn get(&self, name: &Name) -> Option<&Child> {
        self.live().find(|child| child.name == *name)
    }

    /// Ends those that are to be and that `which` names. Returns whether there was one.
    pub fn end(&mut self, how: End, at_ms: i64, which: impl Fn(&Child) -> bool) -> bool {
        let mut any = false;
        for child in self.children.iter_mut().filter(|child| child.ended.is_none()).filter(|child| which(child)) {
            child.ended = Some(Ended { how, at_ms });
            any = true;
        }
        any
    }

    /// Drops what ended so long ago that its tombstone is gone too.
    pub fn prune(&mut self, now_ms: i64) {
        let limit = TOMBSTONE_DAYS * 24 * 60 * 60 * 1000;
        self.children.retain(|child| child.ended.is_none_or(|ended| now_ms.saturating_sub(ended.at_ms) <= limit));
    }

    /// The fleet with its children. `named` says what a recorded session is called now.
    #[must_use]
    pub fn join<'d>(&self, desired: &'d Desired, named: impl Fn(SessionId) -> Option<Name>) -> Cow<'d, Desired> {
        if self.children.is_empty() {
            return Cow::Borrowed(desired);
        }
        let mut whole = desired.clone();
        let moved: BTreeMap<&Name, &Name> =
            desired.sessions.values().filter_map(|s| Some((s.moved_from.as_ref()?, &s.name))).collect();
        // Parents before their children.
        let mut children: Vec<&Child> = self.children.iter().collect();
        children.sort_by_key(|child| child.depth);
        let mut live = BTreeSet::new();
        for child in children {
            if desired.sessions.contains_key(&child.name) || moved.contains_key(&child.name) {
                // The files have taken it over.
                continue;
            }
            let parent = named(child.parent_id).unwrap_or_else(|| child.parent.clone());
            let parent = moved.get(&parent).map_or(parent, |now| (*now).clone());
            match joined(child, &parent, &whole) {
                Ok(session) => {
                    live.insert(&child.name);
                    whole.departed.remove(&child.name);
                    whole.sessions.insert(child.name.clone(), session);
                }
                // An earlier one of its name says nothing of this one.
                Err(_) if live.contains(&child.name) => {}
                Err(why) => drop(whole.departed.insert(child.name.clone(), why)),
            }
        }
        Cow::Owned(whole)
    }
}

/// The session of a child, or why it has none.
fn joined(child: &Child, parent: &Name, fleet: &Desired) -> Result<Session, Departure> {
    if child.ended.is_some() {
        return Err(Departure::Dismissed);
    }
    if !child.kept && !fleet.sessions.contains_key(parent) {
        return Err(Departure::ParentGone(parent.clone()));
    }
    let template = fleet.spawn.templates.get(&child.profile);
    let template = template.ok_or_else(|| Departure::ProfileGone(child.profile.clone()))?;
    Ok(Session {
        name: child.name.clone(),
        parent: Some(parent.clone()),
        dir: Dir { spelling: child.dir.display().to_string(), path: child.dir.clone() },
        prompt: child.prompt.clone().or_else(|| template.prompt.clone()),
        title: child.title.clone().or_else(|| template.title.clone()),
        ..template.clone()
    })
}

#[cfg(test)]
mod tests;
