//! The books of one apply: records as they change, what was done, and the event log.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::host::Host;
use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::{PaneId, Socket, TmuxSession};
use crate::spec::name::Name;
use crate::state::events::{Event, EventLog, Outcome};
use crate::state::record::{Ended, EndedHow, Phase, Record, Recorded, TabRecord};
use crate::state::store::Store;

use super::launch::{Opening, Progress, SETTLE, Seat};
use super::lines;

/// Between two writings of what launches come to.
const SAVE_EVERY: Duration = Duration::from_millis(500);

/// One thing done, or not.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Done {
    /// The session.
    pub session: Name,
    /// What: `launch`, `restart, resume`, `reap`, `close tab logs`, …
    pub what: String,
    /// Why it failed; none when it succeeded.
    pub failure: Option<String>,
}

/// What a launch left to be watched for a moment.
#[derive(Debug, Clone)]
struct Young {
    what: String,
    pane: PaneId,
    socket: Socket,
    process: Option<ProcessKey>,
    since: Moment,
}

/// The books.
pub struct Ledger<'a> {
    host: &'a dyn Host,
    store: &'a Store<'a>,
    log: EventLog<'a>,
    boot: BootId,
    actor: String,
    fleet: Name,
    revision: Option<String>,
    report: &'a mut dyn FnMut(&Done),
    /// Records, as they are now.
    pub recorded: Recorded,
    /// What was done so far.
    pub done: Vec<Done>,
    /// tmux sessions of what was opened, by session.
    pub terminals: BTreeMap<Name, (Socket, TmuxSession)>,
    /// What each opening is called in `done`.
    pub titles: BTreeMap<Name, String>,
    /// Sessions of which something was asked to end and takes its time.
    pub left: BTreeSet<Name>,
    young: BTreeMap<Name, Young>,
    /// Records of launches that came up or failed, not yet written, and since when at the latest.
    unsaved: Vec<Name>,
    saved: Moment,
}

/// Who writes, in every event.
#[derive(Debug, Clone)]
pub struct Author {
    /// `apply`, `watch`, `down`, …
    pub actor: String,
    /// The fleet.
    pub fleet: Name,
    /// The commit of its files.
    pub revision: Option<String>,
}

impl<'a> Ledger<'a> {
    /// Opens the books on what is recorded.
    pub fn new(
        host: &'a dyn Host,
        store: &'a Store<'a>,
        (recorded, boot): (Recorded, BootId),
        author: Author,
        report: &'a mut dyn FnMut(&Done),
    ) -> Self {
        let Author { actor, fleet, revision } = author;
        Self {
            host,
            store,
            log: EventLog::new(host, store.layout()),
            boot,
            actor,
            fleet,
            revision,
            report,
            recorded,
            done: Vec::new(),
            terminals: BTreeMap::new(),
            titles: BTreeMap::new(),
            left: BTreeSet::new(),
            young: BTreeMap::new(),
            unsaved: Vec::new(),
            saved: host.now(),
        }
    }

    /// Changes a record in memory.
    pub fn change(&mut self, name: &Name, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.recorded.records.get_mut(name) {
            change(record);
        }
    }

    /// Writes these records.
    ///
    /// # Errors
    /// The state directory's error, in words.
    pub fn save(&self, names: &[Name]) -> Result<(), String> {
        let names: BTreeSet<&Name> = names.iter().collect();
        let records: Vec<Record> =
            names.into_iter().filter_map(|name| self.recorded.records.get(name)).cloned().collect();
        self.store.save(&records).map_err(|error| error.to_string())
    }

    /// Notes one thing done, in the outcome, on the screen and in the event log.
    pub fn note(&mut self, session: &Name, what: &str, failure: Option<String>) {
        let result = if failure.is_some() { Outcome::Failed } else { Outcome::Done };
        self.event(session, what, result, failure.as_deref());
        let done = Done { session: session.clone(), what: what.to_owned(), failure };
        (self.report)(&done);
        self.done.push(done);
    }

