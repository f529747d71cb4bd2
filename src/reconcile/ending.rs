//! Ends sessions, agents and tabs: processes first, then the terminal, then launch files, the record last, so that a
//! death in between leaves a listed dead session and never an unlisted live one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::config::desired::Desired;
use crate::host::Host;
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::{PaneId, Socket, TmuxError};
use crate::observe::observed::{AgentSeen, Observed, Seen, TabSeen};
use crate::plan::action::{Action, Item};
use crate::spec::name::Name;
use crate::state::events::Outcome;
use crate::state::launch_files::LaunchFiles;
use crate::state::leaving::{Claim, Leaving};
use crate::state::record::{Ended, EndedHow, Phase, Record, SessionId};
use crate::state::store::Store;

use super::ledger::Ledger;
use super::lines;
use super::reap::{self, Ending, Target};
use super::scopes;
use super::terminals::{self, Terminals};

/// Everything one round of endings needs.
pub struct Round<'a> {
    /// The machine.
    pub host: &'a dyn Host,
    /// The state directory.
    pub store: &'a Store<'a>,
    /// What was seen.
    pub observed: &'a Observed,
    /// The fleet, for graces of sessions still in it.
    pub desired: &'a Desired,
    /// The socket of sessions without a record.
    pub socket: &'a Socket,
    /// How long is waited for an end; what takes longer is remembered, and the next round goes on with it. None: as long
    /// as it may take.
    pub slice: Option<Duration>,
}

