//! The two axes of each session, sync and health, from the same inputs as a plan. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::observe::observed::{Activity, AgentSeen, Observed, Seen, TabSeen};
use crate::observe::silence::Silence;
use crate::spec::name::Name;
use crate::state::record::{EndedHow, HoldKind, Record, Recorded, SessionId};

use super::Plan;
use super::action::{Action, Item};
use super::reason::Reason;

/// Whether a session is as the files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// It is.
    InSync,
    /// It is not; a plan says what would be done.
    OutOfSync,
    /// It will be, later.
    Waiting,
    /// Not known.
    Unknown,
}

/// How a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// Its program has not been proven to run yet.
    Starting,
    /// It runs; what it does is not known.
    Running,
    /// In a turn.
    Working,
    /// Waiting for a prompt.
    Idle,
    /// It asks something.
    NeedsInput,
    /// It ended with status 0.
    Completed,
    /// It ended, and is not to be restarted.
    Exited,
    /// It ended in a failure, or did not come up.
    Failed,
    /// It was stopped.
    Stopped,
    /// A restart is due later.
    Backoff,
    /// Too many failures.
    CrashLoop,
    /// Paused by an operator.
    Paused,
    /// Not known.
    Unknown,
    /// Never launched.
    Absent,
}

/// One session's status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: Name,
    /// Its id, once it has one.
    pub id: Option<SessionId>,
    /// Its kind.
    pub kind: Option<Name>,
    /// Its directory as written.
    pub dir: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The session whose agent asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
    /// As the files say.
    pub sync: Sync,
    /// How it is.
    pub health: Health,
    /// Reasons, in words.
    pub reason: String,
    /// Since when it is so, in milliseconds since 1970, where known.
    pub since_ms: Option<i64>,
    /// The pane process's number, while it runs.
    pub pid: Option<i32>,
    /// Its pane.
    pub pane: Option<String>,
    /// Launches so far.
    pub generation: u32,
    /// Its tabs.
    pub tabs: Vec<TabStatus>,
}

/// A tab's status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TabStatus {
    /// Its name.
    pub name: Name,
    /// It is open.
    pub open: bool,
    /// Its process, while it runs.
    pub pid: Option<i32>,
}

/// The status of every session that is in the files or recorded.
#[must_use]
pub fn all(plan: &Plan, observed: &Observed, recorded: &Recorded) -> Vec<Status> {
    let mut items: BTreeMap<&Name, Vec<&Item>> = BTreeMap::new();
    for item in &plan.items {
        items.entry(&item.session).or_default().push(item);
    }
    items
        .into_iter()
        .map(|(name, items)| {
            let record = recorded.records.get(name);
            let id = record.map(|record| record.id).or_else(|| items.iter().find_map(|item| item.id));
            let seen = id.and_then(|id| observed.sessions.get(&id));
            one(name, &items, record, id, seen)
        })
        .collect()
}

fn one(name: &Name, items: &[&Item], record: Option<&Record>, id: Option<SessionId>, seen: Option<&Seen>) -> Status {
    let pane = match seen.map(|seen| &seen.agent) {
        Some(AgentSeen::Alive(pane) | AgentSeen::Launching { pane, .. }) => Some(pane),
        _ => None,
    };
    let mut reasons: Vec<String> = items.iter().flat_map(|item| &item.reasons).map(Reason::words).collect();
    reasons.extend(seen.and_then(|seen| seen.silence.as_ref()).map(|silence| silence.words(name)));
    let tabs = seen.map(|seen| &seen.tabs).into_iter().flatten().map(|(name, tab)| match tab {
        TabSeen::Open { process, .. } => TabStatus { name: name.clone(), open: true, pid: process.map(|p| p.pid) },
        TabSeen::Missing => TabStatus { name: name.clone(), open: false, pid: None },
    });
    let launch = record.and_then(Record::launch);
    let ended = launch.and_then(|launch| launch.ended.as_ref()).and_then(|ended| ended.at_ms);
    Status {
        name: name.clone(),
        id,
        kind: items.iter().find_map(|item| item.kind.clone()).or_else(|| record.map(|record| record.kind.clone())),
        dir: items.iter().find_map(|item| item.dir.clone()),
        title: record.and_then(|record| record.title.clone()),
        parent: items.iter().find_map(|item| item.parent.clone()),
        sync: sync(items),
        health: health(items, record, seen),
        reason: reasons.join("; "),
        since_ms: if pane.is_some() { launch.map(|launch| launch.at.wall_ms) } else { ended },
        pid: pane.map(|pane| pane.process.pid),
        pane: pane.map(|pane| pane.pane.to_string()),
        generation: record.map_or(0, Record::generation),
        tabs: tabs.collect(),
    }
}

