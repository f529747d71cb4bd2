//! A reading begun at once, while the fleet files and the records are read: tmux takes as long to answer as both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::SystemTime;

use crate::host::real::Machine;
use crate::host::tmux::Socket;
use crate::observe::reading::Reading;
use crate::state::layout::Layout;
use crate::state::lock;

/// A reading under way.
#[derive(Debug)]
pub struct Early {
    reading: JoinHandle<Result<Reading, String>>,
    machine: Arc<Machine>,
    lock: PathBuf,
    before: Option<SystemTime>,
}

impl Early {
    /// Begins to read. Dropping it waits for nothing.
    #[must_use]
    pub fn begin(machine: &Arc<Machine>, state_dir: &Path, socket: Socket) -> Self {
        let lock = Layout::new(state_dir).lock();
        let before = untouched_since(machine, &lock);
        let reader = Arc::clone(machine);
        let reading = std::thread::spawn(move || Reading::take(&*reader, [socket]));
        Self { reading, machine: Arc::clone(machine), lock, before }
    }

    /// The reading, once the records are read too. None when a pass of another farhelm may have come between the two:
    /// the records would then be newer than what was seen.
    #[must_use]
    pub fn reading(self) -> Option<Reading> {
        let before = self.before?;
        let reading = self.reading.join().ok()?.ok()?;
        (untouched_since(&self.machine, &self.lock) == Some(before)).then_some(reading)
    }
}

/// When the lock was last given back; `None` while somebody holds it, or nobody ever did.
fn untouched_since(machine: &Machine, lock: &Path) -> Option<SystemTime> {
    let changed = std::fs::symlink_metadata(lock).ok()?.modified().ok()?;
    lock::is_left(machine, lock).then_some(changed)
}
