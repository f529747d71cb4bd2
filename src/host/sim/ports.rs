//! The clock, process, disk and scope ports of the simulated machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::super::clock::{Clock, Interrupt, Moment};
use super::super::disk::{Disk, DiskError, DiskFault, Locked};
use super::super::ids::Ids;
use super::super::process::{
    BootId, MarkersRead, Pid, ProcessError, ProcessKey, ProcessTable, Processes, Signal, Signalled,
};
use super::super::scope::{ScopeError, ScopeSupport, Scopes};
use super::World;
use super::faults::DiskMode;
use super::files::{HeldLock, fault};
use super::ledger::What;
use super::machine::{Machine, TICK_MS};

impl Ids for World {
    fn new_id(&self) -> uuid::Uuid {
        let mut machine = self.machine.borrow_mut();
        let (high, low) = (machine.random.bits(), machine.random.bits());
        uuid::Builder::from_random_bytes((u128::from(high) << 64 | u128::from(low)).to_be_bytes()).into_uuid()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4)
}

impl Clock for World {
    fn now(&self) -> Moment {
        self.machine.borrow().now()
    }

    fn sleep(&self, time: Duration) {
        let mut machine = self.machine.borrow_mut();
        let until = machine.time + millis(time);
        let press = machine.farhelm.interrupts.into_iter().flatten().filter(|at| *at > machine.time).min();
        let until = press.map_or(until, |at| at.min(until));
        let ms = until - machine.time;
        machine.pass_time(ms);
    }

    fn interrupt(&self) -> Interrupt {
        self.machine.borrow().interrupt()
    }
}

impl Machine {
    fn send(&mut self, key: ProcessKey, signal: Signal) -> Signalled {
        self.check_signal(key, signal);
        let origin = self.table.origin(key).cloned();
        match self.table.row(key) {
            None => Signalled::Gone,
            Some(process) if process.foreign => Signalled::Refused("operation not permitted".to_owned()),
            Some(process) => {
                // A zombie accepts every signal.
                if !process.zombie {
                    self.effected(origin, What::Signalled { key, signal });
                    self.deliver(key, signal);
                }
                Signalled::Sent
            }
        }
    }

    fn wait_gone(&mut self, keys: &BTreeSet<ProcessKey>, limit: u64) -> BTreeSet<ProcessKey> {
        let until = self.time + limit;
        loop {
            let left: BTreeSet<ProcessKey> =
                keys.iter().copied().filter(|key| self.table.live(*key).is_some()).collect();
            let abandoned = self.interrupt() == Interrupt::Abandon;
            if left.is_empty() || self.time >= until || abandoned {
                return left;
            }
            let next = self.next_event().unwrap_or(until).clamp(self.time + 1, until);
            let ms = next - self.time;
            self.pass_time(ms);
        }
    }
}

impl Processes for World {
    fn boot(&self) -> Result<BootId, ProcessError> {
        self.look(|machine| {
            if machine.random.chance(machine.faults.boot_fails) {
                return Err(ProcessError("boot_id: input/output error".to_owned()));
            }
            Ok(machine.boot_id())
        })
    }

    fn table(&self) -> Result<ProcessTable, ProcessError> {
        self.look(|machine| {
            if machine.random.chance(machine.faults.table_fails) {
                return Err(ProcessError("/proc: too many open files".to_owned()));
            }
            Ok(machine.table.snapshot())
        })
    }

    fn markers(&self, key: ProcessKey) -> MarkersRead {
        self.peek(|machine| match machine.table.live(key) {
            None => MarkersRead::Gone,
            Some(process) if process.foreign => MarkersRead::Foreign,
            Some(process) if process.habits.unreadable => MarkersRead::Unreadable,
            Some(process) => MarkersRead::Read(process.markers.clone()),
        })
    }

    fn argv(&self, key: ProcessKey) -> Option<Vec<String>> {
        self.peek(|machine| machine.table.live(key).map(|process| process.argv.clone()))
    }

