//! Requests of agents: who asks is looked up, what is asked for is judged, and what is granted is written down. The next
//! pass launches it.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::desired::Desired;
use crate::host::process::Pid;
use crate::plan::spawn::{Ask, Case, Granted, Parent, Refusal, listed};
use crate::spec::name::Name;
use crate::state::children::{Child, Children, End};
use crate::state::digest;
use crate::state::error::StateError;
use crate::state::events::{Event, EventLog, Outcome};
use crate::state::memory::Memory;
use crate::state::record::{Record, SessionId};

use super::pass::{PassError, Reconciler};

/// Why a session is dismissed.
const NO_LONGER: &str = "it is no longer wanted";

/// What a session's environment says of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// Value of `FARHELM_SESSION_ID`.
    pub session: SessionId,
    /// Value of `FARHELM_SESSION_TOKEN`.
    token: String,
    /// The process that shows them, as the kernel says: nobody's word is taken for it.
    #[serde(skip)]
    process: Option<Pid>,
}

impl Credentials {
    /// Of a session's environment.
    #[must_use]
    pub fn new(session: SessionId, token: String) -> Self {
        Self { session, token, process: None }
    }

    /// As this process showed them.
    #[must_use]
    pub fn of_process(self, process: Pid) -> Self {
        Self { process: Some(process), ..self }
    }

    /// Words, with the process that asks behind them.
    fn asked(&self, words: &str) -> String {
        self.process.map_or_else(|| words.to_owned(), |pid| format!("{words} (asked by process {pid})"))
    }
}

impl fmt::Debug for Credentials {
    /// Never shows the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// It is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The state directory's.
    #[error(transparent)]
    Pass(#[from] PassError),
}

impl From<StateError> for SpawnError {
    fn from(error: StateError) -> Self {
        Self::Pass(error.into())
    }
}

/// Who a session is, and what it may ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// Its fleet.
    pub fleet: Name,
    /// Its name.
    pub session: Name,
    /// Its id.
    pub id: SessionId,
    /// Its kind.
    pub kind: Name,
    /// Its directory.
    pub dir: PathBuf,
    /// The session that asked for it.
    pub parent: Option<Name>,
    /// The sessions it asked for.
    pub children: Vec<Name>,
    /// The profiles it may ask for now.
    pub may_spawn: Vec<Name>,
    /// How many more it may have.
    pub room: usize,
}

/// What is known of the fleet and of who asks.
struct Family<'d> {
    memory: Memory,
    children: Children,
    whole: Cow<'d, Desired>,
    parent: Record,
}

impl Family<'_> {
    fn parent(&self) -> Parent {
        Parent { id: self.parent.id, name: self.parent.name.clone() }
    }

    fn with_case<T>(&self, now_ms: i64, then: impl FnOnce(Case<'_>) -> T) -> T {
        let of = |record: &Record, name: &Name| record.fleet == self.parent.fleet && record.name == *name;
        let recorded = |name: &Name| self.memory.records.values().any(|record| of(record, name));
        let buried = |name: &Name| self.memory.tombstones.values().any(|grave| of(&grave.record, name));
        let (fleet, children) = (&self.whole, &self.children);
        then(Case { fleet, children, recorded: &recorded, buried: &buried, now_ms })
    }
}

