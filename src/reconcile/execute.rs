//! Carries one plan out: books first, then endings, then launches, then tabs.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::config::desired::Desired;
use crate::host::Host;
use crate::host::clock::Interrupt;
use crate::host::secrets::Fetcher;
use crate::host::tmux::{Place, Socket};
use crate::observe::observed::{AgentSeen, Observed, Seen};
use crate::plan::action::{Action, Item, Mode};
use crate::spec::name::Name;
use crate::state::leaving::Claim;
use crate::state::record::{Record, Recorded, SessionId};
use crate::state::store::Store;

use super::ending::{Round, word};
use super::launch::{self, Opening, Pace};
use super::ledger::Ledger;
use super::opening::{Site, Workshop};
use super::pass::Setup;
use super::reap;
use super::terminals::{self, Terminals};

/// One plan's execution.
pub struct Execution<'a> {
    /// The machine.
    pub host: &'a dyn Host,
    /// The state directory.
    pub store: &'a Store<'a>,
    /// The surroundings.
    pub setup: &'a Setup,
    /// The fleet.
    pub desired: &'a Desired,
    /// What was seen.
    pub observed: &'a Observed,
}

impl Execution<'_> {
    /// Does what `items` say.
    pub fn run(&self, items: &[&Item], secrets: &mut Fetcher<'_>, ledger: &mut Ledger<'_>) {
        let lost = self.adopt(items, ledger);
        let items: Vec<&Item> = items.iter().copied().filter(|item| !lost.contains(&item.session)).collect();
        for item in &items {
            match &item.action {
                Action::Adjust => self.adjust(item, ledger),
                Action::Move { from } => self.rename(from, &item.session, ledger),
                _ => {}
            }
        }
        let items: Vec<&Item> = items.into_iter().filter(|item| is_named(item, &ledger.recorded)).collect();
        let (mut starts, mut time): (Vec<(&Item, &Mode)>, _) = (Vec::new(), true);
        if !self.setup.attended {
            // What only starts does not wait for what ends.
            starts.extend(self.starts(&items).into_iter().filter(|(item, _)| matches!(item.action, Action::Launch(_))));
            let undisturbed = items.iter().all(|item| matches!(item.action, Action::Launch(_)));
            let seen = undisturbed.then(|| self.seen(&starts, ledger)).flatten();
            time &= self.launch(&starts, seen, secrets, ledger);
        }
        let ready: Vec<&Item> = items.iter().copied().filter(|item| self.is_ready(item, secrets, ledger)).collect();
        let unended = self.endings().end(&ready, ledger);
        if self.host.interrupt() == Interrupt::None {
            let mut late = if time { self.starts(&ready) } else { Vec::new() };
            late.retain(|(item, _)| !unended.contains(&item.session) && starts.iter().all(|(begun, _)| begun != item));
            self.launch(&late, None, secrets, ledger);
            starts.extend(late);
            self.open_tabs(&ready, &starts, secrets, ledger);
        }
        ledger.settle(self.setup.attended);
    }

    /// What is to be started, by priority.
    fn starts<'i>(&self, items: &[&'i Item]) -> Vec<(&'i Item, &'i Mode)> {
        let mode = |item: &'i Item| match &item.action {
            Action::Launch(mode) | Action::Restart(mode) => Some((item, mode)),
            _ => None,
        };
        let mut starts: Vec<_> = items.iter().filter_map(|item| mode(item)).collect();
        let priority = |item: &Item| self.desired.sessions.get(&item.session).map_or(0, |session| session.priority);
        starts.sort_by_key(|(item, _)| Reverse(priority(item)));
        starts
    }

    fn endings(&self) -> Round<'_> {
        Round {
            host: self.host,
            store: self.store,
            observed: self.observed,
            desired: self.desired,
            socket: &self.setup.socket,
            slice: (!self.setup.attended).then_some(reap::SLICE),
        }
    }

    pub(super) fn terminals<'r>(
        &self,
        records: impl Iterator<Item = &'r Record>,
        ledger: &Ledger<'_>,
    ) -> Result<Terminals, String> {
        let sockets: BTreeSet<Socket> = terminals::sockets(records, &self.setup.socket);
        Terminals::list(self.host, &sockets, &ledger.recorded.owner).map_err(|error| error.to_string())
    }

    /// Answers whether there was time for all of them. `seen` are our panes, where nothing was done since they were seen.
    fn launch(
        &self,
        starts: &[(&Item, &Mode)],
        seen: Option<Terminals>,
        secrets: &mut Fetcher<'_>,
        ledger: &mut Ledger<'_>,
    ) -> bool {
        if starts.is_empty() {
            return true;
        }
        let terminals = match seen.map_or_else(|| self.settled(starts, ledger), Ok) {
            Ok(terminals) => terminals,
            Err(words) => {
                for (item, _) in starts {
                    ledger.note(&item.session, word(&item.action), Some(words.clone()));
                }
                return true;
            }
        };
        let mut queue = Vec::new();
        for (item, mode) in starts {
            ledger.titles.insert(item.session.clone(), title(item, mode));
            match self.opening(item, mode, &terminals, secrets, ledger) {
                Ok(opening) => queue.push(opening),
                Err(words) => ledger.note(&item.session, &title(item, mode), Some(words)),
            }
        }
        launch::start(self.host, queue, self.pace(), ledger)
    }

    /// Nothing is ended for a restart whose launch could not even be prepared: a secret that fails, a command too long.
    fn is_ready(&self, item: &Item, secrets: &mut Fetcher<'_>, ledger: &mut Ledger<'_>) -> bool {
        let Action::Restart(mode) = &item.action else { return true };
        let Some(session) = self.desired.sessions.get(&item.session) else { return true };
        let record = ledger.recorded.records.get(&item.session).cloned();
        if record.as_ref().is_some_and(|record| record.leaves(&Claim::Agent, &self.observed.boot).is_some()) {
            return true;
        }
        let place = Place::NewSession(String::new());
        let site = Site { socket: self.setup.socket.clone(), place };
        let prepared = self.workshop(secrets).agent(session, record.as_ref(), mode, site);
        if let Err(words) = &prepared {
            ledger.note(&item.session, &title(item, mode), Some(words.clone()));
        }
        prepared.is_ok()
    }

    /// Our panes as they were seen, where that is all of them.
    fn seen(&self, starts: &[(&Item, &Mode)], ledger: &Ledger<'_>) -> Option<Terminals> {
        let records = starts.iter().filter_map(|(item, _)| ledger.recorded.records.get(&item.session));
        let sockets = terminals::sockets(records, &self.setup.socket);
        Terminals::seen(self.observed, &sockets, &ledger.recorded.owner)
    }

    /// Our panes, once tmux has noticed the ends of the processes that were just ended.
    fn settled(&self, starts: &[(&Item, &Mode)], ledger: &Ledger<'_>) -> Result<Terminals, String> {
        let ids: BTreeSet<SessionId> = starts.iter().filter_map(|(item, _)| item.id).collect();
        let records = || starts.iter().filter_map(|(item, _)| ledger.recorded.records.get(&item.session));
        let begun = self.host.now();
        loop {
            let terminals = self.terminals(records(), ledger)?;
            let alive = ids
                .iter()
                .flat_map(|id| terminals.of(*id))
                .any(|terminal| terminal.stamp.tab.is_none() && terminal.pane.end.is_none());
            if !alive || self.host.now().since(&begun) >= reap::CONFIRM {
                return Ok(terminals);
            }
            self.host.sleep(std::time::Duration::from_millis(10));
        }
    }

    fn opening(
        &self,
        item: &Item,
        mode: &Mode,
        terminals: &Terminals,
        secrets: &mut Fetcher<'_>,
        ledger: &Ledger<'_>,
    ) -> Result<Opening, String> {
        let session = self.desired.sessions.get(&item.session).ok_or("it is not in the fleet file")?;
        let recorded = ledger.recorded.records.get(&item.session);
        let restored = ledger.recorded.tombstones.get(&item.session).map(|tombstone| &tombstone.record);
        // An operator's decisions about the buried session do not bind the one that comes back.
        let restored = restored.filter(|_| matches!(mode, Mode::Resume { .. })).map(|buried| Record {
            hold: None,
            failures: 0,
            protect: session.protect,
            ..buried.clone()
        });
        let record = recorded.or(restored.as_ref());
        let site = match recorded {
            Some(record) => terminals.site(record, &self.setup.socket)?,
            None => {
                let fleet = self.desired.fleet.as_ref().unwrap_or(&session.name);
                terminals.new_session(fleet, &session.name, &self.setup.socket)
            }
        };
        self.workshop(secrets).agent(session, record, mode, site)
    }

    fn open_tabs(
        &self,
        items: &[&Item],
        starts: &[(&Item, &Mode)],
        secrets: &mut Fetcher<'_>,
        ledger: &mut Ledger<'_>,
    ) {
        let mut wanted: BTreeSet<(Name, Name)> = BTreeSet::new();
        for item in items {
            if let Action::OpenTab(tab) = &item.action {
                wanted.insert((item.session.clone(), tab.clone()));
            }
        }
        for (item, _) in starts.iter().filter(|(item, _)| ledger.terminals.contains_key(&item.session)) {
            let tabs = self.desired.sessions.get(&item.session).map(|session| session.tabs.keys());
            wanted.extend(tabs.into_iter().flatten().map(|tab| (item.session.clone(), tab.clone())));
        }
        if wanted.is_empty() || self.host.interrupt() != Interrupt::None {
            return;
        }
        let names: BTreeSet<&Name> = wanted.iter().map(|(session, _)| session).collect();
        let records: Vec<Record> =
            names.iter().filter_map(|name| ledger.recorded.records.get(*name)).cloned().collect();
        let terminals = match self.terminals(records.iter(), ledger) {
            Ok(terminals) => terminals,
            Err(words) => {
                for (name, tab) in wanted {
                    ledger.note(&name, &format!("open tab {tab}"), Some(words.clone()));
                }
                return;
            }
        };
        let mut queue = Vec::new();
        for (name, tab) in wanted {
            let Some(session) = self.desired.sessions.get(&name) else { continue };
            let Some(record) = ledger.recorded.records.get(&name).cloned() else { continue };
            let Some(site) = terminals.window(&record).filter(|_| !terminals.has_tab(&record, &tab)) else { continue };
            match self.workshop(secrets).tab(session, &record, &tab, site) {
                Ok(opening) => queue.push(opening),
                Err(words) => ledger.note(&name, &format!("open tab {tab}"), Some(words)),
            }
        }
        let _ = launch::start(self.host, queue, self.pace(), ledger);
    }

    fn workshop<'s, 'f>(&'s self, secrets: &'s mut Fetcher<'f>) -> Workshop<'s, 'f> {
        Workshop {
            host: self.host,
            store: self.store,
            setup: self.setup,
            desired: self.desired,
            boot: self.observed.boot.clone(),
            secrets,
        }
    }

    fn pace(&self) -> Pace {
        // Whoever stays has launches of earlier passes in flight.
        let launching = |seen: &&Seen| matches!(seen.agent, AgentSeen::Launching { .. });
        let flying = self.observed.sessions.values().filter(launching).count();
        let parallel = self.desired.policy.parallel;
        Pace {
            parallel: if self.setup.attended { parallel } else { parallel.saturating_sub(flying).max(1) },
            stagger: self.desired.policy.stagger,
            attended: self.setup.attended,
        }
    }
}

/// Whether the session's record, if it has one, bears the item's name. It does not where an earlier try to rename it
/// failed: by the new name it would be started as a session that nobody remembers.
fn is_named(item: &Item, recorded: &Recorded) -> bool {
    recorded.records.iter().all(|(name, record)| Some(record.id) != item.id || *name == item.session)
}

fn title(item: &Item, mode: &Mode) -> String {
    let what = word(&item.action);
    match mode {
        Mode::Resume { .. } => format!("{what}, resume"),
        Mode::Fresh { .. } | Mode::SameId { .. } | Mode::Verbatim => what.to_owned(),
    }
}
