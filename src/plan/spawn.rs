//! What an agent may have: its request for a session, held against the fleet's policy. Pure.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agents::choice::{self, Choice};
use crate::config::desired::Desired;
use crate::spec::name::{MAX_NAME, Name};
use crate::spec::words::prompt_fault;
use crate::state::children::{Child, Children};
use crate::state::digest;
use crate::state::record::SessionId;

/// The longest idempotency key, in bytes.
pub const MAX_KEY: usize = 200;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The profile it is to be made from.
    pub profile: Name,
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// Its prompt.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Its title.
    #[serde(default)]
    pub title: Option<String>,
    /// Its name; none for one that is free.
    #[serde(default)]
    pub name: Option<Name>,
    /// The same request with the same key is the same session.
    #[serde(default)]
    pub key: Option<String>,
}

/// Who asks: a session of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its id.
    pub id: SessionId,
    /// Its name.
    pub name: Name,
}

/// What is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Granted {
    /// A new session.
    New(Child),
    /// The one that was granted for the same request before.
    Before(Child),
}

impl Granted {
    /// The session.
    #[must_use]
    pub fn child(&self) -> &Child {
        match self {
            Self::New(child) | Self::Before(child) => child,
        }
    }
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing says who asks.
    #[error(
        "nothing says which session this is: FARHELM_SESSION_ID and FARHELM_SESSION_TOKEN are not set; run it inside a \
         session"
    )]
    Nobody,
    /// The token is not the session's.
    #[error("the token is not that of the session {0}; ask with the environment this session was started with")]
    WrongToken(SessionId),
    /// Nothing is known of the session.
    #[error("there is no session {0} any more")]
    UnknownSession(SessionId),
    /// It is of another fleet.
    #[error("session {name} is of the fleet {fleet}; this `watch` keeps another one")]
    OtherFleet {
        /// The session.
        name: Name,
        /// Its fleet.
        fleet: Name,
    },
    /// It is not in the fleet any more.
    #[error("session {0} has left the fleet; it is not given new sessions")]
    Left(Name),
    /// Nothing is known of the fleet's policy.
    #[error("the fleet {0} was not applied by this farhelm yet; an operator's `farhelm apply` comes first")]
    NotApplied(Name),
    /// `policy.spawn` allows nothing.
    #[error("`policy.spawn` allows nothing in this fleet; an operator can: `policy: {{spawn: {{allow: [PROFILE]}}}}`")]
    Off,
    /// The profile is not allowed.
    #[error("`policy.spawn` does not allow the profile `{profile}`; allowed: {allowed}")]
    Profile {
        /// The profile.
        profile: Name,
        /// Those that are.
        allowed: String,
    },
    /// Its depth is exhausted.
    #[error("`policy.spawn.max_depth` is {limit}: session {parent}, which was asked for itself, may not ask for more")]
    Depth {
        /// The limit.
        limit: u32,
        /// Who asks.
        parent: Name,
    },
    /// It has as many as it may have.
    #[error(
        "session {parent} has {limit} children, as many as `policy.spawn.max_children` allows: {names}; \
         `farhelm dismiss NAME` makes room"
    )]
    Children {
        /// The limit.
        limit: usize,
        /// Who asks.
        parent: Name,
        /// Those it has.
        names: String,
    },
    /// The name is another session's.
    #[error("the name `{0}` is taken; choose another, or leave it out")]
    Taken(Name),
    /// The name was that of a reaped session, whose conversation would come back.
    #[error("the name `{0}` was that of a session that was reaped, and whose conversation is kept; choose another")]
    Buried(Name),
    /// The key was used for something else.
    #[error("the key `{key}` was used for another request, which gave session {child}; use a new key")]
    Key {
        /// The key.
        key: String,
        /// The session it gave.
        child: Name,
    },
    /// The key is empty or too long.
    #[error("an idempotency key has 1 to {MAX_KEY} bytes")]
    BadKey,
    /// The directory is none.
    #[error("{0}")]
    Dir(String),
    /// The prompt cannot be delivered.
    #[error("{0}")]
    Prompt(String),
    /// There is no such child to dismiss.
    #[error("session {parent} has no child `{name}`; it has: {names}")]
    NoChild {
        /// Who asks.
        parent: Name,
        /// What it wants to dismiss.
        name: Name,
        /// What it has.
        names: String,
    },
}

impl Refusal {
    /// Its code, as in events.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::WrongToken(_) => "wrong-token",
            Self::UnknownSession(_) => "unknown-session",
            Self::OtherFleet { .. } => "other-fleet",
            Self::Left(_) => "left",
            Self::NotApplied(_) => "not-applied",
            Self::Off => "spawn-off",
            Self::Profile { .. } => "profile-not-allowed",
            Self::Depth { .. } => "max-depth",
            Self::Children { .. } => "max-children",
            Self::Taken(_) => "name-taken",
            Self::Buried(_) => "name-buried",
            Self::Key { .. } => "key-reused",
            Self::BadKey => "bad-key",
            Self::Dir(_) => "dir",
            Self::Prompt(_) => "prompt",
            Self::NoChild { .. } => "no-child",
        }
    }
}

/// All that a request is held against.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The fleet with its children.
    pub fleet: &'a Desired,
    /// The children, those that ended too.
    pub children: &'a Children,
    /// Whether a session of this name is recorded.
    pub recorded: &'a dyn Fn(&Name) -> bool,
    /// Whether a session of this name was reaped and is remembered.
    pub buried: &'a dyn Fn(&Name) -> bool,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
}

