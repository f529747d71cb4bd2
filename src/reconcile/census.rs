//! Who belongs to which session: one reading of the process table with the environments of this account's processes.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::Host;
use crate::host::process::{Markers, MarkersRead, ProcessError, ProcessKey, ProcessTable};
use crate::state::leaving::Claim;
use crate::state::record::SessionId;

/// One reading.
#[derive(Debug, Clone, Default)]
pub struct Census {
    /// All processes.
    pub table: ProcessTable,
    /// The marks of the living processes of this account that carry a session's.
    pub marked: BTreeMap<ProcessKey, Markers>,
}

impl Census {
    /// Reads the table, and every environment that may be read.
    ///
    /// # Errors
    /// When the table cannot be read: never an empty census.
    pub fn take(host: &dyn Host) -> Result<Self, ProcessError> {
        let table = host.table()?;
        let mut marked = BTreeMap::new();
        for process in table.processes.values().filter(|p| !p.dead) {
            if let MarkersRead::Read(markers) = host.markers(process.key)
                && markers.session.is_some()
            {
                marked.insert(process.key, markers);
            }
        }
        Ok(Self { table, marked })
    }

    /// The living processes that `claim` on `session` covers: descendants of `roots`, and whatever carries the marks.
    /// Of these, [`Self::spared`] are not to be touched.
    #[must_use]
    pub fn claimed(&self, session: SessionId, claim: &Claim, roots: &[ProcessKey]) -> BTreeSet<ProcessKey> {
        let id = session.to_string();
        let by_mark = self.marked.iter().filter(|(_, marks)| covers(marks, &id, claim)).map(|(key, _)| *key);
        let mut all: BTreeSet<ProcessKey> = self.table.trees(roots);
        all.extend(by_mark);
        all.retain(|key| self.table.alive(*key).is_some());
        all
    }

    /// Processes no stop may touch: farhelm itself, its ancestors, and tmux servers.
    #[must_use]
    pub fn spared(&self, host: &dyn Host) -> BTreeSet<ProcessKey> {
        let servers = self.table.processes.values().filter(|p| p.comm.starts_with("tmux: server")).map(|p| p.key);
        self.table.ancestors(host.own()).into_iter().chain(servers).collect()
    }
}

/// Whether a process with these marks is covered. The session's own mark is required of every one.
fn covers(marks: &Markers, session: &str, claim: &Claim) -> bool {
    if marks.session.as_deref() != Some(session) {
        return false;
    }
    match claim {
        Claim::Session => true,
        Claim::Agent => marks.agent.as_deref() == Some(session),
        Claim::Tab(tab) => marks.tab.as_deref() == Some(tab.to_string().as_str()),
    }
}
