//! What keeps sessions from being as the files say: told when it begins, not at every look. Pure.

use std::collections::BTreeSet;

use crate::plan::action::{Action, Item};
use crate::plan::reason::Reason;
use crate::spec::name::Name;
use crate::state::events::Outcome;

/// What is so with a session, without anything that changes while it stays so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    session: Name,
    sign: &'static str,
    codes: Vec<String>,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The session.
    pub session: Name,
    /// What of it: `waiting`, `blocked`, `unknown`, `held back`.
    pub sign: &'static str,
    /// The code of the first reason.
    pub code: String,
    /// All reasons, in words.
    pub words: String,
}

impl Condition {
    /// What it is in the event log.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.sign == UNKNOWN { Outcome::Unknown } else { Outcome::Refused }
    }
}

const UNKNOWN: &str = "unknown";

/// The conditions that are known.
#[derive(Debug, Default)]
pub struct Conditions(BTreeSet<Key>);

impl Conditions {
    /// Takes the conditions of a plan's items, and returns those that are new. `held`: what would be done and is not.
    pub fn learn<'i>(&mut self, items: impl Iterator<Item = &'i Item>, held: &dyn Fn(&Item) -> bool) -> Vec<Condition> {
        let mut now = BTreeSet::new();
        let mut new = Vec::new();
        for item in items {
            let Some(sign) = sign(item, held) else { continue };
            let codes = item.reasons.iter().map(Reason::code).collect::<Vec<_>>();
            let key = Key { session: item.session.clone(), sign, codes };
            if !self.0.contains(&key) {
                let words: Vec<String> = item.reasons.iter().map(Reason::words).collect();
                let code = key.codes.first().cloned().unwrap_or_default();
                new.push(Condition { session: item.session.clone(), sign, code, words: words.join("; ") });
            }
            now.insert(key);
        }
        self.0 = now;
        new
    }
}

fn sign(item: &Item, held: &dyn Fn(&Item) -> bool) -> Option<&'static str> {
    match &item.action {
        Action::Waiting(_) => Some("waiting"),
        Action::Blocked(_) => Some("blocked"),
        Action::Unknown => Some(UNKNOWN),
        action if action.effective() && held(item) => Some("held back"),
        _ => None,
    }
}
