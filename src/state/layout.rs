//! The state directory: where each thing is. No other module spells these names.

use std::path::{Path, PathBuf};

use crate::spec::name::Name;

use super::record::SessionId;

/// Paths below one state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    dir: PathBuf,
}

const SESSIONS: &str = "sessions";
const TOMBSTONES: &str = "tombstones";
const FLEETS: &str = "fleets";
const LAUNCH: &str = "launch";
const LOGS: &str = "logs";
const REPORTS: &str = "reports";
const EXTENSIONS: &str = "extensions";
const KEPT: &str = "kept";
const CHILDREN: &str = "children";
const SOCKET: &str = "sock";

impl Layout {
    /// The layout of the state directory `dir`.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// The state directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directories that must exist, the state directory first.
    #[must_use]
    pub fn dirs(&self) -> Vec<PathBuf> {
        let below = [SESSIONS, TOMBSTONES, FLEETS, LAUNCH, LOGS, REPORTS, EXTENSIONS, KEPT, CHILDREN]
            .map(|name| self.dir.join(name));
        std::iter::once(self.dir.clone()).chain(below).collect()
    }

    /// Where records are.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.dir.join(SESSIONS)
    }

    /// A session's record.
    #[must_use]
    pub fn record(&self, id: SessionId) -> PathBuf {
        self.sessions().join(format!("{id}.json"))
    }

    /// Where tombstones are.
    #[must_use]
    pub fn tombstones(&self) -> PathBuf {
        self.dir.join(TOMBSTONES)
    }

    /// A session's tombstone.
    #[must_use]
    pub fn tombstone(&self, id: SessionId) -> PathBuf {
        self.tombstones().join(format!("{id}.json"))
    }

    /// A fleet's own record.
    #[must_use]
    pub fn fleet(&self, fleet: &Name) -> PathBuf {
        self.dir.join(FLEETS).join(format!("{fleet}.json"))
    }

    /// Where launch files are.
    #[must_use]
    pub fn launch(&self) -> PathBuf {
        self.dir.join(LAUNCH)
    }

    /// Where the kept last lines of a session's terminals are, a file a generation.
    #[must_use]
    pub fn logs(&self, id: SessionId) -> PathBuf {
        self.dir.join(LOGS).join(id.to_string())
    }

    /// Where the reports of all sessions are.
    #[must_use]
    pub fn reports(&self) -> PathBuf {
        self.dir.join(REPORTS)
    }

    /// Where a session's reports are.
    #[must_use]
    pub fn report_dir(&self, id: SessionId) -> PathBuf {
        self.reports().join(id.to_string())
    }

    /// Where the files are that agents load for their hooks.
    #[must_use]
    pub fn extensions(&self) -> PathBuf {
        self.dir.join(EXTENSIONS)
    }

    /// Where fleets are as their files last stood.
    #[must_use]
    pub fn all_kept(&self) -> PathBuf {
        self.dir.join(KEPT)
    }

    /// A fleet as its files last stood when they were right, by what [`super::kept::key`] makes of their paths.
    #[must_use]
    pub fn kept(&self, key: &str) -> PathBuf {
        self.all_kept().join(format!("{key}.json"))
    }

    /// The sessions of a fleet that agents asked for.
    #[must_use]
    pub fn children(&self, fleet: &Name) -> PathBuf {
        self.dir.join(CHILDREN).join(format!("{fleet}.json"))
    }

    /// The lock of the one `watch` that a fleet may have.
    #[must_use]
    pub fn watch_lock(&self, fleet: &Name) -> PathBuf {
        self.dir.join(FLEETS).join(format!("{fleet}.watch"))
    }

    /// The event log.
    #[must_use]
    pub fn events(&self) -> PathBuf {
        self.dir.join("events.ndjson")
    }

    /// The event log before the last rotation.
    #[must_use]
    pub fn old_events(&self) -> PathBuf {
        self.dir.join("events.ndjson.1")
    }

    /// The lock.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// Room for the day the disk is full.
    #[must_use]
    pub fn reserve(&self) -> PathBuf {
        self.dir.join("reserve")
    }

    /// The key from which session tokens are made.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.dir.join("key")
    }

    /// Where a fleet's `watch` listens, value of `FARHELM_SUPERVISOR_SOCK` in its sessions.
    #[must_use]
    pub fn supervisor_socket(&self, fleet: &Name) -> PathBuf {
        self.dir.join(format!("{fleet}.{SOCKET}"))
    }

    /// The sockets among the names in the state directory.
    pub fn supervisor_sockets<'n>(&self, names: &'n [String]) -> impl Iterator<Item = PathBuf> + use<'_, 'n> {
        let sockets = names.iter().filter(|name| Path::new(name).extension().is_some_and(|end| end == SOCKET));
        sockets.map(|name| self.dir.join(name))
    }
}

/// The session id in the name of a record or tombstone file; `None` for any other file.
#[must_use]
pub fn id_of(file_name: &str) -> Option<SessionId> {
    let stem = file_name.strip_suffix(".json")?;
    let id = SessionId(uuid::Uuid::try_parse(stem).ok()?);
    (id.to_string() == stem).then_some(id)
}