impl Round<'_> {
    /// Ends what `items` say, all together. Returns the sessions whose agent did not end, or not yet: nothing may be started
    /// for them.
    pub fn end(&self, items: &[&Item], ledger: &mut Ledger<'_>) -> BTreeSet<Name> {
        let mut jobs: Vec<(&Item, Target)> = Vec::new();
        for item in items {
            if let Some(target) = self.target(item, &ledger.recorded.records) {
                jobs.push((item, target));
            }
        }
        if jobs.is_empty() {
            return BTreeSet::new();
        }
        self.intend(&mut jobs, ledger);
        let endings = self.ask(&jobs, ledger);
        let (mut failed, mut unended) = (BTreeSet::new(), BTreeSet::new());
        let mut ended = Vec::new();
        for ((item, target), ending) in jobs.into_iter().zip(endings) {
            if ending.complete() {
                ledger.change(&item.session, |record| record.leaving.retain(|one| one.claim != target.claim));
                ended.push(item);
                continue;
            }
            if ending.failed() {
                failed.insert(item.session.clone());
                ledger.note(&item.session, word(&item.action), Some(ending.words()));
            }
            if ending.failed() || !matches!(target.claim, Claim::Tab(_)) {
                unended.insert(item.session.clone());
            }
        }
        for item in ended.iter().filter(|item| !failed.contains(&item.session)) {
            ledger.change(&item.session, |record| record.ending = !record.leaving.is_empty());
        }
        let mut refused = self.close(&ended, ledger);
        let reaped: Vec<Name> = ended
            .iter()
            .filter(|item| item.action == Action::Reap && !refused.contains_key(&item.session))
            .map(|item| item.session.clone())
            .collect();
        if let Err(words) = self.bury(&reaped, ledger) {
            refused.extend(reaped.into_iter().map(|session| (session, words.clone())));
        }
        self.stopped(ended.iter().filter(|item| !refused.contains_key(&item.session)), ledger);
        for item in ended {
            self.book(item, refused.get(&item.session).cloned(), ledger);
        }
        unended
    }

    /// Asks everything to end, and remembers what takes its time. What cannot be remembered is waited for.
    fn ask(&self, jobs: &[(&Item, Target)], ledger: &mut Ledger<'_>) -> Vec<Ending> {
        let targets: Vec<Target> = jobs.iter().map(|(_, target)| target.clone()).collect();
        let mut endings = reap::end(self.host, &targets, self.slice);
        let left: Vec<usize> = (0..jobs.len()).filter(|index| endings[*index].left.is_some()).collect();
        let changed: Vec<&usize> = left
            .iter()
            .filter(|index| self.remember(jobs[**index].0, &targets[**index], &endings[**index], ledger))
            .collect();
        let names: Vec<Name> = changed.iter().map(|index| jobs[**index].0.session.clone()).collect();
        if !names.is_empty() && ledger.save(&names).is_err() {
            let asked = |index: &usize| {
                let left = endings[*index].left.as_ref().map(|left| (left.stage, left.at));
                Target { asked: left, ..targets[*index].clone() }
            };
            let again: Vec<Target> = left.iter().map(asked).collect();
            for (index, ending) in left.iter().zip(reap::end(self.host, &again, None)) {
                endings[*index] = ending;
            }
            return endings;
        }
        for index in left {
            let (item, target) = &jobs[index];
            ledger.left.insert(item.session.clone());
            if target.asked.is_none() {
                ledger.event(&item.session, word(&item.action), Outcome::Begun, None);
            }
        }
        endings
    }

    /// Books what is left of an ending. Answers whether that is news.
    fn remember(&self, item: &Item, target: &Target, ending: &Ending, ledger: &mut Ledger<'_>) -> bool {
        let Some(left) = &ending.left else { return false };
        let leaving = Leaving {
            claim: target.claim.clone(),
            stage: left.stage,
            at: left.at,
            boot: self.observed.boot.clone(),
            grace_ms: u64::try_from(target.grace.as_millis()).unwrap_or(u64::MAX),
            processes: left.processes.iter().copied().collect(),
        };
        let mut news = false;
        ledger.change(&item.session, |record| {
            news = !record.leaving.contains(&leaving);
            record.leaving.retain(|one| one.claim != leaving.claim);
            record.leaving.push(leaving);
        });
        news
    }

    /// Says of each record what is about to be ended. A stop must never fail for a full disk: the intent is best effort,
    /// its loss makes a death look like an exit, and lets nothing be frozen.
    fn intend(&self, jobs: &mut [(&Item, Target)], ledger: &mut Ledger<'_>) {
        let fresh = |(_, target): &&mut (&Item, Target)| target.asked.is_none();
        let mut names: Vec<Name> = Vec::new();
        for (item, _) in jobs.iter_mut().filter(fresh) {
            names.push(item.session.clone());
            let agent = matches!(item.action, Action::Stop | Action::Restart(_) | Action::Reap);
            ledger.change(&item.session, |record| {
                record.ending = true;
                if let Some(launch) = record.launches.last_mut().filter(|launch| agent && launch.ended.is_none()) {
                    launch.ran |= launch.phase == Phase::Running;
                    launch.phase = Phase::Stopping;
                }
            });
        }
        let saved = ledger.save(&names);
        if let (Some(first), Err(words)) = (names.first(), &saved) {
            ledger.event(first, "record", Outcome::Failed, Some(words));
        }
        for (item, target) in jobs.iter_mut().filter(fresh) {
            target.noted = saved.is_ok() && ledger.recorded.records.contains_key(&item.session);
        }
    }

    fn target(&self, item: &Item, records: &BTreeMap<Name, Record>) -> Option<Target> {
        let id = item.id?;
        let record = records.get(&item.session);
        let seen = self.observed.sessions.get(&id);
        let declared = self.desired.sessions.get(&item.session).map(|session| session.stop_grace);
        let recorded = record.and_then(|record| record.stop_grace_ms).map(Duration::from_millis);
        let grace = declared.or(recorded).unwrap_or(Duration::from_secs(5));
        let agent = || agent_roots(record, seen, &self.observed.boot);
        let (claim, roots, units) = match &item.action {
            Action::Stop | Action::Restart(_) => (Claim::Agent, agent(), agent_units(record, &self.observed.boot)),
            Action::Reap => {
                let roots = session_roots(record, seen, &self.observed.boot);
                let mut units = agent_units(record, &self.observed.boot);
                units.extend(tab_units(record, None, &self.observed.boot));
                (Claim::Session, roots, units)
            }
            Action::CloseTab(tab) => {
                let claim = Claim::Tab(tab_id(record, seen, tab)?);
                (
                    claim,
                    tab_roots(record, seen, Some(tab), &self.observed.boot),
                    tab_units(record, Some(tab), &self.observed.boot),
                )
            }
            _ => return None,
        };
        let mut target = Target { session: id, claim, roots, units, grace, asked: None, noted: false };
        if let Some(record) = record {
            self.go_on(&mut target, record);
        }
        Some(target)
    }

    /// Goes on with what an earlier pass asked.
    fn go_on(&self, target: &mut Target, record: &Record) {
        let boot = &self.observed.boot;
        let leaving = record.leaves(&target.claim, boot);
        target.asked = leaving.map(|leaving| (leaving.stage, leaving.at));
        target.noted = leaving.is_some();
        let whole = Some(record).filter(|_| target.claim == Claim::Session);
        let parts = whole.into_iter().flat_map(|record| &record.leaving).filter(|part| part.boot == *boot);
        target.roots.extend(leaving.into_iter().chain(parts).flat_map(|leaving| &leaving.processes));
    }

    /// Closes the panes that go with the endings. A restart keeps its pane, to be used again. Answers, by session, what
    /// was refused.
    fn close(&self, ended: &[&Item], ledger: &Ledger<'_>) -> BTreeMap<Name, String> {
        let records = &ledger.recorded.records;
        let closing: Vec<&&Item> = ended.iter().filter(|item| !matches!(item.action, Action::Restart(_))).collect();
        let sockets = terminals::sockets(closing.iter().filter_map(|item| records.get(&item.session)), self.socket);
        let everyone = |words: &str| closing.iter().map(|item| (item.session.clone(), words.to_owned())).collect();
        let terminals = match Terminals::list(self.host, &sockets, &ledger.recorded.owner) {
            Ok(terminals) => terminals,
            Err(error) => return everyone(&error.to_string()),
        };
        let mut panes: BTreeMap<Socket, Vec<PaneId>> = BTreeMap::new();
        for item in &closing {
            for terminal in item.id.into_iter().flat_map(|id| terminals.of(id)) {
                let goes = match (&item.action, &terminal.stamp.tab) {
                    (Action::Reap, _) | (Action::Stop, None) => true,
                    (Action::CloseTab(closed), Some((name, _))) => closed == name,
                    _ => false,
                };
                if goes {
                    if let (Action::Stop, Some(record)) = (&item.action, records.get(&item.session)) {
                        lines::keep_shown(self.host, self.store, record, &terminal.socket, &terminal.pane.id);
                    }
                    panes.entry(terminal.socket.clone()).or_default().push(terminal.pane.id.clone());
                }
            }
        }
        for (socket, panes) in &panes {
            match self.host.close(socket, panes) {
                Ok(()) | Err(TmuxError::NoServer(_)) => {}
                Err(error) => return everyone(&error.to_string()),
            }
        }
        BTreeMap::new()
    }

    fn book(&self, item: &Item, refused: Option<String>, ledger: &mut Ledger<'_>) {
        let session = &item.session;
        let failure = refused.or_else(|| match &item.action {
            Action::CloseTab(tab) => {
                ledger.change(session, |record| {
                    record.tabs.remove(tab);
                });
                ledger.save(std::slice::from_ref(session)).err()
            }
            _ => None,
        });
        if failure.is_some() || !matches!(item.action, Action::Restart(_)) {
            ledger.note(session, word(&item.action), failure);
        }
    }

    /// Books stops, a restart's too. Their processes are gone whether or not the disk takes the news; the next pass sees
    /// it again.
    fn stopped<'i>(&self, items: impl Iterator<Item = &'i &'i Item>, ledger: &mut Ledger<'_>) {
        let stops = items.filter(|item| matches!(item.action, Action::Stop | Action::Restart(_)));
        let names: Vec<Name> = stops.map(|item| item.session.clone()).collect();
        for name in &names {
            ledger.change(name, |record| self.end_launch(record));
        }
        if let Some(first) = names.first()
            && let Err(words) = ledger.save(&names)
        {
            ledger.event(first, "record", Outcome::Failed, Some(&words));
        }
    }

    /// Books the end of the latest launch: a stop, or one that came before its program was started, so that nothing was
    /// said in the conversation it was to begin.
    fn end_launch(&self, record: &mut Record) {
        let (id, at_ms) = (record.id, Some(self.host.now().wall_ms));
        let Some(launch) = record.launches.last_mut().filter(|launch| launch.ended.is_none()) else { return };
        let files = LaunchFiles::new(&self.store.layout().launch(), id, launch.generation, None);
        let ran = launch.ran || launch.boot != self.observed.boot || files.exec_reached(self.host).unwrap_or(true);
        let never = || EndedHow::LaunchFailed("it was stopped before its program was started".to_owned());
        launch.phase = Phase::Ended;
        launch.ended = Some(Ended { how: if ran { EndedHow::Stopped } else { never() }, at_ms });
    }

    /// Turns the records of these sessions into tombstones.
    fn bury(&self, sessions: &[Name], ledger: &mut Ledger<'_>) -> Result<(), String> {
        for session in sessions {
            ledger.change(session, |record| self.end_launch(record));
        }
        let records = sessions.iter().filter_map(|name| ledger.recorded.records.get(name));
        let buried: Vec<Record> = records.cloned().collect();
        if buried.is_empty() {
            return Ok(());
        }
        self.store.bury_all(&buried, self.host.now()).map_err(|error| error.to_string())?;
        for record in buried {
            ledger.recorded.records.remove(&record.name);
        }
        Ok(())
    }
}

