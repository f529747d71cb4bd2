//! The record of one session: one small JSON file, `sessions/<id>.json`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::config::desired::Session;
use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::{PaneId, Socket};
use crate::spec::name::Name;

use super::fields::{Fields, Shown};
use super::identity::{Identity, Said};
use super::leaving::Leaving;

/// The version of the record format written by this build. A newer one is refused, an older one is read.
pub const RECORD_VERSION: u32 = 1;

/// A session's lasting id; file and scope names use it, never the session's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Uuid);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_hyphenated())
    }
}

/// Who made a pane: derived from machine, user and the state directory's canonical path; 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OwnerId(pub String);

/// What farhelm remembers of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`RECORD_VERSION`].
    pub version: u32,
    /// Its id.
    pub id: SessionId,
    /// Its fleet.
    pub fleet: Name,
    /// Its name.
    pub name: Name,
    /// Its kind at the last launch.
    pub kind: Name,
    /// Its directory at the last launch.
    pub dir: RecordedDir,
    /// Salt of `fields`.
    pub salt: String,
    /// Version of the field hashes' canonical form.
    pub fields_version: u32,
    /// Hashes of the last launch.
    pub fields: Fields,
    /// Values of the last launch that may be shown.
    #[serde(default)]
    pub shown: Shown,
    /// Sticky protection.
    #[serde(default)]
    pub protect: bool,
    /// The operator's hold.
    #[serde(default)]
    pub hold: Option<Hold>,
    /// The fleet files it was last applied from.
    #[serde(default)]
    pub sources: Vec<PathBuf>,
    /// Its conversation.
    #[serde(default)]
    pub conversation: Option<Conversation>,
    /// What its agent reported of that conversation; none while it is only assigned.
    #[serde(default)]
    pub identity: Option<Identity>,
    /// What its agent did by the last report that was taken.
    #[serde(default)]
    pub activity: Option<Said>,
    /// Hash of the prompt last delivered.
    #[serde(default)]
    pub prompt_delivered: Option<String>,
    /// The newest launches, the latest last; at most [`MAX_LAUNCHES`].
    #[serde(default)]
    pub launches: Vec<Launch>,
    /// Its tabs, by name.
    #[serde(default)]
    pub tabs: BTreeMap<Name, TabRecord>,
    /// Ends in a row with no `restart.reset_after` of health between them.
    #[serde(default)]
    pub failures: u32,
    /// Policy fields as last applied, so that their change is an adjustment in place.
    #[serde(default)]
    pub title: Option<String>,
    /// TERM-to-KILL time as last applied, in milliseconds; used when the session is no longer in the files.
    #[serde(default)]
    pub stop_grace_ms: Option<u64>,
    /// Something of it was about to be ended: its agent, a tab. While this stands, what a pass that died has frozen is to
    /// be let go on, or ended.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ending: bool,
    /// What of it was asked to end, and takes its time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaving: Vec<Leaving>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Launches a record keeps.
pub const MAX_LAUNCHES: usize = 5;

impl Record {
    /// The record of a session that was never launched.
    #[must_use]
    pub fn unlaunched(fleet: Name, session: &Session) -> Self {
        Self {
            version: RECORD_VERSION,
            id: SessionId(Uuid::new_v4()),
            fleet,
            name: session.name.clone(),
            kind: session.kind.clone(),
            dir: RecordedDir { spelling: session.dir.spelling.clone(), canonical: session.dir.path.clone() },
            salt: Uuid::new_v4().simple().to_string(),
            fields_version: 0,
            fields: Fields::new(),
            shown: Shown::new(),
            protect: session.protect,
            hold: None,
            sources: Vec::new(),
            conversation: None,
            identity: None,
            activity: None,
            prompt_delivered: None,
            launches: Vec::new(),
            tabs: BTreeMap::new(),
            failures: 0,
            title: session.title.clone(),
            stop_grace_ms: None,
            ending: false,
            leaving: Vec::new(),
        }
    }

    /// The latest launch.
    #[must_use]
    pub fn launch(&self) -> Option<&Launch> {
        self.launches.last()
    }

    /// The latest launch's generation; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.launch().map_or(0, |launch| launch.generation)
    }
}

/// A session's directory as it was at launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDir {
    /// As written.
    pub spelling: String,
    /// What it resolved to.
    pub canonical: PathBuf,
}

/// An operator's decision about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Which.
    pub what: HoldKind,
    /// When it was made.
    pub since: Moment,
    /// When it ends by itself, in milliseconds since 1970.
    #[serde(default)]
    pub until_ms: Option<i64>,
    /// The operator's words.
    #[serde(default)]
    pub why: Option<String>,
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldKind {
    /// `pause`: nothing is done to it.
    Paused,
    /// `stop`: wanted stopped, whatever the file says.
    Stopped,
    /// `start`: wanted running, whatever the file says.
    Started,
}

/// A conversation by which an agent can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The agent's own id of it.
    pub id: String,
    /// How it is known.
    pub provenance: Provenance,
    /// Since when.
    pub at: Moment,
}

