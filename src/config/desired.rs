//! The resolved fleet: what the operator wants, every default filled in and nothing left to look up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agents::kind::Kind;
use crate::spec::name::Name;
pub use crate::spec::settings::{OnLost, Permissions, RestartWhen, Trust, UpdateWhen};

/// Time from TERM to KILL where nothing is said.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// The whole fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Desired {
    /// Its name, the ownership scope.
    pub fleet: Option<Name>,
    /// The former name (`moved: {from}` at the top level).
    pub moved_from: Option<Name>,
    /// Real paths of every file read, sorted; `-` for standard input.
    pub sources: Vec<PathBuf>,
    /// Names of `${env:NAME}` values used.
    pub from_environment: Vec<String>,
    /// Fleet-wide policy.
    pub policy: Policy,
    /// The kinds that sessions use, by name.
    pub kinds: BTreeMap<Name, Kind>,
    /// The sessions.
    pub sessions: BTreeMap<Name, Session>,
    /// What agents may ask for.
    pub spawn: Spawn,
    /// Sessions that agents asked for and that are not to be any more, and why.
    pub departed: BTreeMap<Name, Departure>,
}

impl Desired {
    /// Whether it has a session of this name, or one that was called so.
    #[must_use]
    pub fn declares(&self, name: &Name) -> bool {
        self.sessions.contains_key(name) || self.sessions.values().any(|s| s.moved_from.as_ref() == Some(name))
    }
}

/// What agents may ask for (`policy.spawn`). By default nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// By profile, what such a session is: all but its name, directory and prompt, which are placeholders.
    pub templates: BTreeMap<Name, Session>,
    /// How many of them one session may have at once.
    pub max_children: usize,
    /// How deep: 1 is for sessions of the files alone.
    pub max_depth: u32,
}

impl Default for Spawn {
    fn default() -> Self {
        Self { templates: BTreeMap::new(), max_children: 4, max_depth: 1 }
    }
}

/// Why a session that an agent asked for is not to be any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Departure {
    /// The session that asked for it is not in the fleet any more.
    ParentGone(Name),
    /// `policy.spawn` no longer allows its profile.
    ProfileGone(Name),
    /// Somebody said that it is no longer wanted.
    Dismissed,
}

/// Fleet-wide policy (`policy:`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// `apply` reaps what was removed from the files.
    pub prune: bool,
    /// More reaps than this in one apply are blocked as a whole.
    pub max_reap: usize,
    /// At most this many sessions run, by priority, then name.
    pub max_running: Option<usize>,
    /// At most this many sessions are down at once because of a change.
    pub max_unavailable: Option<usize>,
    /// Launches in flight at once.
    pub parallel: usize,
    /// Time between two launches.
    pub stagger: Duration,
    /// `watch` reaps what was removed.
    pub watch_prune: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            prune: true,
            max_reap: 5,
            max_running: None,
            max_unavailable: None,
            parallel: 4,
            stagger: Duration::from_millis(250),
            watch_prune: false,
        }
    }
}

/// One session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub name: Name,
    /// The former name (`moved: {from}`).
    pub moved_from: Option<Name>,
    /// The session whose agent asked for it; none where the files do.
    pub parent: Option<Name>,
    /// The profile's name, for display; none for a raw invocation.
    pub profile: Option<Name>,
    /// The kind's name: a key of [`Desired::kinds`].
    pub kind: Name,
    /// The invocation, slots unfilled. Never empty.
    pub invocation: Vec<String>,
    /// The explicit resume command, slots unfilled.
    pub resume: Option<Vec<String>>,
    /// Working directory.
    pub dir: Dir,
    /// Choices the kind turns into flags.
    pub choices: Choices,
    /// Hooks are injected where the kind has them.
    pub hooks: bool,
    /// Environment of the agent: literals (env files included) and references.
    pub env: BTreeMap<String, EnvValue>,
    /// References that yield many variables (`format: dotenv`), in order.
    pub env_bundles: Vec<SecretRef>,
    /// The prompt's text (of `prompt` or `prompt_file`).
    pub prompt: Option<String>,
    /// Wanted running, or stopped.
    pub running: bool,
    /// Shown title.
    pub title: Option<String>,
    /// Labels for selection.
    pub labels: BTreeMap<String, String>,
    /// Higher runs first.
    pub priority: i64,
    /// What to do when the agent ends.
    pub restart: Restart,
    /// When a change may restart it.
    pub update: UpdateWhen,
    /// Time between TERM and KILL.
    pub stop_grace: Duration,
    /// What to do when its conversation is lost.
    pub on_lost_conversation: OnLost,
    /// An assigned, never reported conversation may be resumed (profile choice `resume_assigned`).
    pub resume_assigned: bool,
    /// Never reaped, never restarted fresh.
    pub protect: bool,
    /// Extra plain terminals.
    pub tabs: BTreeMap<Name, Tab>,
    /// A command before the launch.
    pub before_launch: Option<BeforeLaunch>,
}

