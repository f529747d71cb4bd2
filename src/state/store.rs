//! The store: records, tombstones and fleets as files.
//!
//! What survives: every file is replaced whole, so a crash leaves the old one or the new one. A tombstone is written
//! before its record is removed; where both are found the burial is finished by [`Store::tidy`], and readers already
//! see it finished. A file that cannot be understood is never taken for an absent one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::host::clock::Moment;
use crate::host::disk::{Disk, DiskError, DiskFault};
use crate::spec::name::Name;

use super::children::Children;
use super::error::StateError;
use super::launch_files;
use super::layout::Layout;
use super::memory::{MAX_FILE, Memory, parse};
use super::owner::{self, Account};
use super::record::{
    Damaged, FleetRecord, MAX_LAUNCHES, OwnerId, RECORD_VERSION, Record, Recorded, SessionId, TOMBSTONE_DAYS, Tombstone,
};
use super::reports::reading;
use super::reserve;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// The most that is read of what agents asked for, in bytes: their prompts are in it.
const MAX_CHILDREN: u64 = 64 << 20;

/// farhelm's memory in one directory.
#[derive(Clone)]
pub struct Store<'a> {
    disk: &'a dyn Disk,
    layout: Layout,
    owner: OwnerId,
}

impl<'a> Store<'a> {
    /// Opens the state directory, making it where it is missing.
    ///
    /// # Errors
    /// [`StateError::Disk`].
    pub fn open(disk: &'a dyn Disk, dir: &Path, account: &Account) -> Result<Self, StateError> {
        disk.make_dir(dir)?;
        let layout = Layout::new(&disk.resolve_dir(dir)?);
        for dir in layout.dirs() {
            disk.make_dir(&dir)?;
        }
        let owner = owner::owner(&owner::machine(disk, &account.hostname), account.uid, layout.dir());
        Ok(Self { disk, layout, owner })
    }

    /// Where its files are.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Who we are.
    #[must_use]
    pub fn owner(&self) -> &OwnerId {
        &self.owner
    }

    /// Reads everything, of all fleets. Changes nothing.
    ///
    /// # Errors
    /// [`StateError::Newer`], or [`StateError::Disk`] when a directory cannot be listed.
    pub fn records(&self) -> Result<Memory, StateError> {
        Memory::read(self.disk, &self.layout, |_| false)
    }

    /// As [`Store::records`], for a plan of `fleet` with these sessions: tombstones only where one of them has no
    /// record.
    ///
    /// # Errors
    /// As [`Store::records`].
    pub fn records_for<'n>(
        &self,
        fleet: &Name,
        sessions: &(impl Iterator<Item = &'n Name> + Clone),
    ) -> Result<Memory, StateError> {
        Memory::read(self.disk, &self.layout, |records| {
            let known: BTreeSet<&Name> = records.values().filter(|r| r.fleet == *fleet).map(|r| &r.name).collect();
            sessions.clone().all(|name| known.contains(name))
        })
    }

    /// All that is remembered of `fleet` and, for a renamed fleet, of `moved_from`; where both know a name, `fleet`'s
    /// counts.
    ///
    /// # Errors
    /// As [`Store::records`]; [`StateError::Corrupt`] when the fleet's own file cannot be understood.
    pub fn recorded(&self, fleet: &Name, moved_from: Option<&Name>) -> Result<Recorded, StateError> {
        self.select(&self.records()?, fleet, moved_from)
    }

    /// As [`Store::recorded`], of what was read before.
    ///
    /// # Errors
    /// [`StateError::Corrupt`] when the fleet's own file cannot be understood.
    pub fn select(&self, memory: &Memory, fleet: &Name, moved_from: Option<&Name>) -> Result<Recorded, StateError> {
        let own = self.fleet(fleet)?;
        let former = moved_from.filter(|_| own.is_none()).map(|former| self.fleet(former)).transpose()?.flatten();
        let fleets = [Some(fleet), moved_from];
        let mut found = Recorded {
            owner: self.owner.clone(),
            fleet: own.or(former).unwrap_or_default(),
            records: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            damaged: memory.damaged.clone(),
        };
        found.damaged.retain(|damaged| damaged.fleet.is_none() || fleets.contains(&damaged.fleet.as_ref()));
        let asked = |record: &Record| fleets.contains(&Some(&record.fleet));
        let mut records: Vec<_> = memory.records.values().filter(|record| asked(record)).cloned().collect();
        records.sort_by_key(|record| record.fleet != *fleet);
        records.into_iter().for_each(|record| self.add_record(&mut found, record));
        let mut graves: Vec<_> = memory.tombstones.values().filter(|grave| asked(&grave.record)).cloned().collect();
        graves.sort_by_key(|grave| (grave.record.fleet != *fleet, Reverse(grave.reaped_ms)));
        for grave in graves {
            found.tombstones.entry(grave.record.name.clone()).or_insert(grave);
        }
        Ok(found)
    }

