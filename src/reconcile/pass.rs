//! The pass: what is recorded, what is there, what is to be done about it, done. Repeated until nothing is left to do.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::agents::catalogue;
use crate::config::desired::Desired;
use crate::host::Host;
use crate::host::clock::{Interrupt, Moment};
use crate::host::process::Signal;
use crate::host::secrets::Fetcher;
use crate::host::tmux::Socket;
use crate::observe::conversation;
use crate::observe::look::{self, Ask};
use crate::observe::observed::{AgentSeen, Observed, Seen};
use crate::observe::reading::Reading;
use crate::observe::reports::{self, Judged};
use crate::plan::action::{Action, Item};
use crate::plan::decide;
use crate::plan::reason::Reason;
use crate::plan::{Inputs, Plan, Request, Trigger};
use crate::spec::name::Name;
use crate::state::error::StateError;
use crate::state::launch_files::LaunchFiles;
use crate::state::lock::{self, Holder};
use crate::state::owner::Account;
use crate::state::record::{HoldKind, Phase, Record, Recorded, SessionId};
use crate::state::store::Store;

use super::complete::{complete, renew_hashes};
use super::cost;
use super::execute::Execution;
use super::ledger::{Author, Done, Ledger};
use super::reports::settle;

/// More passes than this in one apply mean that something is undone as fast as it is done.
const MAX_PASSES: usize = 12;
/// Between two looks at what an apply waits for.
const WAIT: Duration = Duration::from_millis(500);

/// The surroundings of a reconcile.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The state directory, canonical.
    pub state_dir: PathBuf,
    /// The tmux server of new sessions.
    pub socket: Socket,
    /// The account.
    pub account: Account,
    /// farhelm's own program.
    pub farhelm: PathBuf,
    /// The login shell.
    pub shell: PathBuf,
    /// The verb, for the lock and the event log.
    pub actor: String,
    /// How long a lock is waited for.
    pub patience: Duration,
    /// The session farhelm itself runs inside.
    pub inside: Option<SessionId>,
    /// Look for agents that are not ours in the sessions' directories.
    pub unmanaged: bool,
    /// Look at the conversations of sessions that run as they should, too.
    pub thorough: bool,
    /// The account's home directory, as the environment says.
    pub home: Option<String>,
    /// The commit the fleet files are at.
    pub revision: Option<String>,
}

/// What is recorded and what is there.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The records, completed from what was seen.
    pub recorded: Recorded,
    /// What was seen.
    pub observed: Observed,
    /// Records that differ from what is on disk.
    pub changed: Vec<Name>,
    /// What came of the reports that were found.
    pub judged: Vec<Judged>,
}

/// What an apply came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What was done, in order.
    pub done: Vec<Done>,
    /// The plan of what remains.
    pub plan: Plan,
    /// The operator interrupted it.
    pub interrupted: bool,
    /// `--timeout` ended it.
    pub timed_out: bool,
}

impl Outcome {
    /// Whether anything failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.done.iter().any(|done| done.failure.is_some())
    }
}

/// Why no pass could be made.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// The state directory's.
    #[error(transparent)]
    State(#[from] StateError),
    /// The fleet has no name.
    #[error("the fleet has no name; write `fleet: NAME` at the top of its file")]
    NoFleet,
}

/// How long an apply may go on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patience {
    /// Wait for working sessions (`--wait`).
    pub wait: bool,
    /// Give up after this time (`--timeout`).
    pub timeout: Option<Duration>,
}

/// Reconciles one fleet on one machine.
pub struct Reconciler<'a> {
    host: &'a dyn Host,
    setup: &'a Setup,
    store: Store<'a>,
}