    fn open_files(&self, key: ProcessKey) -> Option<Vec<PathBuf>> {
        self.peek(|machine| machine.table.live(key).map(|_| machine.open_lock(key).into_iter().collect()))
    }

    fn signal(&self, key: ProcessKey, signal: Signal) -> Signalled {
        self.effect(|machine| machine.send(key, signal)).unwrap_or(Signalled::Gone)
    }

    fn wait_gone(&self, keys: &BTreeSet<ProcessKey>, limit: Duration) -> BTreeSet<ProcessKey> {
        self.machine.borrow_mut().wait_gone(keys, millis(limit))
    }

    fn own(&self) -> Pid {
        self.machine.borrow().farhelm.key.pid
    }

    fn started(&self, start: u64) -> Moment {
        let machine = self.machine.borrow();
        let now = machine.now();
        let boot_ms = start * TICK_MS;
        let ago = i64::try_from(now.boot_ms).unwrap_or(0) - i64::try_from(boot_ms).unwrap_or(0);
        Moment { boot_ms, wall_ms: now.wall_ms - ago }
    }
}

impl Machine {
    /// A change of a file, with what can go wrong about it.
    fn file(
        &mut self,
        verb: &'static str,
        path: &Path,
        act: impl FnOnce(&mut Self) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        match self.faults.disk {
            DiskMode::ReadOnly => return Err(fault(verb, path, DiskFault::ReadOnly)),
            DiskMode::Full if verb != "remove" => return Err(fault(verb, path, DiskFault::Full)),
            _ if self.random.chance(self.faults.disk_fails) => return Err(fault(verb, path, DiskFault::Other)),
            _ => {}
        }
        let made = act(self);
        if made.is_ok() && verb != "append to" {
            self.effected(None, What::File { verb, path: path.display().to_string() });
        }
        made
    }

    fn lock(&mut self, path: &Path, holder: &str) -> Result<Locked, DiskError> {
        let locks = Rc::clone(&self.files.locks);
        if self.random.chance(self.faults.lock_busy) || locks.borrow().contains(path) {
            return Ok(Locked::Busy("apply, pid 1, on this host".to_owned()));
        }
        if self.faults.disk == DiskMode::Well {
            self.files.replace(path, holder.as_bytes())?;
        } else if self.faults.disk == DiskMode::ReadOnly {
            return Err(fault("lock", path, DiskFault::ReadOnly));
        }
        locks.borrow_mut().insert(path.to_owned());
        Ok(Locked::Held(Box::new(HeldLock { locks, path: path.to_owned() })))
    }
}

fn gone(doing: &'static str, path: &Path) -> DiskError {
    fault(doing, path, DiskFault::Other)
}

