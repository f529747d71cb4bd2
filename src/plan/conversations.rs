//! What is known of each session's conversation, for `conversations` and `describe`. Pure.

use std::time::Duration;

use serde::Serialize;

use crate::agents::kind::Kind;
use crate::agents::kind::reports::EvidenceRule;
use crate::config::desired::{Desired, Session};
use crate::host::clock::Moment;
use crate::observe::observed::{Evidence, Observed};
use crate::spec::name::Name;
use crate::state::record::{HookState, Launch, Phase, Provenance, Record, Recorded};

/// A launch that has run for so long has reported, where its agent reports at its start.
const TRIPWIRE: Duration = Duration::from_secs(65);

/// One stored conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Known {
    /// The session.
    pub session: Name,
    /// Its kind.
    pub kind: Name,
    /// It was reaped: this is its tombstone's.
    pub reaped: bool,
    /// The conversation's id; none while none is known.
    pub id: Option<String>,
    /// How the id is known.
    pub known: Option<Provenance>,
    /// When it was reported or assigned, in milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// Whether it could be resumed now: `kept`, `unconfirmed`, `nothing-to-lose`, `pending`, `missing`, …
    pub state: &'static str,
    /// More of that, in words.
    pub words: String,
}

/// The conversations of all sessions and tombstones of the fleet, by session.
#[must_use]
pub fn all(desired: &Desired, observed: &Observed, recorded: &Recorded) -> Vec<Known> {
    let buried = recorded.tombstones.iter().filter(|(name, _)| !recorded.records.contains_key(*name));
    let records = recorded.records.values().map(|record| (record, false));
    let records = records.chain(buried.map(|(_, grave)| (&grave.record, true)));
    let mut all: Vec<Known> = records.map(|(record, reaped)| one(desired, observed, record, reaped)).collect();
    all.sort_by(|a, b| a.session.cmp(&b.session));
    all
}

fn one(desired: &Desired, observed: &Observed, record: &Record, reaped: bool) -> Known {
    let evidence = observed.sessions.get(&record.id).map_or(&Evidence::Unread, |seen| &seen.conversation);
    let (state, words) = state(evidence);
    let silent = desired.kinds.get(&record.kind).and_then(|kind| {
        let session = desired.sessions.get(&record.name)?;
        silence(kind, session, record, &observed.at)
    });
    let (state, words) = silent.filter(|_| !reaped).map_or((state, words), |words| ("none-reported", words));
    Known {
        session: record.name.clone(),
        kind: record.kind.clone(),
        reaped,
        id: record.conversation.as_ref().map(|known| known.id.clone()),
        known: record.conversation.as_ref().map(|known| known.provenance),
        at_ms: record.conversation.as_ref().map(|known| known.at.wall_ms),
        state,
        words,
    }
}

fn state(evidence: &Evidence) -> (&'static str, String) {
    match evidence {
        Evidence::Unread => ("unread", String::new()),
        Evidence::None => ("none", String::new()),
        Evidence::NeverPrompted => ("nothing-to-lose", "no prompt was given".to_owned()),
        Evidence::Verified(_) => ("kept", String::new()),
        Evidence::Assigned => ("unconfirmed", "assigned at launch, never reported".to_owned()),
        Evidence::Pending(words) => ("pending", words.clone()),
        Evidence::Missing(words) => ("missing", words.clone()),
        Evidence::Changed(words) => ("changed", words.clone()),
        Evidence::Unreadable(words) => ("unreadable", words.clone()),
        Evidence::TakenBy(other) => ("taken", format!("by {other}")),
    }
}

/// Why an agent that was given its hook, and should have reported by now, has not: the likely cause, in words.
#[must_use]
pub fn silence(kind: &Kind, session: &Session, record: &Record, now: &Moment) -> Option<String> {
    let launch = record.launch().filter(|launch| launch.phase == Phase::Running && launch.ended.is_none())?;
    let reported = record.identity.as_ref().is_some_and(|identity| identity.generation == launch.generation);
    if launch.hook != HookState::Given || reported || now.since(&launch.at) < TRIPWIRE || !speaks_first(kind, launch) {
        return None;
    }
    let words: Vec<&str> = session.invocation.iter().map(String::as_str).collect();
    let program = words.first().copied().unwrap_or_default();
    Some(if kind.is_program(program) {
        "no report came: the agent asks something before it starts, or its hooks are switched off".to_owned()
    } else if words.get(1) == Some(&"-c") {
        format!("no report came: arguments behind `{program} -c …` go to that shell, not to the agent (pass on \"$@\")")
    } else {
        format!("no report came: `{program}` may not pass its arguments on to the agent")
    })
}

/// Whether the agent of this launch reports without being prompted by hand.
fn speaks_first(kind: &Kind, launch: &Launch) -> bool {
    let at_start = kind.reports.as_ref().is_some_and(|reports| {
        matches!(
            reports.evidence,
            EvidenceRule::ClaudeTranscript | EvidenceRule::SessionFile | EvidenceRule::GeminiChat
        )
    });
    at_start || launch.prompt.is_some()
}
