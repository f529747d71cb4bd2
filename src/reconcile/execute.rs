//! Carries one plan out: books first, then endings, then launches, then tabs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::desired::Desired;
use crate::host::Host;
use crate::host::clock::Interrupt;
use crate::host::scope::ScopeSupport;
use crate::host::secrets::Fetcher;
use crate::host::tmux::{PaneId, Place, Socket, StampText};
use crate::observe::observed::{AgentSeen, Observed, Seen, ServerSeen, TabSeen};
use crate::observe::reports::{Judged, Outcome};
use crate::plan::action::{Action, Item, Mode};
use crate::plan::prompt_hash;
use crate::plan::reason::Reason;
use crate::spec::name::Name;
use crate::state::leaving::Claim;
use crate::state::rebuild::{self, PaneFacts};
use crate::state::record::{Ended, EndedHow, Record, Recorded, SessionId, TabRecord};
use crate::state::reports::Slot;
use crate::state::store::Store;

use super::ending::{self, Round, word};
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
    pub fn run(&self, items: &[&Item], secrets: &mut Fetcher, ledger: &mut Ledger<'_>) {
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
            time &= self.launch(&starts, secrets, ledger);
        }
        let ready: Vec<&Item> = items.iter().copied().filter(|item| self.is_ready(item, secrets, ledger)).collect();
        let unended = self.endings().end(&ready, ledger);
        if self.host.interrupt() == Interrupt::None {
            let mut late = if time { self.starts(&ready) } else { Vec::new() };
            late.retain(|(item, _)| !unended.contains(&item.session) && starts.iter().all(|(begun, _)| begun != item));
            self.launch(&late, secrets, ledger);
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
    fn adopt(&self, items: &[&Item], ledger: &mut Ledger<'_>) -> BTreeSet<Name> {
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

    fn adjust(&self, item: &Item, ledger: &mut Ledger<'_>) {
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

    fn rename(&self, from: &Name, to: &Name, ledger: &mut Ledger<'_>) {
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
    pub fn restamp_reported(&self, judged: &[Judged], ledger: &Ledger<'_>) {
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

    fn terminals<'r>(
        &self,
        records: impl Iterator<Item = &'r Record>,
        ledger: &Ledger<'_>,
    ) -> Result<Terminals, String> {
        let sockets: BTreeSet<Socket> = terminals::sockets(records, &self.setup.socket);
        Terminals::list(self.host, &sockets, &ledger.recorded.owner).map_err(|error| error.to_string())
    }

    /// Answers whether there was time for all of them.
    fn launch(&self, starts: &[(&Item, &Mode)], secrets: &mut Fetcher, ledger: &mut Ledger<'_>) -> bool {
        if starts.is_empty() {
            return true;
        }
        let terminals = match self.settled(starts, ledger) {
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
    fn is_ready(&self, item: &Item, secrets: &mut Fetcher, ledger: &mut Ledger<'_>) -> bool {
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
        secrets: &mut Fetcher,
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
        if let (Some(record), Place::Respawn(pane)) = (recorded, &site.place) {
            ending::keep_lines(self.host, self.store, record, &site.socket, pane);
        }
        self.workshop(secrets).agent(session, record, mode, site)
    }

    fn open_tabs(&self, items: &[&Item], starts: &[(&Item, &Mode)], secrets: &mut Fetcher, ledger: &mut Ledger<'_>) {
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

    fn workshop<'s>(&'s self, secrets: &'s mut Fetcher) -> Workshop<'s> {
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