    /// Two records of one name are damage: neither is chosen.
    fn add_record(&self, found: &mut Recorded, record: Record) {
        match found.records.get(&record.name) {
            Some(other) if other.fleet == record.fleet => found.damaged.push(Damaged {
                file: self.layout.record(record.id),
                id: Some(record.id),
                fleet: Some(record.fleet.clone()),
                name: Some(record.name.clone()),
                words: format!("{} is a record of `{}` too", self.layout.record(other.id).display(), record.name),
            }),
            Some(_) => {}
            None => drop(found.records.insert(record.name.clone(), record)),
        }
    }

    /// A fleet's own record; `None` when it was never applied.
    ///
    /// # Errors
    /// [`StateError`]: a file that cannot be understood is not an absent one.
    pub fn fleet(&self, fleet: &Name) -> Result<Option<FleetRecord>, StateError> {
        let file = self.layout.fleet(fleet);
        let bytes = match self.disk.read(&file, MAX_FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.fault == DiskFault::Missing => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        parse(&bytes, &file, |fleet: &FleetRecord| fleet.version)?.map(Some).map_err(|words| StateError::Corrupt {
            file,
            words,
            way_out: "mend it, or remove it and name the fleet's files anew with `farhelm apply --take-over`",
        })
    }

    /// The sessions that agents asked for: of `fleet`, or of `moved_from` where nothing is written of `fleet` yet.
    ///
    /// # Errors
    /// [`StateError`]: a file that cannot be understood is not an absent one.
    pub fn children(&self, fleet: &Name, moved_from: Option<&Name>) -> Result<Children, StateError> {
        for fleet in std::iter::once(fleet).chain(moved_from) {
            let file = self.layout.children(fleet);
            let bytes = match self.disk.read(&file, MAX_CHILDREN) {
                Ok(bytes) => bytes,
                Err(error) if error.fault == DiskFault::Missing => continue,
                Err(error) => return Err(error.into()),
            };
            return parse(&bytes, &file, |children: &Children| children.version)?.map_err(|words| {
                StateError::Corrupt {
                    file,
                    words,
                    way_out: "mend it, or remove it: the sessions that agents asked for then leave the fleet",
                }
            });
        }
        Ok(Children::default())
    }

    /// Replaces the sessions that agents asked for.
    ///
    /// # Errors
    /// [`StateError::Disk`].
    pub fn save_children(&self, fleet: &Name, children: &Children) -> Result<(), StateError> {
        Ok(self.disk.replace(&[file(self.layout.children(fleet), children)?])?)
    }

    /// Replaces records, all with one shared sync.
    ///
    /// # Errors
    /// [`StateError::Disk`]; some may have been replaced.
    pub fn save(&self, records: &[Record]) -> Result<(), StateError> {
        let files = records.iter().map(|record| file(self.layout.record(record.id), &trimmed(record)));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        if files.is_empty() { Ok(()) } else { Ok(self.disk.replace(&files)?) }
    }

    /// As [`Store::save`], for an operator's decision: on a full disk the room kept for it is used.
    ///
    /// # Errors
    /// As [`Store::save`].
    pub fn save_decision(&self, records: &[Record]) -> Result<(), StateError> {
        match self.save(records) {
            Err(StateError::Disk(error)) if error.fault == DiskFault::Full => {
                reserve::release(self.disk, &self.layout)?;
                self.save(records)
            }
            saved => saved,
        }
    }

    /// Replaces a fleet's own record.
    ///
    /// # Errors
    /// [`StateError::Disk`].
    pub fn save_fleet(&self, fleet: &Name, record: &FleetRecord) -> Result<(), StateError> {
        let record = FleetRecord { version: RECORD_VERSION, ..record.clone() };
        Ok(self.disk.replace(&[file(self.layout.fleet(fleet), &record)?])?)
    }

    /// Remembers whether `down` was the fleet's last word.
    ///
    /// # Errors
    /// [`StateError`].
    pub fn set_down(&self, fleet: &Name, down: bool) -> Result<(), StateError> {
        let record = self.fleet(fleet)?.unwrap_or_default();
        if record.down == down { Ok(()) } else { self.save_fleet(fleet, &FleetRecord { down, ..record }) }
    }

    /// Turns a reaped session's record into a tombstone.
    ///
    /// # Errors
    /// [`StateError::Disk`]; the record is then still there, or [`Store::tidy`] finishes the burial.
    pub fn bury(&self, record: &Record, now: Moment) -> Result<(), StateError> {
        self.bury_all(std::slice::from_ref(record), now)
    }

    /// As [`Store::bury`], for many, their tombstones with one shared sync. Their launch files go before their records.
    ///
    /// # Errors
    /// [`StateError::Disk`]; what was not buried is still there, or [`Store::tidy`] finishes its burial.
    pub fn bury_all(&self, records: &[Record], now: Moment) -> Result<(), StateError> {
        let graves = records.iter().map(|record| {
            let grave = Tombstone { reaped_ms: now.wall_ms, record: trimmed(record) };
            file(self.layout.tombstone(record.id), &grave)
        });
        self.disk.replace(&graves.collect::<Result<Vec<_>, _>>()?)?;
        let buried: BTreeSet<SessionId> = records.iter().map(|record| record.id).collect();
        launch_files::sweep(self.disk, &self.layout.launch(), |id, _| !buried.contains(&id))?;
        for record in records {
            self.remove_record(record.id)?;
            // Nothing reports any more; what stays counts for nothing.
            let _ = self.disk.remove_dir(&self.layout.report_dir(record.id));
        }
        Ok(())
    }

    /// Removes a record without a tombstone.
    ///
    /// # Errors
    /// [`StateError::Disk`].
    pub fn remove_record(&self, id: SessionId) -> Result<(), StateError> {
        Ok(self.disk.remove(&self.layout.record(id))?)
    }

    /// Drops every tombstone of a name, and says how many there were.
    ///
    /// # Errors
    /// [`StateError`].
    pub fn forget(&self, fleet: &Name, name: &Name) -> Result<usize, StateError> {
        self.drop_tombstones(&self.records()?, |grave| grave.record.fleet == *fleet && grave.record.name == *name)
    }

    fn drop_tombstones(&self, memory: &Memory, which: impl Fn(&Tombstone) -> bool) -> Result<usize, StateError> {
        let old: Vec<_> = memory.tombstones.iter().filter(|(_, grave)| which(grave)).collect();
        for (id, _) in &old {
            self.disk.remove(&self.layout.tombstone(**id))?;
        }
        Ok(old.len())
    }

    /// Finishes what an interrupted pass left half done (burials, restorations whose tombstone is still there), and
    /// removes launch files of sessions that no record knows (a power cut can bring removed files back), what
    /// agents of reaped sessions reported, and the tombstones older than [`TOMBSTONE_DAYS`]. Keeps some room for [`Store::save_decision`].
    ///
    /// # Errors
    /// [`StateError`].
    pub fn tidy(&self, now: Moment) -> Result<(), StateError> {
        // Without it nothing but such a decision is worse off.
        let _ = reserve::keep(self.disk, &self.layout);
        let memory = self.records()?;
        for file in &memory.unfinished {
            self.disk.remove(file)?;
        }
        let known = memory.known();
        launch_files::sweep(self.disk, &self.layout.launch(), |id, _| known.contains(&id))?;
        // What cannot be removed now is removed next time.
        let _ = reading::prune(self.disk, &self.layout, &memory.tombstones.keys().copied().collect());
        let limit = TOMBSTONE_DAYS * DAY_MS;
        self.drop_tombstones(&memory, |grave| now.wall_ms.saturating_sub(grave.reaped_ms) > limit).map(|_| ())
    }

    /// A session's bearer token, the value of `FARHELM_SESSION_TOKEN`: the same for all launches of the session, and
    /// derived from the directory's key, so that no record holds it. The first call makes the key.
    ///
    /// # Errors
    /// [`StateError`].
    pub fn token(&self, id: SessionId) -> Result<String, StateError> {
        let file = self.layout.key();
        let read = match self.disk.read(&file, 4096) {
            Err(error) if error.fault == DiskFault::Missing => {
                self.disk.replace(&[(file.clone(), owner::new_key().into_bytes())])?;
                self.disk.read(&file, 4096)?
            }
            other => other?,
        };
        match String::from_utf8(read) {
            Ok(key) if owner::is_key(key.trim_end()) => Ok(owner::token(key.trim_end(), id)),
            _ => Err(StateError::Corrupt {
                file,
                words: "64 hexadecimal digits expected".to_owned(),
                way_out: "remove it; reports of running sessions are then refused until their next restart",
            }),
        }
    }
}

/// The record as it is written: the newest launches only.
fn trimmed(record: &Record) -> Record {
    let mut record = record.clone();
    record.launches.drain(..record.launches.len().saturating_sub(MAX_LAUNCHES));
    record
}

/// A state file and its text, for `cat` too. A path that is not UTF-8 cannot be written.
fn file<T: Serialize>(path: PathBuf, value: &T) -> Result<(PathBuf, Vec<u8>), StateError> {
    match serde_json::to_vec_pretty(value) {
        Ok(mut text) => {
            text.push(b'\n');
            Ok((path, text))
        }
        Err(error) => Err(DiskError { doing: "write", path, fault: DiskFault::Other, words: error.to_string() }.into()),
    }
}
