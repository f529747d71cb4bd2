//! Brings records and the stamps of panes up to the files and the reports, without touching a process.

use std::collections::BTreeSet;

use crate::host::tmux::{PaneId, StampText};
use crate::observe::reports::{Judged, Outcome};
use crate::plan::action::Item;
use crate::plan::reason::Reason;
use crate::spec::name::Name;
use crate::state::reports::Slot;

use super::execute::Execution;
use super::ledger::Ledger;
use super::terminals;

impl Execution<'_> {
    pub(super) fn adjust(&self, item: &Item, ledger: &mut Ledger<'_>) {
        let name = &item.session;
        let Some(session) = self.desired.sessions.get(name) else { return };
        // Files that are not the fleet's own neither lift a protection nor take the session over.
        let planned =
            |what: &str| item.reasons.iter().any(|r| matches!(r, Reason::Adjusted { field } if field == what));
        ledger.change(name, |record| {
            record.title.clone_from(&session.title);
            record.stop_grace_ms = u64::try_from(session.stop_grace.as_millis()).ok();
            if planned("protect") {
                record.protect = session.protect;
            }
            if planned("sources") {
                record.sources.clone_from(&self.desired.sources);
            }
        });
        let result = ledger.save(std::slice::from_ref(name)).and_then(|()| self.restamp(name, ledger));
        ledger.note(name, "adjust", result.err());
    }

    pub(super) fn rename(&self, from: &Name, to: &Name, ledger: &mut Ledger<'_>) {
        let Some(mut record) = ledger.recorded.records.remove(from) else { return };
        record.name = to.clone();
        if let Some(fleet) = &self.desired.fleet {
            record.fleet = fleet.clone();
        }
        ledger.recorded.records.insert(to.clone(), record);
        let result = ledger.save(std::slice::from_ref(to)).and_then(|()| self.restamp(to, ledger));
        ledger.note(to, "move", result.err());
    }

    /// Brings the stamps up to conversations that were just reported. One that fails is brought up by its next launch.
    pub(super) fn restamp_reported(&self, judged: &[Judged], ledger: &Ledger<'_>) {
        let starts = judged.iter().filter(|one| one.outcome == Outcome::Accepted && one.found.slot == Slot::Start);
        for one in starts {
            let _ = self.restamp(&one.session, ledger);
        }
    }

    /// Brings the stamps of a session's panes, and its tmux session's name, up to its record.
    fn restamp(&self, name: &Name, ledger: &Ledger<'_>) -> Result<(), String> {
        let Some(record) = ledger.recorded.records.get(name) else { return Ok(()) };
        let terminals = self.terminals(std::iter::once(record), ledger)?;
        let mut renamed = BTreeSet::new();
        for terminal in terminals.of(record.id) {
            let mut stamp = terminal.stamp.clone();
            stamp.fleet.clone_from(&record.fleet);
            stamp.session.clone_from(&record.name);
            stamp.protect = record.protect;
            stamp.conversation = record.conversation.as_ref().map(|known| known.id.clone());
            stamp.provenance = record.conversation.as_ref().map(|known| known.provenance);
            stamp.sources.clone_from(&record.sources);
            let stamps: [(PaneId, StampText); 1] = [(terminal.pane.id.clone(), stamp.write())];
            self.host.stamp(&terminal.socket, &stamps).map_err(|error| error.to_string())?;
            let wanted = terminals::session_name(&record.fleet, &record.name);
            let free = !terminals.taken(&terminal.socket, &wanted);
            if free && renamed.insert(terminal.pane.session.clone()) {
                let result = self.host.rename(&terminal.socket, &terminal.pane.session, &wanted);
                result.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}
