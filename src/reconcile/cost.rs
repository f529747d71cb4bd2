//! What reaps would end, counted in full: the detached processes too, which only their environments give away.

use std::collections::BTreeSet;

use crate::host::Host;
use crate::plan::Plan;
use crate::plan::action::Action;
use crate::state::leaving::Claim;
use crate::state::record::{Record, SessionId};

use super::census::Census;
use super::ending::session_roots;
use super::situation::Situation;

/// Brings the counts of what `plan` reaps up to all that would be ended; says whether anything was counted anew. Without a
/// reap no environment is read. Where the process table cannot be read, the counts stay those of the panes' own trees.
pub fn count(host: &dyn Host, plan: &Plan, situation: &mut Situation<'_>) -> bool {
    let reaps = plan.items.iter().filter(|item| item.action == Action::Reap);
    let reaped: BTreeSet<SessionId> = reaps.filter_map(|item| item.id).collect();
    if reaped.is_empty() {
        return false;
    }
    let Ok(census) = Census::take(host) else { return false };
    let spared = census.spared(host);
    for id in reaped {
        let record: Option<&Record> = situation.recorded.records.values().find(|record| record.id == id);
        let Some(seen) = situation.observed.sessions.get_mut(&id) else { continue };
        let roots = session_roots(record, Some(seen), &situation.observed.boot);
        let mut claimed = census.claimed(id, &Claim::Session, &roots);
        claimed.retain(|key| !spared.contains(key));
        let living = || claimed.iter().filter_map(|key| census.table.alive(*key));
        seen.processes = living().count();
        seen.memory = living().map(|process| process.memory).sum();
    }
    true
}
