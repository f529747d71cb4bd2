//! Agents behind a resident wrapper: which process of its tree is the agent, and whether it has ended.

use std::time::Duration;

use crate::host::process::ProcessKey;
use crate::state::record::{Launch, Record};

use super::session::Scene;

/// A wrapper may first run its agent for a moment, to ask it for its version, say.
const PROBE: Duration = Duration::from_secs(1);

/// The most processes of a wrapper's tree that are looked at to find the agent: it is among the oldest.
const LOOKED_AT: usize = 64;

impl Scene<'_> {
    /// Behind a live wrapper the agent has exited when its process was once seen, is gone, and no other process of its
    /// kind is in the wrapper's tree.
    pub(super) fn exited_behind_wrapper(&self, record: Option<&Record>, launch: &Launch) -> bool {
        let (Some(agent), Some(root), Some(record)) = (launch.agent, launch.process, record) else { return false };
        agent != root && self.sight.table.alive(agent).is_none() && self.of_kind(record, root, true).is_none()
    }

    /// The agent where the pane's own process is a wrapper: the one recorded while it lives, else the first of its kind.
    /// One that is younger than [`PROBE`] is not yet taken for it.
    pub(super) fn behind_wrapper(&self, record: &Record, launch: &Launch) -> Option<ProcessKey> {
        let root = launch.process?;
        let recorded = launch.agent.filter(|agent| self.sight.table.alive(*agent).is_some());
        recorded.or_else(|| {
            let found = self.of_kind(record, root, false).filter(|key| *key != root)?;
            (self.sight.at.since(&self.host.started(found.start)) >= PROBE).then_some(found)
        })
    }

    /// The oldest process of the record's kind in the tree of `root`: parents are older than their children. `unsure`: one
    /// whose arguments would tell, and cannot be read, counts.
    fn of_kind(&self, record: &Record, root: ProcessKey, unsure: bool) -> Option<ProcessKey> {
        let table = &self.sight.table;
        let kind = self.ask.kinds.get(&record.kind).filter(|kind| kind.tells_processes())?;
        let named = |key: &ProcessKey| {
            let process = table.alive(*key);
            process.is_some_and(|it| kind.is_process(&it.comm, || self.host.argv(*key)).unwrap_or(unsure))
        };
        let mut tree: Vec<ProcessKey> = table.trees(&[root]).into_iter().filter(|key| *key != root).collect();
        tree.sort_by_key(|key| (key.start, key.pid));
        std::iter::once(root).chain(tree).take(LOOKED_AT).find(named)
    }
}