impl Case<'_> {
    /// What `parent` gets for `ask`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn judge(&self, parent: &Parent, ask: &Ask) -> Result<Granted, Refusal> {
        let request = digest_of(ask);
        if ask.key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
            return Err(Refusal::BadKey);
        }
        if let Some(before) = self.before(parent, ask) {
            let (key, child) = (ask.key.clone().unwrap_or_default(), before.name.clone());
            let same = before.request == request;
            return if same { Ok(Granted::Before(before.clone())) } else { Err(Refusal::Key { key, child }) };
        }
        let depth = self.depth(parent)?;
        self.allowed(ask)?;
        self.room(parent)?;
        Ok(Granted::New(Child {
            name: self.name(parent, ask)?,
            parent: parent.name.clone(),
            parent_id: parent.id,
            depth,
            profile: ask.profile.clone(),
            dir: ask.dir.clone(),
            prompt: ask.prompt.clone(),
            title: ask.title.clone(),
            key: ask.key.clone(),
            request,
            asked_ms: self.now_ms,
            kept: false,
            ended: None,
        }))
    }

    /// The names of the children that a session has.
    #[must_use]
    pub fn names_of(&self, parent: SessionId) -> Vec<Name> {
        let own = self.children.live().filter(|child| child.parent_id == parent);
        own.map(|child| child.name.clone()).filter(|name| self.fleet.sessions.contains_key(name)).collect()
    }

    fn before(&self, parent: &Parent, ask: &Ask) -> Option<&Child> {
        let key = ask.key.as_ref()?;
        self.children.children.iter().find(|child| child.parent_id == parent.id && child.key.as_ref() == Some(key))
    }

    fn depth(&self, parent: &Parent) -> Result<u32, Refusal> {
        if !self.fleet.sessions.contains_key(&parent.name) {
            return Err(Refusal::Left(parent.name.clone()));
        }
        if self.fleet.spawn.templates.is_empty() {
            return Err(Refusal::Off);
        }
        let depth = self.children.get(&parent.name).map_or(1, |child| child.depth.saturating_add(1));
        let limit = self.fleet.spawn.max_depth;
        if depth > limit { Err(Refusal::Depth { limit, parent: parent.name.clone() }) } else { Ok(depth) }
    }

    fn allowed(&self, ask: &Ask) -> Result<(), Refusal> {
        let templates = &self.fleet.spawn.templates;
        let Some(template) = templates.get(&ask.profile) else {
            return Err(Refusal::Profile { profile: ask.profile.clone(), allowed: listed(templates.keys()) });
        };
        match ask.dir.to_str() {
            Some(text) if ask.dir.is_absolute() && !text.contains('\0') => {}
            _ => return Err(Refusal::Dir(format!("{} is no absolute path in UTF-8", ask.dir.display()))),
        }
        let Some(prompt) = &ask.prompt else { return Ok(()) };
        if let Some(kind) = self.fleet.kinds.get(&template.kind) {
            choice::can_express(kind, Choice::Prompt).map_err(|error| Refusal::Prompt(error.to_string()))?;
        }
        prompt_fault(prompt).map_or(Ok(()), |fault| Err(Refusal::Prompt(fault)))
    }

    fn room(&self, parent: &Parent) -> Result<(), Refusal> {
        let (limit, names) = (self.fleet.spawn.max_children, self.taking_room(parent.id));
        if names.len() < limit {
            return Ok(());
        }
        Err(Refusal::Children { limit, parent: parent.name.clone(), names: listed(names.into_iter()) })
    }

    /// The children for which a session has no room left: those that are to be, also those whose profile is not allowed at
    /// present, which come back when it is; and those that were dismissed and are not gone yet.
    #[must_use]
    pub fn taking_room(&self, parent: SessionId) -> Vec<&Name> {
        let own = self.children.children.iter().filter(|child| child.parent_id == parent);
        let going = |name: &Name| (self.recorded)(name) && self.children.get(name).is_none();
        own.filter(|child| child.ended.is_none() || going(&child.name)).map(|child| &child.name).collect()
    }

    fn name(&self, parent: &Parent, ask: &Ask) -> Result<Name, Refusal> {
        // What the files say was called so takes that name's place, whoever has it.
        let taken =
            |name: &Name| self.fleet.declares(name) || self.children.get(name).is_some() || (self.recorded)(name);
        match &ask.name {
            Some(name) if taken(name) => Err(Refusal::Taken(name.clone())),
            Some(name) if (self.buried)(name) => Err(Refusal::Buried(name.clone())),
            Some(name) => Ok(name.clone()),
            None => {
                let numbered = (1_u32..).filter_map(|number| numbered(&parent.name, &ask.profile, number));
                let free = numbered.take(10_000).find(|name| !taken(name) && !(self.buried)(name));
                free.ok_or_else(|| Refusal::Taken(ask.profile.clone()))
            }
        }
    }
}

/// `api-helper-1`, cut so that it is a name.
fn numbered(parent: &Name, profile: &Name, number: u32) -> Option<Name> {
    let tail = format!("-{number}");
    let stem = format!("{parent}-{profile}");
    let stem = stem.get(..MAX_NAME - tail.len()).unwrap_or(&stem);
    Name::new(format!("{}{tail}", stem.trim_end_matches('-'))).ok()
}

/// Names, for people.
pub fn listed<'n>(names: impl Iterator<Item = &'n Name>) -> String {
    let names: Vec<&str> = names.map(Name::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn digest_of(ask: &Ask) -> String {
    let text = |text: Option<&str>| text.map_or_else(String::new, |text| format!("={text}"));
    let parts = [
        ask.profile.to_string(),
        ask.dir.display().to_string(),
        text(ask.prompt.as_deref()),
        text(ask.title.as_deref()),
        text(ask.name.as_ref().map(Name::as_str)),
    ];
    digest::short("spawn", parts)
}

#[cfg(test)]
mod tests;