/// The action in one word, for progress and events.
#[must_use]
pub fn word(action: &Action) -> &'static str {
    match action {
        Action::Stop => "stop",
        Action::Reap => "reap",
        Action::CloseTab(_) => "close tab",
        Action::Restart(_) => "restart",
        Action::Launch(_) => "launch",
        Action::Adjust => "adjust",
        Action::OpenTab(_) => "open tab",
        Action::Adopt => "adopt",
        Action::Move { .. } => "move",
        Action::Waiting(_) => "waiting",
        Action::Blocked(_) => "blocked",
        Action::Unknown => "unknown",
        Action::Unchanged => "unchanged",
    }
}

/// Pane processes of the agent and of all tabs.
pub(super) fn session_roots(record: Option<&Record>, seen: Option<&Seen>, boot: &BootId) -> Vec<ProcessKey> {
    let mut roots = agent_roots(record, seen, boot);
    roots.extend(tab_roots(record, seen, None, boot));
    roots
}

/// Pane processes of the agent: the one seen, and the one recorded in this boot.
fn agent_roots(record: Option<&Record>, seen: Option<&Seen>, boot: &BootId) -> Vec<ProcessKey> {
    let mut roots = Vec::new();
    if let Some(AgentSeen::Alive(pane) | AgentSeen::Launching { pane, .. }) = seen.map(|seen| &seen.agent) {
        roots.push(pane.process);
    }
    let launches = record.map(|record| record.launches.as_slice()).unwrap_or_default();
    roots.extend(launches.iter().filter(|launch| launch.boot == *boot).filter_map(|launch| launch.process));
    roots.extend(seen.map(|seen| seen.leftovers.clone()).unwrap_or_default());
    roots
}