fn sync(items: &[&Item]) -> Sync {
    let any = |test: &dyn Fn(&Action) -> bool| items.iter().any(|item| test(&item.action));
    if any(&|action| matches!(action, Action::Unknown)) {
        Sync::Unknown
    } else if any(&|action| !matches!(action, Action::Unchanged | Action::Waiting(_))) {
        Sync::OutOfSync
    } else if any(&|action| matches!(action, Action::Waiting(_))) {
        Sync::Waiting
    } else {
        Sync::InSync
    }
}

fn health(items: &[&Item], record: Option<&Record>, seen: Option<&Seen>) -> Health {
    let has = |test: &dyn Fn(&Reason) -> bool| items.iter().flat_map(|item| &item.reasons).any(test);
    if has(&|reason| matches!(reason, Reason::CrashLoop { .. })) {
        return Health::CrashLoop;
    }
    if has(&|reason| matches!(reason, Reason::Backoff { .. })) {
        return Health::Backoff;
    }
    if has(&|reason| matches!(reason, Reason::Paused { .. })) {
        return Health::Paused;
    }
    let held = record.and_then(|record| record.hold.as_ref()).is_some_and(|hold| hold.what == HoldKind::Stopped);
    match seen.map(|seen| (&seen.agent, seen.activity)) {
        Some((AgentSeen::Unknown(_) | AgentSeen::Several(_), _)) => Health::Unknown,
        Some((AgentSeen::Launching { .. }, _)) => Health::Starting,
        Some((AgentSeen::Alive(_), activity)) => match activity {
            Activity::Unknown if seen.is_some_and(|seen| matches!(seen.silence, Some(Silence::Starting(_)))) => {
                Health::Starting
            }
            Activity::Unknown => Health::Running,
            Activity::Working => Health::Working,
            Activity::Idle => Health::Idle,
            Activity::NeedsInput => Health::NeedsInput,
        },
        Some((AgentSeen::Ended { .. } | AgentSeen::Absent, _)) | None => ended(items, record, held),
    }
}

fn ended(items: &[&Item], record: Option<&Record>, held: bool) -> Health {
    if items.iter().any(|item| matches!(item.action, Action::Unknown)) {
        return Health::Unknown;
    }
    let how = record.and_then(Record::launch).and_then(|launch| launch.ended.as_ref()).map(|ended| &ended.how);
    match how {
        _ if held => Health::Stopped,
        Some(EndedHow::Stopped) => Health::Stopped,
        Some(EndedHow::Exited(0)) => Health::Completed,
        Some(EndedHow::LaunchFailed(_)) => Health::Failed,
        Some(EndedHow::ServerDied | EndedHow::Rebooted) => Health::Exited,
        Some(EndedHow::Exited(_) | EndedHow::Killed(_) | EndedHow::Lost) => {
            let left = items.iter().any(|item| item.reasons.iter().any(|r| matches!(r, Reason::NotRestarted { .. })));
            if left { Health::Exited } else { Health::Failed }
        }
        None => Health::Absent,
    }
}