impl<'a> Reconciler<'a> {
    /// Opens the state directory.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn new(host: &'a dyn Host, setup: &'a Setup) -> Result<Self, PassError> {
        Ok(Self { host, setup, store: Store::open(host, &setup.state_dir, &setup.account)? })
    }

    /// The state directory.
    #[must_use]
    pub fn store(&self) -> &Store<'a> {
        &self.store
    }

    /// What is recorded and what is there; nothing is written.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub fn look(&self, desired: &Desired) -> Result<Situation, PassError> {
        self.look_from(desired, || None)
    }

    /// [`Self::look`], from what was read meanwhile: `early` is asked for it when the records are known.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn look_from(
        &self,
        desired: &Desired,
        early: impl FnOnce() -> Option<Reading>,
    ) -> Result<Situation, PassError> {
        let fleet = desired.fleet.as_ref().ok_or(PassError::NoFleet)?;
        let memory = self.store.records_for(fleet, &desired.sessions.keys())?;
        let mut recorded = self.store.select(&memory, fleet, desired.moved_from.as_ref())?;
        let boot = self.host.boot().ok();
        let launch_dir = self.store.layout().launch();
        let ask = Ask {
            socket: &self.setup.socket,
            owner: self.store.owner(),
            fleet,
            moved_from: desired.moved_from.as_ref(),
            records: &recorded.records,
            servers: &boot.map(|boot| memory.servers(&boot)).unwrap_or_default(),
            dirs: desired.sessions.values().map(|s| (s.name.clone(), s.dir.path.clone())).collect(),
            launch_dir: &launch_dir,
            process_names: &desired
                .kinds
                .iter()
                .map(|(name, kind)| (name.clone(), kind.process_names.clone()))
                .collect(),
            unmanaged: self.setup.unmanaged,
        };
        let mut observed = look::look(self.host, &ask, early());
        let marks: BTreeSet<PathBuf> =
            self.host.list(&launch_dir).unwrap_or_default().iter().map(|name| launch_dir.join(name)).collect();
        let executed = |record: &Record, generation: u32| {
            marks.contains(&LaunchFiles::new(&launch_dir, record.id, generation, None).exec)
        };
        observed.contents = Fetcher::new().contents(desired.sessions.values());
        let before = recorded.records.clone();
        complete(&mut recorded, &observed, &executed);
        let kind_of = |kind: &Name| desired.kinds.get(kind).or_else(|| catalogue::builtin().get(kind));
        let judged = reports::judge(self.host, self.store.layout(), &mut recorded, &mut observed, &kind_of);
        let ask = conversation::Ask { desired, thorough: self.setup.thorough, home: self.setup.home.as_deref() };
        conversation::add(self.host, &ask, &mut observed, &recorded, &kind_of);
        conversation::note_found(&observed, &mut recorded);
        let changed = recorded.records.iter().filter(|(name, record)| before.get(*name) != Some(record));
        let changed = changed.map(|(name, _)| name.clone()).collect();
        Ok(Situation { recorded, observed, changed, judged })
    }

    /// The plan of a situation.
    #[must_use]
    pub fn plan(&self, desired: &Desired, situation: &Situation, request: &Request) -> Plan {
        decide::plan(&self.inputs(desired, situation, request))
    }

    /// The plan of a situation as it is shown: what its reaps would end is counted in full.
    #[must_use]
    pub fn plan_in_full(&self, desired: &Desired, situation: &mut Situation, request: &Request) -> Plan {
        let plan = self.plan(desired, situation, request);
        if cost::count(self.host, &plan, situation) { self.plan(desired, situation, request) } else { plan }
    }

    /// What a plan of this situation is made from.
    #[must_use]
    pub fn inputs<'i>(&self, desired: &'i Desired, situation: &'i Situation, request: &'i Request) -> Inputs<'i> {
        Inputs {
            desired,
            observed: &situation.observed,
            recorded: &situation.recorded,
            now: self.host.now(),
            request,
            inside: self.setup.inside,
            revision: self.setup.revision.clone(),
        }
    }

    /// Makes passes until nothing is left that may be done.
    ///
    /// # Errors
    /// When a pass cannot be made at all; what fails for one session is in the [`Outcome`].
    pub fn converge(
        &self,
        desired: &Desired,
        request: &Request,
        patience: Patience,
        report: &mut dyn FnMut(&Done),
    ) -> Result<Outcome, PassError> {
        let begun = self.host.now();
        let left = || patience.timeout.map(|limit| limit.saturating_sub(self.host.now().since(&begun)));
        {
            let _lock = self.lock_within(left())?;
            // What cannot be removed now counts for nothing all the same.
            let _ = self.store.tidy(begun);
        }
        let mut request = request.clone();
        let mut done: Vec<Done> = Vec::new();
        let mut tried: BTreeSet<(Name, &'static str)> = BTreeSet::new();
        let mut passes = 0;
        loop {
            let (plan, worked) = {
                let _lock = self.lock_within(left())?;
                self.pass(desired, &request, &mut tried, &mut done, report)?
            };
            let untouched = |name: &Name| !done.iter().any(|done| done.session == *name);
            request.again.retain(untouched);
            request.start.retain(untouched);
            passes += 1;
            let interrupted = self.host.interrupt() != Interrupt::None;
            let timed_out = patience.timeout.is_some_and(|limit| self.host.now().since(&begun) >= limit);
            let waiting = patience.wait && plan.items.iter().any(is_awaited);
            if interrupted || timed_out || (!worked && !waiting) || passes >= MAX_PASSES && !waiting {
                return Ok(Outcome { done, plan, interrupted, timed_out });
            }
            if !worked {
                self.host.sleep(WAIT);
            }
        }
    }

    /// One pass, under the caller's lock: whether anything was done, and the plan it was done by.
    fn pass(
        &self,
        desired: &Desired,
        request: &Request,
        tried: &mut BTreeSet<(Name, &'static str)>,
        done: &mut Vec<Done>,
        report: &mut dyn FnMut(&Done),
    ) -> Result<(Plan, bool), PassError> {
        let mut situation = self.look(desired)?;
        let plan = self.plan(desired, &situation, request);
        self.book_fleet(desired, request, plan.header.sources_stand, &mut situation.recorded)?;
        if plan.header.sources_stand {
            let Situation { recorded, observed, changed, .. } = &mut situation;
            changed.extend(renew_hashes(recorded, desired, &observed.contents));
        }
        let todo: Vec<&Item> = plan
            .items
            .iter()
            .filter(|item| item.action.effective())
            .filter(|item| !tried.contains(&(item.session.clone(), super::ending::word(&item.action))))
            .collect();
        tried.extend(todo.iter().map(|item| (item.session.clone(), super::ending::word(&item.action))));
        let worked = !todo.is_empty();
        done.extend(self.carry_out(desired, situation, &todo, report)?);
        Ok((plan, worked))
    }

    /// Writes completed records down, and does what `todo` says.
    fn carry_out(
        &self,
        desired: &Desired,
        situation: Situation,
        todo: &[&Item],
        report: &mut dyn FnMut(&Done),
    ) -> Result<Vec<Done>, PassError> {
        let author = Author {
            actor: self.setup.actor.clone(),
            fleet: desired.fleet.clone().ok_or(PassError::NoFleet)?,
            revision: self.setup.revision.clone(),
        };
        let Situation { recorded, observed, changed, judged } = situation;
        let mut ledger = Ledger::new(self.host, &self.store, (recorded, observed.boot.clone()), author, report);
        let saved = ledger.save(&changed);
        if let (Some(first), Err(words)) = (changed.first(), &saved) {
            ledger.event(first, "record", crate::state::events::Outcome::Failed, Some(words));
        }
        let (host, store, setup) = (self.host, &self.store, self.setup);
        let execution = Execution { host, store, setup, desired, observed: &observed };
        execution.restamp_reported(&judged, &ledger);
        settle(host, store, &judged, saved.is_ok(), &ledger);
        self.thaw(todo, &observed, &mut ledger);
        if !todo.is_empty() {
            execution.run(todo, &mut Fetcher::new(), &mut ledger);
        }
        Ok(ledger.done)
    }

    /// A pass that died between STOP and KILL left an agent frozen. Where it is no longer to be ended it goes on.
    fn thaw(&self, todo: &[&Item], observed: &Observed, ledger: &mut Ledger<'_>) {
        let now = self.host.now().wall_ms;
        let ends = |item: &&&Item| matches!(item.action, Action::Stop | Action::Reap | Action::Restart(_));
        let ended: BTreeSet<&Name> = todo.iter().filter(ends).map(|item| &item.session).collect();
        let paused = |record: &Record| record.hold_at(now).is_some_and(|hold| hold.what == HoldKind::Paused);
        let begun = |record: &&Record| {
            let launch = record.launch().filter(|launch| launch.phase == Phase::Stopping && launch.ended.is_none());
            launch.is_some() && !paused(record) && !ended.contains(&record.name)
        };
        let frozen: Vec<Record> = ledger.recorded.records.values().filter(begun).cloned().collect();
        for record in frozen {
            let seen = observed.sessions.get(&record.id).map(|seen| &seen.agent);
            let (Some(AgentSeen::Alive(pane)), Ok(table)) = (seen, self.host.table()) else { continue };
            for key in table.trees(&[pane.process]) {
                self.host.signal(key, Signal::Cont);
            }
            ledger.change(&record.name, |record| {
                if let Some(launch) = record.launches.last_mut() {
                    launch.phase = Phase::Running;
                }
            });
            if let Err(words) = ledger.save(std::slice::from_ref(&record.name)) {
                ledger.event(&record.name, "record", crate::state::events::Outcome::Failed, Some(&words));
            }
        }
    }

    /// One pass that does only what `wanted` allows of its plan.
    ///
    /// # Errors
    /// As [`Self::converge`].
    pub fn once(
        &self,
        desired: &Desired,
        request: &Request,
        wanted: &dyn Fn(&Action) -> bool,
        report: &mut dyn FnMut(&Done),
    ) -> Result<Vec<Done>, PassError> {
        let _lock = self.lock()?;
        let situation = self.look(desired)?;
        let plan = self.plan(desired, &situation, request);
        let todo: Vec<&Item> = plan.items.iter().filter(|item| wanted(&item.action)).collect();
        self.carry_out(desired, situation, &todo, report)
    }

    /// The record of a session that has none, rebuilt from the stamp of its pane; nothing is written.
    #[must_use]
    pub fn rebuilt(&self, desired: &Desired, situation: &Situation, name: &Name) -> Option<Record> {
        let stamped = |seen: &Seen| seen.stamp.as_ref().is_some_and(|stamp| stamp.session == *name);
        let (id, _) = situation.observed.sessions.iter().find(|(_, seen)| stamped(seen))?;
        let (host, store, setup) = (self.host, &self.store, self.setup);
        Execution { host, store, setup, desired, observed: &situation.observed }.rebuilt(*id)
    }

    /// Takes the state directory's lock.
    ///
    /// # Errors
    /// When somebody else holds it for too long.
    pub fn lock(&self) -> Result<Box<dyn crate::host::disk::Lock>, PassError> {
        self.lock_within(None)
    }

    /// As [`Self::lock`], waiting no longer than `left`.
    fn lock_within(&self, left: Option<Duration>) -> Result<Box<dyn crate::host::disk::Lock>, PassError> {
        let holder = Holder { pid: self.host.own(), verb: self.setup.actor.clone(), since: self.host.now() };
        let patience = left.unwrap_or(self.setup.patience).min(self.setup.patience);
        Ok(lock::acquire(self.host, self.host, self.store.layout().dir(), &holder, patience)?)
    }

    /// Remembers the files a fleet is applied from, where they are its own, and whether `down` was the last word.
    fn book_fleet(
        &self,
        desired: &Desired,
        request: &Request,
        own: bool,
        recorded: &mut Recorded,
    ) -> Result<(), PassError> {
        let Some(fleet) = &desired.fleet else { return Ok(()) };
        let mut record = recorded.fleet.clone();
        if own {
            record.sources.clone_from(&desired.sources);
        }
        let everything = request.selection.only.is_none() && request.selection.labels.is_empty();
        match request.trigger {
            Trigger::Down if everything && request.selection.exclude.is_none() => record.down = true,
            Trigger::Apply if request.again.is_empty() && everything => record.down = false,
            _ => {}
        }
        if record != recorded.fleet {
            // A full disk must not keep a `down` from ending what runs.
            match self.store.save_fleet(fleet, &record) {
                Err(error) if request.trigger != Trigger::Down => return Err(error.into()),
                _ => recorded.fleet = record,
            }
        }
        Ok(())
    }
}

/// What `--wait` waits for.
fn is_awaited(item: &Item) -> bool {
    let awaited = |reason: &Reason| matches!(reason, Reason::Working | Reason::Launching { .. });
    matches!(item.action, Action::Waiting(_)) && item.reasons.iter().any(awaited)
}

/// The end of a time from now, for people.
#[must_use]
pub fn after(now: Moment, time: Duration) -> i64 {
    now.wall_ms.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
