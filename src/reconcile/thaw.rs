//! The repair after a pass that died between STOP and KILL.

use std::collections::BTreeSet;

use crate::host::Host;
use crate::host::process::{ProcessKey, Signal};
use crate::observe::observed::{AgentSeen, Observed};
use crate::plan::action::{Action, Item};
use crate::spec::name::Name;
use crate::state::events::Outcome;
use crate::state::record::{HoldKind, Launch, Phase, Record};

use super::census::{Census, Claim};
use super::ending::session_roots;
use super::ledger::Ledger;

/// Lets go on what may have been left frozen: all that is left of sessions of which something was being ended, where
/// that is not done now. What ends an agent now leaves its tabs: those go on too.
pub fn thaw(host: &dyn Host, todo: &[&Item], observed: &Observed, ledger: &mut Ledger<'_>) {
    let now = host.now().wall_ms;
    let named = |which: fn(&Action) -> bool| -> BTreeSet<&Name> {
        todo.iter().filter(|item| which(&item.action)).map(|item| &item.session).collect()
    };
    let reaped = named(|action| matches!(action, Action::Reap));
    let ended = named(|action| matches!(action, Action::Stop | Action::Restart(_)));
    let paused = |record: &Record| record.hold_at(now).is_some_and(|hold| hold.what == HoldKind::Paused);
    let begun = |record: &&Record| is_begun(record) && !paused(record) && !reaped.contains(&record.name);
    let begun: Vec<Record> = ledger.recorded.records.values().filter(begun).cloned().collect();
    if begun.is_empty() {
        return;
    }
    let Ok(census) = Census::take(host) else { return };
    for record in begun {
        let seen = observed.sessions.get(&record.id);
        let phase = match seen.map(|seen| &seen.agent) {
            None | Some(AgentSeen::Unknown(_) | AgentSeen::Several(_)) => continue,
            Some(AgentSeen::Alive(_)) => Some(Phase::Running),
            Some(AgentSeen::Launching { .. }) => Some(Phase::Opened),
            Some(AgentSeen::Ended { .. } | AgentSeen::Absent) => None,
        };
        let left = census.claimed(record.id, &Claim::Session, &session_roots(Some(&record), seen, &observed.boot));
        let of_tab = |key: &ProcessKey| census.marked.get(key).is_some_and(|marks| marks.tab.is_some());
        let agent_ends = ended.contains(&record.name);
        for key in left.difference(&census.spared(host)).filter(|key| !agent_ends || of_tab(key)) {
            host.signal(*key, Signal::Cont);
        }
        if agent_ends {
            continue;
        }
        ledger.change(&record.name, |record| {
            record.ending = false;
            if let (Some(phase), Some(launch)) = (phase, record.launches.last_mut().filter(|l| l.ended.is_none())) {
                launch.phase = phase;
            }
        });
        if let Err(words) = ledger.save(std::slice::from_ref(&record.name)) {
            ledger.event(&record.name, "record", Outcome::Failed, Some(&words));
        }
    }
}

/// Whether something of it was being ended when a pass died; earlier versions said so of agents only.
fn is_begun(record: &Record) -> bool {
    let stopping = |launch: &Launch| launch.phase == Phase::Stopping && launch.ended.is_none();
    record.ending || record.launch().is_some_and(stopping)
}
