//! The resident reconcile: hears news, reads files that have settled, and makes passes until nothing is left to do.
//!
//! Nothing is decided here that a plan does not decide. News never say what is so; they say that it is time to look. Lost,
//! late, repeated and made-up news cost a look and nothing else. Whoever runs it waits for news of [`Watch::interest`] for
//! at most [`Watch::patience`], and lets it [`Watch::hear`] them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::desired::Desired;
use crate::host::Host;
use crate::host::clock::{Interrupt, Moment};
use crate::host::disk::Lock;
use crate::host::news::{Interest, News};
use crate::plan::action::Item;
use crate::plan::status::{self, Status};
use crate::plan::{Request, Trigger};
use crate::spec::name::Name;
use crate::state::error::StateError;
use crate::state::events::{Event, EventLog, Outcome};
use crate::state::kept::{self, Kept};
use crate::state::layout::Layout;
use crate::state::lock::{self, Holder};
use crate::state::store::Store;

use super::pass::{PassError, Reconciler, Round, Setup};

pub mod agenda;
pub mod conditions;
pub mod ends;
pub mod files;
mod requests;
pub mod restraint;
pub mod said;

use conditions::{Conditions, Failures};
use ends::Ends;
use files::{Settling, Source};
use restraint::{Restraint, Switches};
use said::sign;
pub use said::{Said, StartError};

/// How long another one's lock is waited for: `status` takes it for an instant to learn whether there is a `watch`.
const GLANCE: Duration = Duration::from_secs(1);

/// At least this time between two passes that news ask for: agents that report without end must not keep a processor busy.
const BREATH: Duration = Duration::from_millis(100);

/// Between two times that the state directory is tidied: what is removed then is days old.
const TIDY: Duration = Duration::from_secs(3600);

/// A resident reconcile of one fleet.
pub struct Watch<'a> {
    host: &'a dyn Host,
    setup: Setup,
    /// What the fleet is kept under.
    key: String,
    desired: Desired,
    /// What is wrong with the files, since they cannot be used.
    unfit: Option<String>,
    settling: Settling,
    /// The files' stamp when they were last read.
    stamp: u64,
    restraint: Restraint,
    conditions: Conditions,
    failures: Failures,
    /// Each session as the last pass found it.
    sessions: Vec<Status>,
    /// What keeps the sessions that agents asked for from being as they are wanted, in words.
    keeping: BTreeMap<Name, String>,
    /// When the next pass is due.
    due: Due,
    ends: Ends,
    /// Sessions of which something was asked to end and takes its time.
    leaving: BTreeSet<Name>,
    dirs: BTreeSet<PathBuf>,
    /// When the state directory was last tidied.
    tidied: Option<Moment>,
    /// Looks in a row that left something unknown, or passes that could not be made.
    doubts: u32,
    /// Why no pass could be made, when that was told last: its [`sign`].
    no_pass: Option<String>,
    /// No other one keeps the fleet.
    _only: Box<dyn Lock>,
}

/// A time from a moment on.
#[derive(Debug, Clone, Copy)]
struct Due {
    since: Moment,
    after: Duration,
}

impl Due {
    fn left(&self, now: Moment) -> Duration {
        self.after.saturating_sub(now.since(&self.since))
    }
}

