//! The last lines of terminals that are closed or used again, in `logs/`.

use crate::host::Host;
use crate::host::tmux::{KEPT_LINES, PaneId, Socket};
use crate::state::record::{Record, SessionId};
use crate::state::store::Store;

/// Keeps what a pane shows in `logs/`.
pub(super) fn keep_shown(host: &dyn Host, store: &Store<'_>, record: &Record, socket: &Socket, pane: &PaneId) {
    if let Ok(text) = host.capture(socket, pane, KEPT_LINES) {
        keep(host, store, record.id, record.generation(), &text);
    }
}

/// Keeps the last lines of a launch in `logs/`; losing them is no reason to stop.
pub(super) fn keep(host: &dyn Host, store: &Store<'_>, session: SessionId, generation: u32, text: &str) {
    let dir = store.layout().logs(session);
    let file = dir.join(generation.to_string());
    if host.make_dir(&dir).is_ok() && host.remove(&file).is_ok() {
        // Not synced: after a power cut nothing needs them.
        let _ = host.create(&file, text.as_bytes());
    }
}
