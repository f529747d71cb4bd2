//! The repair after a pass that died between STOP and KILL.

use std::collections::BTreeSet;

use crate::host::Host;
use crate::host::process::Signal;
use crate::observe::observed::{AgentSeen, Observed};
use crate::plan::action::{Action, Item};
use crate::spec::name::Name;
use crate::state::events::Outcome;
use crate::state::record::{HoldKind, Phase, Record};

use super::ledger::Ledger;

/// Lets agents go on that were left frozen, where they are no longer to be ended.
pub fn thaw(host: &dyn Host, todo: &[&Item], observed: &Observed, ledger: &mut Ledger<'_>) {
    let now = host.now().wall_ms;
    let ends = |item: &&&Item| matches!(item.action, Action::Stop | Action::Reap | Action::Restart(_));
    let ended: BTreeSet<&Name> = todo.iter().filter(ends).map(|item| &item.session).collect();
    let paused = |record: &Record| record.hold_at(now).is_some_and(|hold| hold.what == HoldKind::Paused);
    let begun = |record: &&Record| {
        let launch = record.launch().filter(|launch| launch.phase == Phase::Stopping && launch.ended.is_none());
        launch.is_some() && !paused(record) && !ended.contains(&record.name)
    };
    let frozen: Vec<Record> = ledger.recorded.records.values().filter(begun).cloned().collect();
    for record in frozen {
        let seen = observed.sessions.get(&record.id).map(|seen| &seen.agent);
        let (Some(AgentSeen::Alive(pane)), Ok(table)) = (seen, host.table()) else { continue };
        for key in table.trees(&[pane.process]) {
            host.signal(key, Signal::Cont);
        }
        ledger.change(&record.name, |record| {
            if let Some(launch) = record.launches.last_mut() {
                launch.phase = Phase::Running;
            }
        });
        if let Err(words) = ledger.save(std::slice::from_ref(&record.name)) {
            ledger.event(&record.name, "record", Outcome::Failed, Some(&words));
        }
    }
}
