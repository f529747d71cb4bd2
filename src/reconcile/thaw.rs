//! The repair after a pass that died between STOP and KILL.

use std::collections::BTreeSet;

use crate::host::Host;
use crate::host::process::{ProcessKey, Signal};
use crate::observe::observed::{AgentSeen, Observed, Seen};
use crate::plan::action::{Action, Item};
use crate::spec::name::Name;
use crate::state::events::Outcome;
use crate::state::leaving::Claim;
use crate::state::record::{HoldKind, Launch, Phase, Record, SessionId};

use super::census::Census;
use super::ending::{session_roots, tab_id};
use super::ledger::Ledger;

/// Lets go on what may have been left frozen: all that is left of sessions of which something was being ended, where
/// that is not done now. What ends an agent now leaves its tabs: those go on too.
pub fn thaw(host: &dyn Host, todo: &[&Item], observed: &Observed, ledger: &mut Ledger<'_>) {
    let now = host.now();
    let named = |which: fn(&Action) -> bool| -> BTreeSet<&Name> {
        todo.iter().filter(|item| which(&item.action)).map(|item| &item.session).collect()
    };
    let reaped = named(|action| matches!(action, Action::Reap));
    let ended = named(|action| matches!(action, Action::Stop | Action::Restart(_)));
    let paused = |record: &Record| record.hold_at(now.wall_ms).is_some_and(|hold| hold.what == HoldKind::Paused);
    // What was asked to end may still answer, also where it is wanted again meanwhile.
    let leaves = |record: &Record| record.is_leaving(now, &observed.boot) && is_there(record, observed);
    let begun =
        |record: &&Record| is_begun(record) && !paused(record) && !leaves(record) && !reaped.contains(&record.name);
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
        let tabs: BTreeSet<SessionId> = closed(todo, &record.name, seen, &record);
        ledger.change(&record.name, |record| {
            record.leaving.retain(|one| matches!(one.claim, Claim::Tab(tab) if tabs.contains(&tab)));
            record.ending = !record.leaving.is_empty();
            if let (Some(phase), Some(launch)) = (phase, record.launches.last_mut().filter(|l| l.ended.is_none())) {
                launch.phase = phase;
            }
        });
        if let Err(words) = ledger.save(std::slice::from_ref(&record.name)) {
            ledger.event(&record.name, "record", Outcome::Failed, Some(&words));
        }
    }
}

/// The tabs of a session that are closed now.
fn closed(todo: &[&Item], name: &Name, seen: Option<&Seen>, record: &Record) -> BTreeSet<SessionId> {
    let closed = todo.iter().filter(|item| item.session == *name).filter_map(|item| match &item.action {
        Action::CloseTab(tab) => tab_id(Some(record), seen, tab),
        _ => None,
    });
    closed.collect()
}

/// Whether anything of it may still be there.
fn is_there(record: &Record, observed: &Observed) -> bool {
    let Some(seen) = observed.sessions.get(&record.id) else { return true };
    let gone = matches!(seen.agent, AgentSeen::Ended { .. } | AgentSeen::Absent);
    let of_tab = record.leaving.iter().any(|leaving| matches!(leaving.claim, Claim::Tab(_)));
    !gone || of_tab || !seen.leftovers.is_empty()
}

/// Whether something of it was being ended when a pass died; earlier versions said so of agents only.
fn is_begun(record: &Record) -> bool {
    let stopping = |launch: &Launch| launch.phase == Phase::Stopping && launch.ended.is_none();
    record.ending || record.launch().is_some_and(stopping)
}
