//! What is known of a session's conversation by the record alone: nothing outside is asked.

use std::collections::BTreeSet;

use crate::spec::name::Name;
use crate::state::record::{EndedHow, Phase, Provenance, Record, Recorded, SessionId};

use super::observed::{AgentSeen, Evidence, Observed, Seen};

/// Adds the evidence of every recorded conversation, and of those that wanted sessions left in tombstones.
pub fn add<'a>(observed: &mut Observed, recorded: &Recorded, wanted: impl Iterator<Item = &'a Name>) {
    for record in recorded.records.values() {
        if let Some(seen) = observed.sessions.get_mut(&record.id) {
            seen.conversation = evidence(record);
        }
    }
    let recorded_ids: BTreeSet<SessionId> = recorded.records.values().map(|record| record.id).collect();
    for (_, seen) in observed.sessions.iter_mut().filter(|(id, _)| !recorded_ids.contains(id)) {
        let stamp = seen.stamp.as_ref();
        seen.conversation = known(stamp.and_then(|stamp| stamp.conversation.as_ref().and(stamp.provenance)));
    }
    for name in wanted.filter(|name| !recorded.records.contains_key(*name)) {
        if let Some(tombstone) = recorded.tombstones.get(name) {
            let buried = &tombstone.record;
            let seen = observed.sessions.entry(buried.id).or_insert_with(|| Seen::without_pane(AgentSeen::Absent));
            seen.conversation = evidence(buried);
        }
    }
}

/// An id that farhelm assigned is only that until the agent reports it. Where no launch ever reached its program,
/// nothing can have been said.
fn evidence(record: &Record) -> Evidence {
    let Some(conversation) = &record.conversation else { return Evidence::None };
    // Launches before the last fresh one were of an earlier conversation.
    let begun = record.launches.iter().rposition(|launch| !launch.resumed).unwrap_or(0);
    let never_ran = record.launches[begun..].iter().all(|launch| {
        let failed = launch.ended.as_ref().is_some_and(|ended| matches!(ended.how, EndedHow::LaunchFailed(_)));
        failed || launch.phase < Phase::Running
    });
    match conversation.provenance {
        Provenance::Assigned if never_ran => Evidence::NeverPrompted,
        provenance => known(Some(provenance)),
    }
}

fn known(provenance: Option<Provenance>) -> Evidence {
    match provenance {
        None => Evidence::None,
        Some(Provenance::Assigned) => Evidence::Assigned,
        Some(Provenance::Reported) => Evidence::Pending("reports are not verified by this version".to_owned()),
    }
}