    /// Writes an event; a full disk never fails a pass.
    pub fn event(&self, session: &Name, action: &str, result: Outcome, detail: Option<&str>) {
        let event = Event {
            fleet: Some(self.fleet.clone()),
            revision: self.revision.clone(),
            session: Some(session.clone()),
            detail: detail.map(str::to_owned),
            ..Event::new(self.host.now(), &self.actor, action, result)
        };
        let _ = self.log.append(&[event]);
    }

    /// Writes a batch's intents down, before its panes are opened.
    ///
    /// # Errors
    /// Nothing may be opened then.
    pub fn intend(&mut self, batch: &[Opening]) -> Result<(), String> {
        let mut names = Vec::new();
        for opening in batch {
            if let Some(intent) = &opening.intent {
                self.recorded.records.insert(opening.session.clone(), (**intent).clone());
                names.push(opening.session.clone());
            } else if let Some((tab, id)) = &opening.tab {
                let record = TabRecord {
                    id: *id,
                    definition: opening.definition.clone(),
                    pane: None,
                    process: None,
                    boot: Some(self.boot.clone()),
                    socket: Some(opening.socket.clone()),
                    scoped: opening.scoped,
                };
                self.change(&opening.session, |r| {
                    r.tabs.insert(tab.clone(), record);
                });
                names.push(opening.session.clone());
            }
        }
        names.dedup();
        self.save(&names)
    }

    /// Books steps of openings; [`Self::flush`] writes them down.
    pub fn progress(&mut self, steps: &[(&Opening, Progress)]) {
        for (opening, step) in steps {
            match (&opening.tab, step) {
                (None, Progress::Opened(Seat { opened, process, server })) => {
                    self.terminals.insert(opening.session.clone(), (opening.socket.clone(), opened.session.clone()));
                    if let Some(text) = &opened.showed {
                        let before = opening.spec.generation.saturating_sub(1);
                        lines::keep(self.host, self.store, opening.id, before, text);
                    }
                    self.change(&opening.session, |record| {
                        if let Some(launch) = record.launches.last_mut() {
                            launch.phase = Phase::Opened;
                            launch.server = *server;
                            launch.pane = Some(opened.pane.clone());
                            launch.process = *process;
                        }
                    });
                }
                (Some((tab, _)), Progress::Opened(Seat { opened, process, .. })) => {
                    self.change(&opening.session, |record| {
                        if let Some(tab) = record.tabs.get_mut(tab) {
                            tab.pane = Some(opened.pane.clone());
                            tab.process = *process;
                        }
                    });
                }
                (None, Progress::Running) => {
                    self.running(&opening.session);
                    self.unsaved.push(opening.session.clone());
                }
                (Some((tab, _)), Progress::Running) => {
                    self.note(&opening.session, &format!("open tab {tab}"), None);
                    self.unsaved.push(opening.session.clone());
                }
                (tab, Progress::Failed(words)) => {
                    if tab.is_none() {
                        self.launch_failed(&opening.session, words);
                    }
                    self.unsaved.push(opening.session.clone());
                    self.note(&opening.session, &self.title(opening), Some(words.clone()));
                }
                (_, Progress::NotBegun) => {
                    let words = "not begun: interrupted".to_owned();
                    self.note(&opening.session, &self.title(opening), Some(words));
                }
            }
        }
    }

    /// Has these records written at the next [`Self::flush`], where nothing writes them before.
    pub fn owe(&mut self, names: Vec<Name>) {
        self.unsaved.extend(names);
    }

    /// Writes down what [`Self::progress`] booked, many records with one sync: at once when nothing else is `coming`,
    /// otherwise every [`SAVE_EVERY`]. What a death leaves unwritten is seen again by the next pass.
    pub fn flush(&mut self, coming: bool) {
        let now = self.host.now();
        if self.unsaved.is_empty() || (coming && now.since(&self.saved) < SAVE_EVERY) {
            return;
        }
        self.saved = now;
        let names = std::mem::take(&mut self.unsaved);
        if let Err(words) = self.save(&names) {
            self.event(&names[0], "record", Outcome::Failed, Some(&words));
        }
    }

