//! The invariants a world checks by itself, the moment something happens.

use super::super::process::{ProcessKey, Signal};
use super::ledger::AgentRun;
use super::machine::Machine;
use super::table::Proc;

impl Machine {
    /// A signal is about to be sent by farhelm.
    pub(super) fn check_signal(&mut self, key: ProcessKey, signal: Signal) {
        let own = self.farhelm.key;
        let server = self.servers.iter().any(|server| server.process == key);
        let words = match self.table.row(key) {
            _ if signal == Signal::Cont => return,
            _ if key == own => "to farhelm itself",
            _ if self.table.is_ancestor(key, own) => "to an ancestor of farhelm",
            _ if server && signal != Signal::Usr1 => "to a tmux server",
            Some(process) if process.origin.is_none() && !server => "to a process that is not ours",
            _ => return,
        };
        self.violation(format!("{signal:?} was sent {words} ({key})"));
    }

    /// farhelm has opened a pane whose first process is `key`.
    pub(super) fn check_opened(&mut self, key: ProcessKey) {
        let Some(origin) = self.table.origin(key).cloned().filter(|origin| origin.tab.is_none()) else { return };
        let beside = |pane: &super::servers::PaneState| {
            let other = super::servers::origin_of(&pane.stamp);
            let same = other.is_some_and(|other| other.session == origin.session && other.tab.is_none());
            pane.ours && pane.end.is_none() && pane.process != key && same
        };
        if self.servers.iter().any(|server| server.panes.values().any(beside)) {
            self.violation(format!("a second pane was opened beside a live one of session {origin}"));
        }
    }

    /// An agent has begun.
    pub(super) fn check_run(&mut self, run: &AgentRun, speaks: bool) {
        let conversation = if speaks { self.wrong_talk(run) } else { self.wrong_conversation(run) };
        let found = [self.beside_another(run), self.beside_leftovers(run), conversation];
        for words in found.into_iter().flatten() {
            self.violation(words);
        }
    }

    fn beside_another(&self, run: &AgentRun) -> Option<String> {
        let twin = |p: &&Proc| p.agent && !p.zombie && p.key != run.key;
        let same = |p: &&Proc| p.origin.as_ref().is_some_and(|o| o.session == run.origin.session);
        let other = self.table.all().filter(twin).find(same)?;
        Some(format!("two agents of session {} are alive: {} and {}", run.origin, other.key, run.key))
    }

    fn beside_leftovers(&self, run: &AgentRun) -> Option<String> {
        let marked = |p: &&Proc| p.markers.agent.as_ref() == Some(&run.origin.session) && !p.habits.unreadable;
        let older = |p: &&Proc| p.origin.as_ref().is_some_and(|o| o.generation < run.origin.generation);
        let left = self.table.all().filter(|p| !p.zombie && !p.agent).filter(marked).find(older)?;
        Some(format!("the agent of {} was started beside {}, left of an earlier launch", run.origin, left.key))
    }

    fn wrong_conversation(&self, run: &AgentRun) -> Option<String> {
        let id = run.conversation()?;
        let earlier: Vec<&AgentRun> = self.ledger.runs.iter().filter(|r| r.conversation() == Some(id)).collect();
        let crossed = earlier.iter().find(|r| r.origin.session != run.origin.session);
        if let Some(other) = crossed {
            return Some(format!("conversation {id} of {} was given to {}", other.origin, run.origin));
        }
        if run.resumed.is_some() && earlier.is_empty() && !self.forgetful {
            return Some(format!("conversation {id}, which never was, was resumed by {}", run.origin));
        }
        None
    }

    /// Of agents that say which conversation they have, the truth is known.
    fn wrong_talk(&self, run: &AgentRun) -> Option<String> {
        let id = run.conversation()?;
        if let Some(other) = self.is_live(id, run.key) {
            return Some(format!("conversation {id} was given to {} while {other} has it", run.origin));
        }
        let talk = self.talks.all.get(id);
        match talk.map(|talk| talk.session.as_ref()) {
            Some(Some(session)) if *session == run.origin.session => None,
            Some(Some(session)) => Some(format!("conversation {id} of {session} was given to {}", run.origin)),
            Some(None) => Some(format!("conversation {id}, which was made up, was given to {}", run.origin)),
            None if run.resumed.is_some() && !self.forgetful => {
                Some(format!("conversation {id}, which never was, was resumed by {}", run.origin))
            }
            None => None,
        }
    }

    /// Living processes that can be known as a session's own.
    pub(super) fn remains(&self, session: &str) -> Vec<ProcessKey> {
        let known = |p: &&Proc| !p.zombie && !p.habits.unreadable && p.markers.session.as_deref() == Some(session);
        self.table.all().filter(known).filter(|p| p.origin.is_some()).map(|p| p.key).collect()
    }
}