impl Reconciler<'_> {
    /// The record of the session that these credentials are of.
    ///
    /// # Errors
    /// [`Refusal`]; the state directory's errors.
    pub fn recognise(&self, who: &Credentials) -> Result<Record, SpawnError> {
        self.known(&self.store.records()?, who)
    }

    fn known(&self, memory: &Memory, who: &Credentials) -> Result<Record, SpawnError> {
        let own = self.store.token(who.session)?;
        // Compared by digest: how long it takes says nothing of the token.
        if digest::whole("token", [&own]) != digest::whole("token", [&who.token]) {
            return Err(Refusal::WrongToken(who.session).into());
        }
        memory.records.get(&who.session).cloned().ok_or_else(|| Refusal::UnknownSession(who.session).into())
    }

    fn family<'d>(&self, desired: &'d Desired, who: &Credentials) -> Result<Family<'d>, SpawnError> {
        let memory = self.store.records()?;
        let parent = self.known(&memory, who)?;
        let fleet = desired.fleet.as_ref().ok_or(PassError::NoFleet)?;
        if parent.fleet != *fleet && desired.moved_from.as_ref() != Some(&parent.fleet) {
            return Err(Refusal::OtherFleet { name: parent.name, fleet: parent.fleet }.into());
        }
        let children = self.store.children(fleet, desired.moved_from.as_ref())?;
        let whole = children.join(desired, |id| memory.records.get(&id).map(|record| record.name.clone()));
        Ok(Family { memory, children, whole, parent })
    }

    /// Gives the session that asks a new one, or the one it was given for the same request before.
    ///
    /// # Errors
    /// [`Refusal`]; the state directory's errors.
    pub fn spawn(&self, desired: &Desired, who: &Credentials, ask: &Ask) -> Result<Granted, SpawnError> {
        let _lock = self.lock()?;
        let granted = self.grant(desired, who, ask);
        match &granted {
            Ok(Granted::New(child)) => {
                let words = who.asked(&format!("{} asked for it", child.parent));
                self.told(desired, "spawn", &child.name, &words);
            }
            Err(SpawnError::Refused(refusal)) => self.refused(desired, "spawn", who, refusal),
            Ok(Granted::Before(_)) | Err(SpawnError::Pass(_)) => {}
        }
        granted
    }

    fn grant(&self, desired: &Desired, who: &Credentials, ask: &Ask) -> Result<Granted, SpawnError> {
        let mut family = self.family(desired, who)?;
        let granted = family.with_case(self.host.now().wall_ms, |case| case.judge(&family.parent(), ask))?;
        if let Granted::New(child) = &granted {
            self.host.resolve_dir(&ask.dir).map_err(|error| Refusal::Dir(error.to_string()))?;
            family.children.children.push(child.clone());
            self.save(desired, &family.children)?;
        }
        Ok(granted)
    }

    /// Says that children of the session that asks are no longer wanted. The next pass reaps them.
    ///
    /// # Errors
    /// [`Refusal`]; the state directory's errors.
    pub fn dismiss(&self, desired: &Desired, who: &Credentials, names: &[Name]) -> Result<(), SpawnError> {
        let _lock = self.lock()?;
        let mut family = self.family(desired, who)?;
        let own = family.with_case(0, |case| case.names_of(family.parent.id));
        if let Some(name) = names.iter().find(|name| !own.contains(name)) {
            let (parent, names) = (family.parent.name, listed(own.iter()));
            let refusal = Refusal::NoChild { parent, name: name.clone(), names };
            self.refused(desired, "dismiss", who, &refusal);
            return Err(refusal.into());
        }
        self.end(desired, &mut family.children, names, &who.asked(NO_LONGER))?;
        Ok(())
    }

    /// An operator says that these sessions, which agents asked for, are no longer wanted.
    ///
    /// # Errors
    /// The state directory's errors. The names of those that nobody asked for are returned.
    pub fn dismiss_any(&self, desired: &Desired, names: &[Name]) -> Result<Vec<Name>, PassError> {
        let _lock = self.lock()?;
        let mut children = self.children(desired)?;
        let strange: Vec<Name> = names.iter().filter(|name| children.get(name).is_none()).cloned().collect();
        if strange.is_empty() {
            self.end(desired, &mut children, names, NO_LONGER)?;
        }
        Ok(strange)
    }

    fn end(&self, desired: &Desired, children: &mut Children, names: &[Name], words: &str) -> Result<(), StateError> {
        children.end(End::Dismissed, self.host.now().wall_ms, |child| names.contains(&child.name));
        self.save(desired, children)?;
        for name in names {
            self.told(desired, "dismiss", name, words);
        }
        Ok(())
    }

    /// Sessions that agents asked for stay when their parents leave, or do no more. The names of those that nobody asked
    /// for are returned, and nothing is changed then.
    ///
    /// # Errors
    /// The state directory's errors.
    pub fn keep(&self, desired: &Desired, names: &[Name], kept: bool) -> Result<Vec<Name>, PassError> {
        let _lock = self.lock()?;
        let mut children = self.children(desired)?;
        let strange: Vec<Name> = names.iter().filter(|name| children.get(name).is_none()).cloned().collect();
        if strange.is_empty() {
            let live = children.children.iter_mut().filter(|child| child.ended.is_none());
            live.filter(|child| names.contains(&child.name)).for_each(|child| child.kept = kept);
            self.save(desired, &children)?;
        }
        Ok(strange)
    }

    /// The sessions that agents asked for, and that are to be.
    ///
    /// # Errors
    /// The state directory's errors.
    pub fn asked_for(&self, desired: &Desired) -> Result<Vec<Child>, PassError> {
        Ok(self.children(desired)?.live().cloned().collect())
    }

    /// Who these credentials are of, and what may be asked for with them.
    ///
    /// # Errors
    /// [`Refusal`]; the state directory's errors.
    pub fn who(&self, desired: &Desired, who: &Credentials) -> Result<Who, SpawnError> {
        let family = self.family(desired, who)?;
        let Family { whole, parent, .. } = &family;
        let (children, taken) =
            family.with_case(0, |case| (case.names_of(parent.id), case.taking_room(parent.id).len()));
        let depth = family.children.get(&parent.name).map_or(1, |child| child.depth.saturating_add(1));
        let open = depth <= whole.spawn.max_depth && whole.sessions.contains_key(&parent.name);
        let profiles = whole.spawn.templates.keys().filter(|_| open).cloned();
        Ok(Who {
            fleet: parent.fleet.clone(),
            session: parent.name.clone(),
            id: parent.id,
            kind: parent.kind.clone(),
            dir: parent.dir.canonical.clone(),
            parent: whole.sessions.get(&parent.name).and_then(|session| session.parent.clone()),
            may_spawn: profiles.collect(),
            room: if open { whole.spawn.max_children.saturating_sub(taken) } else { 0 },
            children,
        })
    }

    fn children(&self, desired: &Desired) -> Result<Children, PassError> {
        let fleet = desired.fleet.as_ref().ok_or(PassError::NoFleet)?;
        Ok(self.store.children(fleet, desired.moved_from.as_ref())?)
    }

    fn save(&self, desired: &Desired, children: &Children) -> Result<(), StateError> {
        let Some(fleet) = &desired.fleet else { return Ok(()) };
        self.store.save_children(fleet, children)
    }

    fn refused(&self, desired: &Desired, action: &str, who: &Credentials, refusal: &Refusal) {
        let asks = self.store.records().ok().and_then(|memory| memory.records.get(&who.session).cloned());
        self.log(Event {
            session: asks.map(|record| record.name),
            reason: Some(refusal.code().to_owned()),
            detail: Some(who.asked(&refusal.to_string())),
            ..self.event(desired, action, Outcome::Refused)
        });
    }

    fn told(&self, desired: &Desired, action: &str, name: &Name, words: &str) {
        let (session, detail) = (Some(name.clone()), Some(words.to_owned()));
        self.log(Event { session, detail, ..self.event(desired, action, Outcome::Done) });
    }

    fn event(&self, desired: &Desired, action: &str, result: Outcome) -> Event {
        Event {
            fleet: desired.fleet.clone(),
            revision: self.setup.revision.clone(),
            ..Event::new(self.host.now(), &self.setup.actor, action, result)
        }
    }

    fn log(&self, event: Event) {
        // The log serves whoever reads it; nothing depends on it.
        let _ = EventLog::new(self.host, self.store.layout()).append(&[event]);
    }
}
