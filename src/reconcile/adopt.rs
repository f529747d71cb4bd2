//! Takes what runs into the books again: records that were lost, rebuilt from the stamps of their panes.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::scope::ScopeSupport;
use crate::host::tmux::Socket;
use crate::observe::observed::{AgentSeen, Seen, ServerSeen, TabSeen};
use crate::plan::action::{Action, Item};
use crate::plan::prompt_hash;
use crate::spec::name::Name;
use crate::state::rebuild::{self, PaneFacts};
use crate::state::record::{Ended, EndedHow, Record, SessionId, TabRecord};

use super::ending::word;
use super::execute::Execution;
use super::ledger::Ledger;
use super::terminals::Terminals;

impl Execution<'_> {
    /// The record that a live or dead stamped pane of a session without one tells of.
    #[must_use]
    pub fn rebuilt(&self, id: SessionId) -> Option<Record> {
        let seen = self.observed.sessions.get(&id)?;
        let stamp = seen.stamp.clone()?;
        let unknown = Name::new("generic").ok()?;
        let wanted = self.desired.sessions.get(&stamp.session).map(|session| &session.kind);
        let kind = rebuild::kind_of(&stamp, self.desired.kinds.keys()).or(wanted).unwrap_or(&unknown).clone();
        let sockets: BTreeSet<Socket> = self.observed.servers.keys().cloned().collect();
        let terminals = Terminals::list(self.host, &sockets, &stamp.owner).ok()?;
        // Of a stopped session only its tabs may be left.
        let agent = terminals.of(id).find(|t| t.stamp.tab.is_none()).or_else(|| terminals.of(id).next())?;
        let (process, proven, ended) = match &seen.agent {
            AgentSeen::Alive(pane) => (Some(pane.process), true, None),
            AgentSeen::Launching { pane, .. } => (Some(pane.process), false, None),
            AgentSeen::Ended { how, .. } => (None, true, Some(how.clone())),
            AgentSeen::Absent => (None, true, Some(Ended { how: EndedHow::Lost, at_ms: None })),
            AgentSeen::Unknown(_) | AgentSeen::Several(_) => return None,
        };
        let server = match self.observed.servers.get(&agent.socket) {
            Some(ServerSeen::Up { process }) => Some(*process),
            _ => None,
        };
        let facts = PaneFacts {
            at: self.observed.at,
            boot: self.observed.boot.clone(),
            socket: agent.socket.clone(),
            server,
            pane: agent.pane.id.clone(),
            process,
            proven,
            scoped: matches!(self.host.support(), ScopeSupport::Usable { .. }),
            ended,
            tabs: self.rebuilt_tabs(id, seen, &terminals),
        };
        Some(rebuild::record_from(&stamp, kind, facts))
    }

    fn rebuilt_tabs(&self, id: SessionId, seen: &Seen, terminals: &Terminals) -> BTreeMap<Name, TabRecord> {
        let tabs = terminals.of(id).filter_map(|terminal| Some((terminal, terminal.stamp.tab.clone()?)));
        tabs.filter_map(|(terminal, (name, tab))| {
            // Of two panes of a name the one that was seen as the tab.
            let process = match seen.tabs.get(&name) {
                Some(TabSeen::Open { id, process, .. }) if *id == tab => *process,
                _ => return None,
            };
            let record = TabRecord {
                id: tab,
                definition: String::new(),
                pane: Some(terminal.pane.id.clone()),
                process,
                boot: Some(self.observed.boot.clone()),
                socket: Some(terminal.socket.clone()),
                scoped: matches!(self.host.support(), ScopeSupport::Usable { .. }),
            };
            Some((name, record))
        })
        .collect()
    }

    /// Rebuilds the records that were lost from the stamps of what is there. Answers the sessions whose record could not
    /// be rebuilt: nothing may be done about them, or it would be done to a session that nobody remembers.
    pub(super) fn adopt(&self, items: &[&Item], ledger: &mut Ledger<'_>) -> BTreeSet<Name> {
        let mut lost = BTreeSet::new();
        for item in items {
            // Whatever its name: its block may have been renamed.
            let known = ledger.recorded.records.values().any(|record| Some(record.id) == item.id);
            let stamped = |id: &SessionId| self.observed.sessions.get(id).is_some_and(|seen| seen.stamp.is_some());
            let Some(id) = item.id.filter(|id| !known && stamped(id)) else { continue };
            let Some(mut record) = self.rebuilt(id) else {
                if lost.insert(item.session.clone()) {
                    let words = "its record is lost and could not be rebuilt: its panes could not be listed again";
                    ledger.note(&item.session, word(&item.action), Some(words.to_owned()));
                }
                continue;
            };
            // Stamps do not say which prompt was delivered: better not at all than twice.
            let prompt = self.desired.sessions.get(&item.session).and_then(|session| session.prompt.as_deref());
            record.prompt_delivered = prompt.map(|prompt| prompt_hash(&record.salt, prompt));
            let name = record.name.clone();
            ledger.recorded.records.insert(name.clone(), record);
            let saved = ledger.save(&[name]);
            if matches!(item.action, Action::Adopt) || saved.is_err() {
                ledger.note(&item.session, "adopt", saved.err());
            }
        }
        lost
    }
}