impl Disk for World {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
        self.peek(|machine| {
            if machine.random.chance(machine.faults.disk_fails) {
                return Err(fault("read", path, DiskFault::Denied));
            }
            machine.files.read(path, limit)
        })
    }

    fn head(&self, path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
        let mut bytes = self.read(path, u64::MAX)?;
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(bytes)
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError> {
        self.peek(|machine| {
            if machine.random.chance(machine.faults.disk_fails) {
                return Err(fault("list", dir, DiskFault::Denied));
            }
            machine.files.list(dir)
        })
    }

    fn make_dir(&self, dir: &Path) -> Result<(), DiskError> {
        if self.peek(|machine| machine.files.resolve_dir(dir).is_ok()) {
            return Ok(());
        }
        let make = |machine: &mut Machine| machine.file("make directory", dir, |m| m.files.make_dir(dir));
        self.effect(make).unwrap_or_else(|| Err(gone("make directory", dir)))
    }

    fn replace(&self, files: &[(PathBuf, Vec<u8>)]) -> Result<(), DiskError> {
        for (path, bytes) in files {
            let write = |machine: &mut Machine| machine.file("replace", path, |m| m.files.replace(path, bytes));
            self.effect(write).unwrap_or_else(|| Err(gone("replace", path)))?;
        }
        Ok(())
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let write = |machine: &mut Machine| machine.file("create", path, |m| m.files.create(path, bytes));
        self.effect(write).unwrap_or_else(|| Err(gone("create", path)))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let write = |machine: &mut Machine| machine.file("append to", path, |m| m.files.append(path, bytes));
        self.effect(write).unwrap_or_else(|| Err(gone("append to", path)))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        let remove = |machine: &mut Machine| machine.file("remove", path, |m| m.files.remove(path));
        self.effect(remove).unwrap_or_else(|| Err(gone("remove", path)))
    }

    fn move_file(&self, from: &Path, to: &Path, replace: bool) -> Result<(), DiskError> {
        let rename = |machine: &mut Machine| machine.file("rename", from, |m| m.files.move_file(from, to, replace));
        self.effect(rename).unwrap_or_else(|| Err(gone("rename", from)))
    }

    fn remove_dir(&self, dir: &Path) -> Result<(), DiskError> {
        let remove = |machine: &mut Machine| {
            machine.file("remove", dir, |m| {
                m.files.remove_dir(dir);
                Ok(())
            })
        };
        self.effect(remove).unwrap_or_else(|| Err(gone("remove", dir)))
    }

    fn resolve_dir(&self, dir: &Path) -> Result<PathBuf, DiskError> {
        self.peek(|machine| machine.files.resolve_dir(dir))
    }

    fn only_root_writes(&self, _: &Path) -> Result<bool, DiskError> {
        Ok(false)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Locked, DiskError> {
        self.effect(|machine| machine.lock(path, holder)).unwrap_or_else(|| Err(gone("lock", path)))
    }
}

impl Machine {
    fn members(&self, unit: &str) -> Vec<ProcessKey> {
        self.table.all().filter(|p| !p.zombie && p.unit.as_deref() == Some(unit)).map(|p| p.key).collect()
    }

    fn ask_manager(&mut self) -> Result<(), ScopeError> {
        if !self.scopes {
            return Err(ScopeError("not running".to_owned()));
        }
        if self.random.chance(self.faults.scope_fails) {
            self.pass_time(5_000);
            return Err(ScopeError("no answer within 5s".to_owned()));
        }
        Ok(())
    }
}

impl Scopes for World {
    fn support(&self) -> ScopeSupport {
        self.look(|machine| match machine.ask_manager() {
            Ok(()) => {
                let words = ["/usr/bin/systemd-run", "--user", "--scope", "--collect", "--quiet"];
                ScopeSupport::Usable { runner: words.map(str::to_owned).to_vec() }
            }
            Err(error) if machine.scopes => ScopeSupport::Unknown(error.0),
            Err(error) => ScopeSupport::Unusable(error.0),
        })
    }

    fn exists(&self, unit: &str) -> Result<bool, ScopeError> {
        self.look(|machine| machine.ask_manager().map(|()| !machine.members(unit).is_empty()))
    }

    fn kill(&self, unit: &str, signal: Signal) -> Result<(), ScopeError> {
        let kill = |machine: &mut Machine| {
            machine.ask_manager()?;
            for key in machine.members(unit) {
                let origin = machine.table.origin(key).cloned();
                machine.effected(origin, What::Signalled { key, signal });
                machine.deliver(key, signal);
            }
            Ok(())
        };
        self.effect(kill).unwrap_or_else(|| Err(ScopeError("farhelm is gone".to_owned())))
    }

    fn wait_collected(&self, units: &[String], limit: Duration) -> Vec<String> {
        let mut machine = self.machine.borrow_mut();
        let keys: BTreeSet<ProcessKey> = units.iter().flat_map(|unit| machine.members(unit)).collect();
        machine.wait_gone(&keys, millis(limit));
        units.iter().filter(|unit| !machine.members(unit).is_empty()).cloned().collect()
    }
}