/// The id of an open tab, which its record may not know (a lost record was rebuilt, say), or of a recorded one.
pub(super) fn tab_id(record: Option<&Record>, seen: Option<&Seen>, tab: &Name) -> Option<SessionId> {
    match seen.and_then(|seen| seen.tabs.get(tab)) {
        Some(TabSeen::Open { id, .. }) => Some(*id),
        Some(TabSeen::Missing) | None => record.and_then(|record| record.tabs.get(tab)).map(|tab| tab.id),
    }
}

fn tab_roots(record: Option<&Record>, seen: Option<&Seen>, only: Option<&Name>, boot: &BootId) -> Vec<ProcessKey> {
    let wanted = |name: &Name| only.is_none_or(|only| only == name);
    let mut roots: Vec<ProcessKey> = record
        .map(|record| &record.tabs)
        .into_iter()
        .flatten()
        .filter(|(name, tab)| wanted(name) && tab.boot.as_ref() == Some(boot))
        .filter_map(|(_, tab)| tab.process)
        .collect();
    for (name, tab) in seen.map(|seen| &seen.tabs).into_iter().flatten() {
        if let TabSeen::Open { process: Some(process), .. } = tab
            && wanted(name)
        {
            roots.push(*process);
        }
    }
    roots
}

fn agent_units(record: Option<&Record>, boot: &BootId) -> Vec<String> {
    let Some(record) = record else { return Vec::new() };
    let scoped = record.launches.iter().filter(|launch| launch.scoped && launch.boot == *boot);
    scoped.map(|launch| scopes::agent(record.id, launch.generation)).collect()
}

fn tab_units(record: Option<&Record>, only: Option<&Name>, boot: &BootId) -> Vec<String> {
    let Some(record) = record else { return Vec::new() };
    let tabs = record
        .tabs
        .iter()
        .filter(|(name, tab)| tab.scoped && tab.boot.as_ref() == Some(boot) && only.is_none_or(|only| only == *name));
    tabs.map(|(name, _)| scopes::tab(record.id, name)).collect()
}