/// How a conversation's id is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Chosen by farhelm at launch, confirmed by nobody.
    Assigned,
    /// Reported by the agent's hook.
    Reported,
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Its number.
    pub generation: u32,
    /// How far it came.
    pub phase: Phase,
    /// When it was begun.
    pub at: Moment,
    /// The boot.
    pub boot: BootId,
    /// The tmux server's socket.
    pub socket: Socket,
    /// The tmux server.
    #[serde(default)]
    pub server: Option<ProcessKey>,
    /// The pane.
    #[serde(default)]
    pub pane: Option<PaneId>,
    /// The pane's process.
    #[serde(default)]
    pub process: Option<ProcessKey>,
    /// The agent behind a wrapper, once seen.
    #[serde(default)]
    pub agent: Option<ProcessKey>,
    /// It ran in a scope of its own.
    pub scoped: bool,
    /// It resumed the conversation.
    pub resumed: bool,
    /// Hash of the prompt it carries, if any.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Whether its agent was given the hook.
    #[serde(default)]
    pub hook: HookState,
    /// Its exec was proven before its end was begun: `phase` says that no more then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ran: bool,
    /// When its end was noticed: on the boot clock, which nobody sets.
    #[serde(default)]
    pub over: Option<Moment>,
    /// Why a report of its conversation counted for nothing, in words, while none has counted.
    #[serde(default)]
    pub refused: Option<String>,
    /// Why a report of another conversation than the one that counts was refused, in words: its record was something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted: Option<String>,
    /// How it ended.
    #[serde(default)]
    pub ended: Option<Ended>,
}

/// Whether an agent was given the hook by which it reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookState {
    /// Its kind has none.
    #[default]
    None,
    /// It was.
    Given,
    /// It was not, for this reason.
    Skipped(String),
}

/// How far a launch came. Written before the effect it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// About to open a pane.
    Intended,
    /// The pane is open, the agent not proven.
    Opened,
    /// The agent's exec is proven.
    Running,
    /// About to be ended, or ended.
    Stopping,
    /// It is over.
    Ended,
}

/// How a launch ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// In which way.
    pub how: EndedHow,
    /// When, in milliseconds since 1970, where known.
    #[serde(default)]
    pub at_ms: Option<i64>,
}

/// The ways a launch can end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedHow {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// It is gone, nobody knows how: counts as a failure.
    Lost,
    /// Its tmux server died, or was killed, under it.
    ServerDied,
    /// The machine was rebooted.
    Rebooted,
    /// farhelm or the operator stopped it.
    Stopped,
    /// The agent never ran: the shim's or farhelm's words.
    LaunchFailed(String),
}

/// A tab's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TabRecord {
    /// The tab's id, value of its marker.
    pub id: SessionId,
    /// Hash of its definition.
    pub definition: String,
    /// Its pane; none before it was first opened.
    #[serde(default)]
    pub pane: Option<PaneId>,
    /// The pane's process.
    #[serde(default)]
    pub process: Option<ProcessKey>,
    /// The boot of `process`.
    #[serde(default)]
    pub boot: Option<BootId>,
    /// The server's socket.
    #[serde(default)]
    pub socket: Option<Socket>,
    /// It ran in a scope of its own.
    #[serde(default)]
    pub scoped: bool,
}

/// What remains of a reaped session: `tombstones/<id>.json`, kept 30 days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tombstone {
    /// When it was reaped, in milliseconds since 1970.
    pub reaped_ms: i64,
    /// Its record as it was.
    pub record: Record,
}

/// Days a tombstone is kept.
pub const TOMBSTONE_DAYS: i64 = 30;

/// What is remembered of a fleet: `fleets/<fleet>.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetRecord {
    /// [`RECORD_VERSION`].
    pub version: u32,
    /// The files last applied; empty when unknown.
    #[serde(default)]
    pub sources: Vec<PathBuf>,
    /// `down` was the last word: nothing is launched until the next `apply`.
    #[serde(default)]
    pub down: bool,
}

/// All that is remembered of one fleet: the third input of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Who we are.
    pub owner: OwnerId,
    /// The fleet's own record.
    pub fleet: FleetRecord,
    /// Records of the fleet's sessions (and, for `moved`, of the former fleet's), by name.
    pub records: BTreeMap<Name, Record>,
    /// Its tombstones, the newest of each name.
    pub tombstones: BTreeMap<Name, Tombstone>,
    /// Files that may be of this fleet and cannot be understood.
    pub damaged: Vec<Damaged>,
}

impl Recorded {
    /// The damage that makes it unknown what is remembered of `name`: a file that says it is of that name, or, where
    /// nothing else is remembered of it, one that does not say whose it is. Such a session must be left alone.
    #[must_use]
    pub fn damage(&self, name: &Name) -> Option<&Damaged> {
        let known = self.records.contains_key(name);
        self.damaged.iter().find(|damaged| match &damaged.name {
            Some(of) => of == name,
            None => !known,
        })
    }
}

/// A record or tombstone that is there and cannot be understood. Never the same as an absent one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file} cannot be understood ({words}); mend it, or move it away", file = .file.display())]
pub struct Damaged {
    /// The file.
    pub file: PathBuf,
    /// The session, by the file's name.
    pub id: Option<SessionId>,
    /// Its fleet, where that can still be read.
    pub fleet: Option<Name>,
    /// Its name, where that can still be read.
    pub name: Option<Name>,
    /// What is wrong.
    pub words: String,
}
