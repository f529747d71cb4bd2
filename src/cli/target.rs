//! A session's terminal as an operator names it: `[FLEET/]NAME[:TAB]`.

use crate::host::real::Machine;
use crate::host::tmux::{PaneId, Socket, Tmux};
use crate::reconcile::pass::{Reconciler, Setup};
use crate::state::record::Record;
use crate::state::stamp::Stamp;

use super::error::CliError;

/// What a target leads to.
#[derive(Debug)]
pub struct Target {
    /// The session.
    pub record: Record,
    /// The server it was last on.
    pub socket: Socket,
    tab: Option<String>,
}

impl Target {
    /// Finds the session.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(reconciler: &Reconciler<'_>, setup: &Setup, target: &str) -> Result<Self, CliError> {
        let (path, tab) = match target.split_once(':') {
            Some((path, tab)) => (path, Some(tab)),
            None => (target, None),
        };
        let (fleet, name) = match path.split_once('/') {
            Some((fleet, name)) => (Some(fleet), name),
            None => (None, path),
        };
        let records = reconciler.store().records()?;
        let mut found =
            records.records.values().filter(|r| r.name.as_str() == name && fleet.is_none_or(|f| r.fleet.as_str() == f));
        let record = found.next().ok_or_else(|| CliError::Other(format!("no session `{path}`")))?;
        if let Some(other) = found.next() {
            let (one, two) = (&record.fleet, &other.fleet);
            return Err(CliError::Usage(format!("`{name}` is in the fleets {one} and {two}; write {one}/{name}")));
        }
        let socket = record.launch().map_or(&setup.socket, |launch| &launch.socket).clone();
        Ok(Self { record: record.clone(), socket, tab: tab.map(str::to_owned) })
    }

    /// Its pane, dead or alive; none where it has none.
    ///
    /// # Errors
    /// When tmux does not answer.
    pub fn pane(&self, machine: &Machine, reconciler: &Reconciler<'_>) -> Result<Option<PaneId>, CliError> {
        let panes = machine.panes(&self.socket).map_err(|error| CliError::Other(error.to_string()))?;
        let stamped = panes.panes.iter().filter_map(|pane| Some((pane, Stamp::read(&pane.stamp)?)));
        let mut own = stamped.filter(|(_, stamp)| {
            let tab = stamp.tab.as_ref().map(|(name, _)| name.as_str());
            stamp.id == self.record.id && stamp.owner == *reconciler.store().owner() && tab == self.tab.as_deref()
        });
        Ok(own.next().map(|(pane, _)| pane.id.clone()))
    }

    /// Whether it is the session's agent, and not one of its tabs.
    #[must_use]
    pub fn is_agent(&self) -> bool {
        self.tab.is_none()
    }
}
