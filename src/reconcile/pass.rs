//! The pass: what is recorded, what is there, what is to be done about it, done. Repeated until nothing is left to do.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::desired::Desired;
use crate::host::Host;
use crate::host::clock::{Interrupt, Moment};
use crate::host::secrets::Fetcher;
use crate::host::tmux::Socket;
use crate::observe::observed::Observed;
use crate::plan::action::{Action, Item};
use crate::plan::reason::Reason;
use crate::plan::{Plan, Request, Trigger};
use crate::spec::name::Name;
use crate::state::children::End;
use crate::state::error::StateError;
use crate::state::kept::{self, Kept};
use crate::state::lock::{self, Holder};
use crate::state::owner::Account;
use crate::state::record::{Recorded, SessionId};
use crate::state::store::Store;

use super::complete::renew_hashes;
use super::execute::Execution;
use super::ledger::{Author, Done, Ledger};
use super::reports::settle;
use super::situation::Situation;
use super::thaw::thaw;

/// More passes than this, and one for each session, in one apply mean that something is undone as fast as it is done.
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
    /// Somebody waits for the outcome: each launch is followed until it has lived for a moment. Whoever stays learns
    /// that as it happens.
    pub attended: bool,
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

/// What one pass came to.
#[derive(Debug, Clone)]
pub struct Round {
    /// The plan it was made by.
    pub plan: Plan,
    /// Something was tried, and is not just given its time.
    pub worked: bool,
    /// What was done.
    pub done: Vec<Done>,
    /// The records after it.
    pub recorded: Recorded,
    /// What was seen before it.
    pub observed: Observed,
}

/// What came of carrying a plan out.
struct Carried {
    done: Vec<Done>,
    /// Sessions of which something was asked to end and takes its time.
    left: BTreeSet<Name>,
    recorded: Recorded,
    observed: Observed,
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
    pub(super) host: &'a dyn Host,
    pub(super) setup: &'a Setup,
    pub(super) store: Store<'a>,
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
        self.tidy_within(left())?;
        let mut request = request.clone();
        let mut done: Vec<Done> = Vec::new();
        let mut tried: BTreeSet<(Name, &'static str)> = BTreeSet::new();
        let mut passes = 0;
        loop {
            let (plan, worked) = {
                let _lock = self.lock_within(left())?;
                let mut untried = |item: &Item| tried.insert((item.session.clone(), super::ending::word(&item.action)));
                let round = self.pass(desired, &request, &mut untried, report)?;
                done.extend(round.done);
                (round.plan, round.worked)
            };
            let untouched = |name: &Name| !done.iter().any(|done| done.session == *name);
            request.again.retain(untouched);
            request.start.retain(untouched);
            passes += 1;
            let interrupted = self.host.interrupt() != Interrupt::None;
            let timed_out = patience.timeout.is_some_and(|limit| self.host.now().since(&begun) >= limit);
            let waiting = patience.wait && plan.items.iter().any(is_awaited);
            // A rollout takes a pass for each step.
            let many = MAX_PASSES + plan.items.len();
            if interrupted || timed_out || (!worked && !waiting) || passes >= many && !waiting {
                return Ok(Outcome { done, plan, interrupted, timed_out });
            }
            if !worked {
                self.host.sleep(WAIT);
            }
        }
    }

    /// Finishes and removes what earlier runs left in the state directory, and puts room aside for a full disk.
    ///
    /// # Errors
    /// When somebody else holds the lock for too long.
    pub fn tidy(&self) -> Result<(), PassError> {
        self.tidy_within(None)
    }

    fn tidy_within(&self, left: Option<Duration>) -> Result<(), PassError> {
        let _lock = self.lock_within(left)?;
        // What cannot be removed now counts for nothing all the same.
        let _ = self.store.tidy(self.host.now());
        Ok(())
    }

    /// One pass, under the caller's lock. `pick` says what of its plan is carried out.
    fn pass(
        &self,
        desired: &Desired,
        request: &Request,
        pick: &mut dyn FnMut(&Item) -> bool,
        report: &mut dyn FnMut(&Done),
    ) -> Result<Round, PassError> {
        let mut situation = self.look(desired)?;
        let plan = self.plan(&situation, request);
        self.book_fleet(desired, request, plan.header.sources_stand, &mut situation.recorded)?;
        if plan.header.sources_stand {
            let Situation { desired, recorded, observed, changed, .. } = &mut situation;
            changed.extend(renew_hashes(recorded, desired, &observed.contents));
        }
        let todo: Vec<&Item> = plan.items.iter().filter(|item| item.action.effective() && pick(item)).collect();
        begin_anew(&todo, request, &mut situation.recorded);
        self.book_children(desired, &todo)?;
        let Carried { done, left, recorded, observed } = self.carry_out(situation, &todo, report)?;
        let worked = todo.iter().any(|item| !left.contains(&item.session));
        Ok(Round { plan, worked, done, recorded, observed })
    }