    /// Logs openings whose outcome a later pass sees, and does not log: nobody else says that they were begun.
    pub fn left_flying<'o>(&self, openings: impl Iterator<Item = &'o Opening>) {
        openings.for_each(|opening| self.event(&opening.session, &self.title(opening), Outcome::Begun, None));
    }

    fn title(&self, opening: &Opening) -> String {
        match &opening.tab {
            Some((tab, _)) => format!("open tab {tab}"),
            None => self.titles.get(&opening.session).cloned().unwrap_or_else(|| "launch".to_owned()),
        }
    }

    fn running(&mut self, session: &Name) {
        let now = self.host.now();
        let what = self.titles.get(session).cloned().unwrap_or_else(|| "launch".to_owned());
        let Some(record) = self.recorded.records.get_mut(session) else { return };
        let Some(launch) = record.launches.last_mut() else { return };
        launch.phase = Phase::Running;
        if launch.prompt.is_some() {
            record.prompt_delivered.clone_from(&launch.prompt);
        }
        if let Some(pane) = launch.pane.clone() {
            let young = Young { what, pane, socket: launch.socket.clone(), process: launch.process, since: now };
            self.young.insert(session.clone(), young);
        }
    }

    fn launch_failed(&mut self, session: &Name, words: &str) {
        let now = self.host.now();
        let at_ms = Some(now.wall_ms);
        self.change(session, |record| {
            record.failures = record.failures.saturating_add(1);
            if let Some(launch) = record.launches.last_mut().filter(|l| l.pane.is_some()) {
                launch.phase = Phase::Ended;
                launch.over = Some(now);
                launch.ended = Some(Ended { how: EndedHow::LaunchFailed(words.to_owned()), at_ms });
            }
        });
    }

    /// Waits until everything launched has lived for [`SETTLE`], and says which did not; says so at once where nobody
    /// waits for it.
    pub fn settle(&mut self, attended: bool) {
        if !attended {
            for (name, young) in std::mem::take(&mut self.young) {
                self.note(&name, &young.what, None);
            }
        }
        while let Some(last) = self.young.values().map(|young| young.since).max() {
            let keys = self.young.values().filter_map(|young| young.process).collect();
            let left = SETTLE.saturating_sub(self.host.now().since(&last));
            let alive = self.host.wait_gone(&keys, left.min(Duration::from_millis(100)));
            let over = left.is_zero() || self.host.interrupt() != crate::host::clock::Interrupt::None;
            let gone = |young: &Young| young.process.is_none_or(|key| !alive.contains(&key));
            let ended: Vec<Name> = self.young.iter().filter(|(_, y)| gone(y)).map(|(name, _)| name.clone()).collect();
            for name in ended {
                if let Some(young) = self.young.remove(&name) {
                    let failure = self.early_end(&young);
                    self.note(&name, &young.what, failure);
                }
            }
            if over {
                for (name, young) in std::mem::take(&mut self.young) {
                    self.note(&name, &young.what, None);
                }
            }
        }
    }

    /// Why a process that ended so soon did; none when it finished with status 0.
    fn early_end(&self, young: &Young) -> Option<String> {
        let panes = self.host.panes(&young.socket).ok();
        let end = panes.and_then(|panes| panes.panes.into_iter().find(|p| p.id == young.pane)).and_then(|p| p.end);
        let within = format!("within {}s of its start", SETTLE.as_secs());
        match end.map(|end| (end.status, end.signal)) {
            Some((Some(0), None)) => None,
            Some((Some(status), _)) => Some(format!("it exited with status {status} {within}")),
            Some((_, Some(signal))) => Some(format!("it was killed by signal {signal} {within}")),
            _ => Some(format!("it ended {within}")),
        }
    }
}
