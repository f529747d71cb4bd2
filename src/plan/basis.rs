//! Proof of what a saved plan was made from, so that `apply FILE` carries out exactly that or refuses it.
//!
//! Times, clients, sizes and other facts that change by themselves do not count. Whether a session is in a turn counts
//! for those that the plan does something to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::observe::observed::{Activity, AgentSeen, Evidence, Seen};
use crate::spec::name::Name;
use crate::state::{digest, fields};

use super::subject::{self, Subject};
use super::{Inputs, Plan, tabs};

/// What `plan --out FILE` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// The plan.
    pub plan: Plan,
    /// What it was made from.
    pub basis: Basis,
}

/// Hashes of the inputs of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The fleet files' real paths.
    pub sources: Vec<PathBuf>,
    /// Hash of what concerns the whole fleet.
    pub fleet: String,
    /// Per session: hashes of what was desired, observed and recorded.
    pub sessions: BTreeMap<Name, Parts>,
}

/// Hashes of one session's inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// What the files say.
    pub desired: String,
    /// What was seen.
    pub observed: String,
    /// What was remembered.
    pub recorded: String,
}

/// A saved plan that no longer fits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the plan is out of date: {}; make a new one with `farhelm plan --out`", .moved.join(", "))]
pub struct Stale {
    /// What moved, in words.
    pub moved: Vec<String>,
}

/// The basis of `plan`, by `inputs`: when it is saved those it was made from, when it is carried out the present ones.
#[must_use]
pub fn basis(inputs: &Inputs<'_>, plan: &Plan) -> Basis {
    let touched: BTreeSet<&Name> =
        plan.items.iter().filter(|item| item.action.effective()).map(|item| &item.session).collect();
    let subjects = subject::all(inputs);
    let fleet = [
        format!("{:?}", inputs.desired.policy),
        format!("{:?}", inputs.recorded.fleet),
        format!("{:?}", inputs.observed.servers.get(&inputs.observed.socket)),
        inputs.observed.boot.0.clone(),
    ];
    Basis {
        sources: inputs.desired.sources.clone(),
        fleet: digest::short("", &fleet),
        sessions: subjects.iter().map(|s| (s.name.clone(), parts(s, inputs, touched.contains(s.name)))).collect(),
    }
}

/// Whether what holds now is what the plan was made from.
///
/// # Errors
/// [`Stale`] names every session, and what of it moved.
pub fn check(saved: &Basis, now: &Basis) -> Result<(), Stale> {
    let mut moved = Vec::new();
    if saved.sources != now.sources {
        moved.push("the fleet's files".to_owned());
    }
    if saved.fleet != now.fleet {
        moved.push("the fleet's policy, record or tmux server".to_owned());
    }
    let names: BTreeSet<&Name> = saved.sessions.keys().chain(now.sessions.keys()).collect();
    for name in names {
        let words = match (saved.sessions.get(name), now.sessions.get(name)) {
            (Some(then), Some(now)) => then.differences(now),
            (None, _) => vec!["new"],
            (_, None) => vec!["gone"],
        };
        if !words.is_empty() {
            moved.push(format!("`{name}` ({})", words.join(", ")));
        }
    }
    if moved.is_empty() { Ok(()) } else { Err(Stale { moved }) }
}

impl Parts {
    fn differences(&self, now: &Self) -> Vec<&'static str> {
        let parts = [
            ("desired", self.desired != now.desired),
            ("observed", self.observed != now.observed),
            ("recorded", self.recorded != now.recorded),
        ];
        parts.into_iter().filter(|(_, moved)| *moved).map(|(part, _)| part).collect()
    }
}

fn parts(subject: &Subject<'_>, inputs: &Inputs<'_>, touched: bool) -> Parts {
    // Environment values count by salted hash only: their own text format hides them.
    let salt = format!("{}{}", inputs.recorded.owner.0, subject.memory.as_ref().map_or("", |memory| memory.salt));
    let mut desired = format!("{:?}{:?}", subject.want, subject.kind);
    if let Some(want) = subject.want {
        let _ = write!(desired, "{:?}", fields::hashes(want, &salt, &inputs.observed.contents));
        for tab in want.tabs.values() {
            desired.push_str(&tabs::definition(tab, &salt));
        }
    }
    let hold = subject.memory.as_ref().and_then(|memory| memory.hold(inputs.now.wall_ms));
    let record = subject.memory.as_ref().and_then(|memory| memory.record);
    let recorded = format!("{hold:?}{record:?}{:?}", subject.tombstone);
    Parts {
        desired: digest::short(&salt, [desired]),
        observed: digest::short(&salt, [observed(subject, touched)]),
        recorded: digest::short(&salt, [recorded]),
    }
}

fn observed(subject: &Subject<'_>, touched: bool) -> String {
    let mut text = format!("{:?}{:?}{:?}", subject.dir, subject.foreign, subject.rivals);
    let Some(seen) = subject.seen else { return text };
    let Seen { agent, stamp, leftovers, tabs, conversation, activity, .. } = seen;
    let agent = match agent {
        AgentSeen::Alive(pane) => format!("alive {:?}", (&pane.pane, &pane.socket, pane.process, pane.generation)),
        AgentSeen::Launching { pane, .. } => format!("launching {:?}", (&pane.pane, &pane.socket, pane.process)),
        other => format!("{other:?}"),
    };
    let conversation = match conversation {
        Evidence::Pending(_) => "pending".to_owned(),
        other => format!("{other:?}"),
    };
    let busy = touched && matches!(activity, Activity::Working | Activity::NeedsInput);
    let _ = write!(text, "{agent}{stamp:?}{leftovers:?}{tabs:?}{conversation}{busy}");
    text
}