    /// One pass by itself, for whoever stays: what of the plan `pick` allows.
    ///
    /// # Errors
    /// As [`Self::converge`].
    pub fn round(
        &self,
        desired: &Desired,
        request: &Request,
        pick: &mut dyn FnMut(&Item) -> bool,
        report: &mut dyn FnMut(&Done),
    ) -> Result<Round, PassError> {
        let _lock = self.lock()?;
        self.pass(desired, request, pick, report)
    }

    /// Writes completed records down, and does what `todo` says. Returns what was done, and what is known then.
    fn carry_out(
        &self,
        situation: Situation<'_>,
        todo: &[&Item],
        report: &mut dyn FnMut(&Done),
    ) -> Result<Carried, PassError> {
        let Situation { desired, recorded, observed, changed, judged } = situation;
        let author = Author {
            actor: self.setup.actor.clone(),
            fleet: desired.fleet.clone().ok_or(PassError::NoFleet)?,
            revision: self.setup.revision.clone(),
        };
        let mut ledger = Ledger::new(self.host, &self.store, (recorded, observed.boot.clone()), author, report);
        // A launch writes its session's record down before it does anything: once is enough.
        let starts = |name: &Name| {
            let starts = |item: &&Item| item.session == *name && matches!(item.action, Action::Launch(_));
            todo.iter().any(starts) && judged.iter().all(|one| one.session != *name)
        };
        let (owed, changed): (Vec<Name>, Vec<Name>) = changed.into_iter().partition(starts);
        ledger.owe(owed);
        let saved = ledger.save(&changed);
        if let (Some(first), Err(words)) = (changed.first(), &saved) {
            ledger.event(first, "record", crate::state::events::Outcome::Failed, Some(words));
        }
        let (host, store, setup) = (self.host, &self.store, self.setup);
        let execution = Execution { host, store, setup, desired: &desired, observed: &observed };
        execution.restamp_reported(&judged, &ledger);
        settle(host, store, &judged, saved.is_ok(), &ledger);
        thaw(host, todo, &observed, &mut ledger);
        if !todo.is_empty() {
            execution.run(todo, &mut Fetcher::new(self.host), &mut ledger);
        }
        ledger.flush(false);
        let Ledger { done, left, recorded, .. } = ledger;
        Ok(Carried { done, left, recorded, observed })
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
        let plan = self.plan(&situation, request);
        let todo: Vec<&Item> = plan.items.iter().filter(|item| wanted(&item.action)).collect();
        self.carry_out(situation, &todo, report).map(|carried| carried.done)
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
        Ok(lock::acquire(self.host, self.host, &self.store.layout().lock(), &holder, patience)?)
    }

    /// Remembers which of the sessions that agents asked for are not to come back: those that are about to be reaped, and
    /// those that the files have taken over.
    fn book_children(&self, desired: &Desired, todo: &[&Item]) -> Result<(), PassError> {
        let Some(fleet) = &desired.fleet else { return Ok(()) };
        let mut children = self.store.children(fleet, desired.moved_from.as_ref())?;
        if children.live().next().is_none() {
            return Ok(());
        }
        let now = self.host.now().wall_ms;
        let reaped = |name: &Name| todo.iter().any(|item| item.session == *name && item.action == Action::Reap);
        let ended = children.end(End::Reaped, now, |child| reaped(&child.name));
        if ended | children.end(End::Declared, now, |child| desired.declares(&child.name)) {
            children.prune(now);
            // What cannot be remembered now comes back with its parent; a full disk must not keep anything from ending.
            let _ = self.store.save_children(fleet, &children);
        }
        Ok(())
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
        if own && request.trigger == Trigger::Apply && everything {
            let kept = Kept::new(self.host.now().wall_ms, self.setup.revision.clone(), desired.clone());
            // Without it nothing but a request is worse off, and only while no `watch` runs.
            let _ = kept::keep_applied(self.host, self.store.layout(), &kept);
        }
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

/// What an operator asks for, and what changed, is a new attempt: earlier failures do not count against it.
fn begin_anew(todo: &[&Item], request: &Request, recorded: &mut Recorded) {
    let changed = |item: &Item| item.reasons.iter().any(|reason| matches!(reason, Reason::Changed { .. }));
    for item in todo.iter().filter(|item| matches!(item.action, Action::Launch(_) | Action::Restart(_))) {
        let anew = request.trigger != Trigger::Watch || changed(item);
        if let Some(record) = recorded.records.get_mut(&item.session).filter(|_| anew) {
            record.failures = 0;
        }
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