impl<'a> Watch<'a> {
    /// Starts with the files as they are or, where they cannot be used, as they last could. Before anything is said or
    /// written it makes sure that no other one keeps the fleet.
    ///
    /// # Errors
    /// What is wrong with the files, when nothing was kept either; who keeps the fleet; the state directory's errors.
    pub fn start(
        host: &'a dyn Host,
        setup: Setup,
        key: String,
        switches: Switches,
        source: &mut dyn Source,
        tell: &mut dyn FnMut(&Said),
    ) -> Result<Self, StartError> {
        let store = Store::open(host, &setup.state_dir, &setup.account).map_err(PassError::from)?;
        let loaded = source.load();
        let (before, revision) = match &loaded {
            Ok(fresh) => (fresh.desired.clone(), None),
            Err(words) => {
                let found = kept::find(host, store.layout(), &key);
                let found = found.map_err(|error| PassError::from(StateError::from(error)))?;
                let kept = found.ok_or_else(|| StartError::NoFleet(words.clone()))?;
                (kept.desired, kept.revision)
            }
        };
        let fleet = before.fleet.clone().ok_or(PassError::NoFleet)?;
        let only = Self::only(host, &setup, store.layout(), fleet)?;
        let mut watch = Self {
            host,
            setup: Setup { revision, ..setup },
            key,
            desired: if loaded.is_ok() { Desired::default() } else { before },
            unfit: None,
            settling: Settling::default(),
            stamp: source.stamp(),
            restraint: Restraint::new(switches),
            conditions: Conditions::default(),
            failures: Failures::default(),
            sessions: Vec::new(),
            keeping: BTreeMap::new(),
            due: Due { since: host.now(), after: Duration::ZERO },
            ends: Ends::default(),
            leaving: BTreeSet::new(),
            dirs: BTreeSet::new(),
            tidied: None,
            doubts: 0,
            no_pass: None,
            _only: only,
        };
        watch.receive(loaded, tell);
        watch.turn(&store, source);
        Ok(watch)
    }

    fn only(host: &dyn Host, setup: &Setup, layout: &Layout, fleet: Name) -> Result<Box<dyn Lock>, StartError> {
        let holder = Holder { pid: host.own(), verb: setup.actor.clone(), since: host.now() };
        let taken = lock::acquire(host, host, &layout.watch_lock(&fleet), &holder, GLANCE);
        taken.map_err(|error| StartError::Kept { fleet, error })
    }

    /// The fleet in force.
    #[must_use]
    pub fn desired(&self) -> &Desired {
        &self.desired
    }

    /// What is to be waited for.
    #[must_use]
    pub fn interest(&self) -> Interest {
        Interest { dirs: self.dirs.clone(), processes: self.ends.all() }
    }

