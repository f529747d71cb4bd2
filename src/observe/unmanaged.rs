//! Agents that nobody gave to farhelm and that work in a session's directory. Only a remark in the plan.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::host::Host;
use crate::host::process::{MarkersRead, Process};
use crate::spec::name::Name;

use super::look::Ask;
use super::observed::DirSeen;
use super::sight::Sight;

/// Unmarked processes that are named like an agent and whose working directory is a session's: words by session.
/// Only the topmost of a tree counts. Two reads for each process so named; everything else costs nothing.
pub(super) fn find(
    host: &dyn Host,
    ask: &Ask,
    sight: &Sight,
    dirs: &BTreeMap<Name, DirSeen>,
) -> BTreeMap<Name, Vec<String>> {
    // By name alone: the arguments of every `node` of the machine are too much for a remark.
    let named = |comm: &str| ask.kinds.values().any(|kind| kind.is_process(comm, || None) == Some(true));
    let is_agent = |process: &&Process| !process.dead && named(&process.comm);
    let ours: Vec<_> = sight.panes.iter().filter(|pane| pane.stamp.is_some()).filter_map(|pane| pane.process).collect();
    let ours = sight.table.trees(&ours);
    let table = &sight.table.processes;
    let mut found: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for process in table.values().filter(is_agent).filter(|process| !ours.contains(&process.key)) {
        let nested = table.get(&process.parent).as_ref().is_some_and(is_agent);
        let unmarked = || matches!(host.markers(process.key), MarkersRead::Read(marks) if marks.session.is_none());
        if !nested
            && unmarked()
            && let Some(dir) = host.dir(process.key)
        {
            found.entry(dir).or_default().push(format!("{} ({})", process.comm, process.key));
        }
    }
    let in_dir = |(name, dir): (&Name, &DirSeen)| match dir {
        DirSeen::Present(path) => Some((name.clone(), found.get(path)?.clone())),
        DirSeen::Missing(_) | DirSeen::Unknown(_) => None,
    };
    dirs.iter().filter_map(in_dir).collect()
}
