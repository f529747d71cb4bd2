//! What is known of each session's conversation, for `conversations` and `describe`. Pure.

use serde::Serialize;

use crate::observe::observed::{Evidence, Observed};
use crate::spec::name::Name;
use crate::state::record::{Provenance, Record, Recorded};

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
pub fn all(observed: &Observed, recorded: &Recorded) -> Vec<Known> {
    let buried = recorded.tombstones.iter().filter(|(name, _)| !recorded.records.contains_key(*name));
    let records = recorded.records.values().map(|record| (record, false));
    let records = records.chain(buried.map(|(_, grave)| (&grave.record, true)));
    let mut all: Vec<Known> = records.map(|(record, reaped)| one(observed, record, reaped)).collect();
    all.sort_by(|a, b| a.session.cmp(&b.session));
    all
}

fn one(observed: &Observed, record: &Record, reaped: bool) -> Known {
    let evidence = observed.sessions.get(&record.id).map_or(&Evidence::Unread, |seen| &seen.conversation);
    let (state, words) = state(evidence);
    let silence = observed.sessions.get(&record.id).and_then(|seen| seen.silence.as_ref()).filter(|_| !reaped);
    let (state, mut words) = silence.map_or((state, words), |silence| ("none-reported", silence.words(&record.name)));
    if let Some(contradicted) = record.launch().and_then(|launch| launch.contradicted.as_deref()) {
        words =
            [words.as_str(), contradicted].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    }
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
        Evidence::NeverPrompted | Evidence::Empty => ("nothing-to-lose", "no prompt was given".to_owned()),
        Evidence::Verified(_) => ("kept", String::new()),
        Evidence::Assigned => ("unconfirmed", "assigned at launch, never reported".to_owned()),
        Evidence::Pending(words) => ("pending", words.clone()),
        Evidence::Missing(words) => ("missing", words.clone()),
        Evidence::Unproven { conversation, words } => {
            ("missing", format!("conversation {conversation} was reported last and cannot be verified: {words}"))
        }
        Evidence::Changed(words) => ("changed", words.clone()),
        Evidence::Unreadable(words) => ("unreadable", words.clone()),
        Evidence::Held(words) => ("held", words.clone()),
        Evidence::TakenBy(other) => ("taken", format!("by {other}")),
    }
}