    /// How long news are to be waited for.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let now = self.host.now();
        self.settling.left(now).map_or(self.due.left(now), |left| left.min(self.due.left(now)))
    }

    /// Takes what came, and does what is due.
    pub fn hear(&mut self, news: &News, source: &mut dyn Source, tell: &mut dyn FnMut(&Said)) {
        let now = self.host.now();
        if files::concern(source.trail(), news) {
            self.settling.stir(now);
        }
        if self.means_a_look(news) {
            self.due.after = self.due.after.min(BREATH);
        }
        if news.reload || self.settling.left(now).is_some_and(|left| left.is_zero()) {
            self.read(source, tell);
            self.due = Due { since: now, after: Duration::ZERO };
        }
        if self.due.left(now).is_zero() && self.host.interrupt() == Interrupt::None {
            // News of the files can be lost too.
            if source.stamp() != self.stamp {
                self.settling.stir(now);
            }
            self.pass(source, tell);
        }
    }

    /// Whether news are of the sessions: an end, a report, a launch that came further, another farhelm at work.
    fn means_a_look(&mut self, news: &News) -> bool {
        self.ends.hear(&news.ended) || news.lost || news.changed.iter().any(|path| self.is_of_sessions(path))
    }

    fn is_of_sessions(&self, path: &Path) -> bool {
        let layout = Layout::new(&self.setup.state_dir);
        let within = |dir: &Path| path.strip_prefix(dir).is_ok();
        let ends = |end: &str| path.extension().is_some_and(|found| found == end);
        if path == layout.lock() {
            return self.an_operator_works(path);
        }
        if within(&layout.reports()) {
            // A new directory, or a report; not what a pass makes of one, and not the hook log.
            return path.parent() == Some(&layout.reports()) || ends("json");
        }
        within(&layout.launch()) && (ends("exec") || ends("status"))
    }

    /// Whether the lock was last taken by something that an operator started, which may have changed something. A `watch`
    /// is this one, which must not hear itself, or keeps another fleet, and two that heard each other would never rest.
    fn an_operator_works(&self, lock: &Path) -> bool {
        lock::last(self.host, lock).is_some_and(|holder| holder.verb != self.setup.actor)
    }

    /// Reads the files. What cannot be used changes nothing.
    fn read(&mut self, source: &mut dyn Source, tell: &mut dyn FnMut(&Said)) {
        self.settling.done();
        let loaded = source.load();
        self.receive(loaded, tell);
        self.stamp = source.stamp();
    }

    fn receive(&mut self, loaded: Result<files::Fresh, String>, tell: &mut dyn FnMut(&Said)) {
        match loaded {
            Ok(fresh) => match self.desired.fleet.clone() {
                // Files that name another fleet are not this one's any more.
                Some(was) if fresh.desired.fleet.as_ref() != Some(&was) => {
                    self.refuse(format!("the files are not of the fleet `{was}` any more; start `watch` again"), tell);
                }
                _ => self.take(fresh, tell),
            },
            Err(words) => self.refuse(words, tell),
        }
    }

    fn take(&mut self, fresh: files::Fresh, tell: &mut dyn FnMut(&Said)) {
        let files::Fresh { desired, revision } = fresh;
        let mended = self.unfit.take().is_some();
        if desired == self.desired && revision == self.setup.revision && !mended {
            return;
        }
        self.setup.revision.clone_from(&revision);
        self.desired = desired;
        self.restraint.forget_failures();
        let kept = Kept::new(self.host.now().wall_ms, revision.clone(), self.desired.clone());
        if let Ok(store) = self.store() {
            // Without it only a start on broken files is worse off.
            let _ = kept::keep(self.host, store.layout(), &self.key, &kept);
        }
        let sessions = self.desired.sessions.len();
        self.event("load", Outcome::Done, None);
        tell(&Said::Loaded { sessions, revision });
    }

    fn refuse(&mut self, words: String, tell: &mut dyn FnMut(&Said)) {
        if self.unfit.as_ref() != Some(&words) {
            self.event("load", Outcome::Failed, Some(&words));
            tell(&Said::Unfit(words.clone()));
            self.unfit = Some(words);
        }
    }

    /// One pass, and when the next is due.
    fn pass(&mut self, source: &dyn Source, tell: &mut dyn FnMut(&Said)) {
        match self.round(tell) {
            Ok(round) => {
                self.no_pass = None;
                self.after(&round, tell);
            }
            Err(error) => {
                let words = error.to_string();
                self.due = Due { since: self.host.now(), after: agenda::doubt(self.doubts) };
                self.doubts = self.doubts.saturating_add(1);
                let sign = sign(&error);
                if self.no_pass.as_ref() != Some(&sign) {
                    self.event("observe", Outcome::Failed, Some(&words));
                    tell(&Said::NoPass(words));
                    self.no_pass = Some(sign);
                }
            }
        }
        if let Ok(store) = self.store() {
            self.turn(&store, source);
        }
    }

    fn round(&mut self, tell: &mut dyn FnMut(&Said)) -> Result<Round, PassError> {
        let reconciler = Reconciler::new(self.host, &self.setup)?;
        let now = self.host.now();
        if self.tidied.is_none_or(|tidied| now.since(&tidied) >= TIDY) {
            reconciler.tidy()?;
            self.tidied = Some(now);
        }
        let request = Request { trigger: Trigger::Watch, ..Request::default() };
        let (host, restraint, failures) = (self.host, &self.restraint, &mut self.failures);
        let round =
            reconciler.round(&self.desired, &request, &mut |item| restraint.allows(item, host.now()), &mut |done| {
                if failures.is_news(done) {
                    tell(&Said::Done(done.clone()));
                }
            })?;
        self.restraint.learn(&round.done, self.host.now());
        Ok(round)
    }

    /// Finishes what was asked to end, and begins nothing else: the last thing it does.
    pub fn finish(&mut self, tell: &mut dyn FnMut(&Said)) {
        if self.leaving.is_empty() {
            return;
        }
        let setup = Setup { attended: true, ..self.setup.clone() };
        let Ok(reconciler) = Reconciler::new(self.host, &setup) else { return };
        let (request, now) = (Request { trigger: Trigger::Watch, ..Request::default() }, self.host.now());
        let mut begun = |item: &Item| self.leaving.contains(&item.session) && self.restraint.allows(item, now);
        // Where it cannot be done now, the next farhelm does it.
        let _ = reconciler.round(&self.desired, &request, &mut begun, &mut |done| tell(&Said::Done(done.clone())));
    }

    fn after(&mut self, round: &Round, tell: &mut dyn FnMut(&Said)) {
        let now = self.host.now();
        self.ends = Ends::of(&round.observed, &round.recorded);
        self.sessions = status::all(&round.plan, &round.observed, &round.recorded);
        let leaving = round.recorded.records.values().filter(|record| !record.leaving.is_empty());
        self.leaving = leaving.map(|record| record.name.clone()).collect();
        // Of every plan, also of one that has nothing to do: what it does not reap needs two looks again.
        self.restraint.look(&round.plan.items, now);
        self.doubts = if round.plan.counters.unknown > 0 { self.doubts.saturating_add(1) } else { 0 };
        let next = if round.worked {
            Duration::ZERO
        } else {
            let doubts = self.doubts.saturating_sub(1);
            let due = agenda::next(&round.plan, &round.recorded, (now, &round.observed.boot), doubts);
            due.min(self.restraint.next(round.plan.items.iter(), now).unwrap_or(due))
        };
        self.due = Due { since: now, after: next };
        let restraint = &self.restraint;
        let held = |item: &Item| !restraint.allows(item, now);
        for condition in self.conditions.learn(round.plan.items.iter(), &held, now) {
            let event = Event {
                session: condition.session().cloned(),
                reason: Some(condition.code.clone()),
                detail: Some(condition.words.clone()),
                ..self.about("observe", condition.outcome())
            };
            self.log(event);
            tell(&Said::Held(condition));
        }
        // Only who asked for a session waits for it.
        let asked = round.plan.items.iter().filter(|item| item.parent.is_some());
        let kept = asked.filter_map(|item| Some((item.session.clone(), self.conditions.keeping(item, &held)?)));
        self.keeping = kept.collect();
    }

    /// Turns to what matters from now on.
    fn turn(&mut self, store: &Store<'_>, source: &dyn Source) {
        let layout = store.layout();
        let is_dir = |path: &Path| self.host.resolve_dir(path).is_ok();
        self.dirs = files::dirs(source.trail(), &is_dir);
        self.dirs.extend([layout.dir().to_owned(), layout.launch(), layout.reports()]);
        let sessions = self.host.list(&layout.reports()).unwrap_or_default();
        self.dirs.extend(sessions.iter().map(|id| layout.reports().join(id)));
    }

    fn store(&self) -> Result<Store<'a>, StateError> {
        Store::open(self.host, &self.setup.state_dir, &self.setup.account)
    }

    fn about(&self, action: &str, outcome: Outcome) -> Event {
        Event {
            fleet: self.desired.fleet.clone(),
            revision: self.setup.revision.clone(),
            ..Event::new(self.host.now(), &self.setup.actor, action, outcome)
        }
    }

    fn event(&self, action: &str, outcome: Outcome, detail: Option<&str>) {
        self.log(Event { detail: detail.map(str::to_owned), ..self.about(action, outcome) });
    }

    fn log(&self, event: Event) {
        if let Ok(store) = self.store() {
            // The log serves whoever reads it; nothing depends on it.
            let _ = EventLog::new(self.host, store.layout()).append(&[event]);
        }
    }
}
