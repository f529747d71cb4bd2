//! Reading every record and tombstone of a state directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::host::disk::{Disk, DiskFault};
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::Socket;
use crate::spec::name::Name;

use super::error::StateError;
use super::layout::{Layout, id_of};
use super::record::{Damaged, RECORD_VERSION, Record, SessionId, Tombstone};

/// The largest state file read, in bytes. A record with 200 variables and all its launches has about 30 KiB.
pub(super) const MAX_FILE: u64 = 1 << 20;

/// Every record and tombstone there is, of all fleets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// Records by session.
    pub records: BTreeMap<SessionId, Record>,
    /// Tombstones by session.
    pub tombstones: BTreeMap<SessionId, Tombstone>,
    /// Files that cannot be read or understood.
    pub damaged: Vec<Damaged>,
    /// Files that an interrupted pass had yet to remove; they count for nothing.
    pub unfinished: Vec<PathBuf>,
}

impl Memory {
    /// The tmux servers recorded in this boot, whichever fleet's.
    #[must_use]
    pub fn servers(&self, boot: &BootId) -> BTreeSet<(Socket, ProcessKey)> {
        let launches = self.records.values().flat_map(|record| &record.launches);
        let here = launches.filter(|launch| launch.boot == *boot);
        here.filter_map(|launch| Some((launch.socket.clone(), launch.server?))).collect()
    }

    /// Every session of which there is a record, readable or not. What runs of any other is a stray, a buried session's
    /// survivors too.
    #[must_use]
    pub fn known(&self) -> BTreeSet<SessionId> {
        self.records.keys().copied().chain(self.damaged.iter().filter_map(|damaged| damaged.id)).collect()
    }

    /// Reads all of it. Records first: a session buried meanwhile is then seen twice, not never.
    /// Of the tombstones, only those of recorded sessions where `enough` says so of the records: graves outlast their
    /// sessions by a month, and are many.
    pub(super) fn read(
        disk: &dyn Disk,
        layout: &Layout,
        enough: impl Fn(&BTreeMap<SessionId, Record>) -> bool,
    ) -> Result<Self, StateError> {
        let mut damaged = Vec::new();
        let records = read_dir(disk, &layout.sessions(), |_| true, |record: &Record| record, &mut damaged)?;
        let all = !enough(&records);
        let wanted = |id: SessionId| all || records.contains_key(&id);
        let tombstones = read_dir(disk, &layout.tombstones(), wanted, |grave: &Tombstone| &grave.record, &mut damaged)?;
        let mut memory = Self { records, tombstones, damaged, unfinished: Vec::new() };
        memory.finish(layout);
        Ok(memory)
    }

    /// A record beside a tombstone of the same session: the burial was interrupted before the record was removed, and
    /// the tombstone counts. Unless the record has been launched since: then it was restored from that tombstone.
    fn finish(&mut self, layout: &Layout) {
        let both: Vec<_> = self.records.keys().filter(|id| self.tombstones.contains_key(id)).copied().collect();
        for id in both {
            let restored = self.records[&id].generation() > self.tombstones[&id].record.generation();
            if restored {
                self.tombstones.remove(&id);
                self.unfinished.push(layout.tombstone(id));
            } else {
                self.records.remove(&id);
                self.unfinished.push(layout.record(id));
            }
        }
    }
}

fn read_dir<T: DeserializeOwned>(
    disk: &dyn Disk,
    dir: &Path,
    wanted: impl Fn(SessionId) -> bool,
    record: impl Fn(&T) -> &Record,
    damaged: &mut Vec<Damaged>,
) -> Result<BTreeMap<SessionId, T>, StateError> {
    let mut found = BTreeMap::new();
    for name in disk.list(dir)? {
        // Anything else in the directory is a temporary file of an interrupted write.
        let Some(id) = id_of(&name).filter(|id| wanted(*id)) else { continue };
        let file = dir.join(&name);
        let bytes = match disk.read(&file, MAX_FILE) {
            Ok(bytes) => bytes,
            // Buried or forgotten since it was listed.
            Err(error) if error.fault == DiskFault::Missing => continue,
            Err(error) => {
                damaged.push(Damaged { file, id: Some(id), fleet: None, name: None, words: error.words });
                continue;
            }
        };
        match parse(&bytes, &file, |read: &T| record(read).version)? {
            Ok(read) if record(&read).id == id => drop(found.insert(id, read)),
            Ok(read) => damaged.push(damage(file, id, &bytes, format!("it is of session {}", record(&read).id))),
            Err(words) => damaged.push(damage(file, id, &bytes, words)),
        }
    }
    Ok(found)
}

/// Reads one state file's text. The outer error: it is of a newer farhelm; the inner: what is wrong with it.
pub(super) fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    file: &Path,
    version: impl Fn(&T) -> u32,
) -> Result<Result<T, String>, StateError> {
    let read = serde_json::from_slice::<T>(bytes);
    let version = match &read {
        Ok(read) => version(read),
        // A newer format need not parse at all; its version is asked for first.
        Err(_) => serde_json::from_slice::<Header>(bytes).ok().and_then(|header| header.version()).unwrap_or(0),
    };
    if version > RECORD_VERSION {
        return Err(StateError::Newer { file: file.to_owned(), version, known: RECORD_VERSION });
    }
    Ok(read.map_err(|error| error.to_string()))
}

/// What is read of a file that cannot be read whole.
#[derive(Default, Deserialize)]
struct Header {
    #[serde(default)]
    version: Option<u32>,
    #[serde(default)]
    record: Option<Box<Header>>,
    #[serde(default)]
    fleet: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

impl Header {
    fn version(&self) -> Option<u32> {
        self.version.or_else(|| self.record.as_ref()?.version())
    }
}

fn damage(file: PathBuf, id: SessionId, bytes: &[u8], words: String) -> Damaged {
    let mut header: Header = serde_json::from_slice(bytes).unwrap_or_default();
    if let Some(record) = header.record.take() {
        header = *record;
    }
    let name = |text: Option<String>| text.and_then(|text| Name::new(text).ok());
    Damaged { file, id: Some(id), fleet: name(header.fleet), name: name(header.name), words }
}
