//! Marked processes: farhelm's marks in the environments of all processes, read once where a look needs them.

use std::collections::BTreeSet;

use crate::host::process::{Markers, MarkersRead, ProcessKey, ProcessTable, Processes};
use crate::state::record::SessionId;

/// The marked processes of one look.
pub(super) struct Marks(Vec<(ProcessKey, Markers)>);

impl Marks {
    /// Reads the environment of every living process in `table`. farhelm's own process and its ancestors are left out:
    /// nothing that is done about marked processes may be done to them.
    pub fn read(host: &(impl Processes + ?Sized), table: &ProcessTable) -> Self {
        let own: BTreeSet<_> = table.ancestors(host.own()).into_iter().collect();
        let living = table.processes.values().filter(|process| !process.dead && !own.contains(&process.key));
        let marked = living.filter_map(|process| match host.markers(process.key) {
            MarkersRead::Read(markers) if markers.session.is_some() => Some((process.key, markers)),
            _ => None,
        });
        Self(marked.collect())
    }

    /// Every marked process.
    pub fn all(&self) -> &[(ProcessKey, Markers)] {
        &self.0
    }

    /// The processes of a session's agent.
    pub fn of_agent(&self, id: SessionId) -> impl Iterator<Item = ProcessKey> + '_ {
        let id = Some(id.to_string());
        self.0.iter().filter(move |(_, marks)| marks.session == id && marks.agent == id).map(|(key, _)| *key)
    }
}