impl Session {
    /// A session of which nothing but this is said: every default.
    #[must_use]
    pub fn bare(name: Name, kind: Name, invocation: Vec<String>, dir: Dir) -> Self {
        Self {
            name,
            moved_from: None,
            parent: None,
            profile: None,
            kind,
            invocation,
            resume: None,
            dir,
            choices: Choices::default(),
            hooks: true,
            env: BTreeMap::new(),
            env_bundles: Vec::new(),
            prompt: None,
            running: true,
            title: None,
            labels: BTreeMap::new(),
            priority: 0,
            restart: Restart::default(),
            update: UpdateWhen::Now,
            stop_grace: STOP_GRACE,
            on_lost_conversation: OnLost::Fresh,
            resume_assigned: false,
            protect: false,
            tabs: BTreeMap::new(),
            before_launch: None,
        }
    }
}

/// A working directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dir {
    /// As written, variables filled: `~/src/api`.
    pub spelling: String,
    /// Absolute, `~` expanded, links intact.
    pub path: PathBuf,
}

/// Choices of a session; `None` leaves the agent's own default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// Model name.
    pub model: Option<String>,
    /// Effort level.
    pub effort: Option<String>,
    /// Permission posture.
    pub permissions: Permissions,
    /// Trust in the directory.
    pub trust: Option<Trust>,
    /// The agent runs every hook it finds unasked (`hook_trust: bypass`).
    #[serde(default)]
    pub bypass_hook_trust: bool,
    /// The agent keeps its own view of all its agents.
    #[serde(default)]
    pub agent_view: bool,
}

/// One environment variable.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EnvValue {
    /// A value written in the fleet or an env file. Counts by salted hash; never printed.
    Literal(String),
    /// A reference, fetched when a launch needs it. Counts by the reference.
    Secret(SecretRef),
}

impl std::fmt::Debug for EnvValue {
    /// Never shows a literal value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Literal(_) => f.write_str("Literal(hidden)"),
            Self::Secret(reference) => f.debug_tuple("Secret").field(reference).finish(),
        }
    }
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretRef {
    /// A file's content, one trailing newline cut.
    File {
        /// Absolute path, `~` expanded.
        path: PathBuf,
        /// A change of the content restarts the session (`on_change: restart`).
        restart_on_change: bool,
    },
    /// A command's output, one trailing newline cut.
    Command {
        /// The command; no shell sees it.
        argv: Vec<String>,
    },
}

/// What to do when the agent ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// When at all.
    pub when: RestartWhen,
    /// First delay after the immediate one.
    pub initial: Duration,
    /// Longest delay.
    pub max: Duration,
    /// Health of this length forgets earlier failures.
    pub reset_after: Duration,
    /// More failures than this in a row are a crash loop.
    pub max_restarts: u32,
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            when: RestartWhen::OnFailure,
            initial: Duration::from_secs(1),
            max: Duration::from_secs(300),
            reset_after: Duration::from_secs(600),
            max_restarts: 5,
        }
    }
}

/// An extra terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tab {
    /// Its command; none is the login shell.
    pub run: Option<Vec<String>>,
    /// Its directory; none is the session's.
    pub dir: Option<Dir>,
    /// Extra environment, literals only.
    pub env: BTreeMap<String, EnvValue>,
}

/// A command run in the pane before the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeLaunch {
    /// The command; no shell sees it.
    pub run: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// Before resumes too (`on: always`).
    pub always: bool,
}
