//! Whose end matters. Pure.

use std::collections::BTreeSet;

use crate::host::process::ProcessKey;
use crate::observe::observed::{AgentSeen, Observed, ServerSeen};
use crate::state::record::Recorded;

/// The processes whose end is news.
#[derive(Debug, Default)]
pub struct Ends {
    /// Panes', agents', and tmux servers'.
    each: BTreeSet<ProcessKey>,
    /// Of what was asked to end, only the last end of each matters.
    leaving: Vec<BTreeSet<ProcessKey>>,
}

impl Ends {
    /// Those of what was seen, and of what was asked to end since.
    #[must_use]
    pub fn of(observed: &Observed, recorded: &Recorded) -> Self {
        let servers = observed.servers.values().filter_map(|server| match server {
            ServerSeen::Up { process } => Some(*process),
            ServerSeen::Absent | ServerSeen::Unknown(_) => None,
        });
        let agents = observed.sessions.values().flat_map(|seen| match &seen.agent {
            AgentSeen::Alive(pane) | AgentSeen::Launching { pane, .. } => [Some(pane.process), pane.agent],
            _ => [None, None],
        });
        let leaving = recorded.records.values().flat_map(|record| &record.leaving);
        let leaving = leaving.filter(|leaving| leaving.boot == observed.boot && !leaving.processes.is_empty());
        Self {
            each: servers.chain(agents.flatten()).collect(),
            leaving: leaving.map(|leaving| leaving.processes.iter().copied().collect()).collect(),
        }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> BTreeSet<ProcessKey> {
        self.leaving.iter().flatten().chain(&self.each).copied().collect()
    }

    /// Takes notice of ends. Answers whether they are a reason to look.
    pub fn hear(&mut self, ended: &BTreeSet<ProcessKey>) -> bool {
        let awaited: BTreeSet<ProcessKey> = self.leaving.iter().flatten().copied().collect();
        self.each.retain(|key| !ended.contains(key));
        self.leaving.iter_mut().for_each(|keys| keys.retain(|key| !ended.contains(key)));
        let groups = self.leaving.len();
        self.leaving.retain(|keys| !keys.is_empty());
        self.leaving.len() < groups || ended.iter().any(|key| !awaited.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pids: &[i32]) -> BTreeSet<ProcessKey> {
        pids.iter().map(|pid| ProcessKey { pid: *pid, start: 1 }).collect()
    }

    #[test]
    fn every_end_is_a_reason_to_look_but_of_what_was_asked_to_end_only_the_last() {
        let mut ends = Ends { each: keys(&[1, 2, 10]), leaving: vec![keys(&[10, 11]), keys(&[20])] };
        assert_eq!(ends.all(), keys(&[1, 2, 10, 11, 20]));
        assert!(ends.hear(&keys(&[1])));
        assert!(!ends.hear(&keys(&[10])), "11 is left of it");
        assert!(ends.hear(&keys(&[11])));
        assert!(ends.hear(&keys(&[20])));
        assert_eq!(ends.all(), keys(&[2]));
    }
}
