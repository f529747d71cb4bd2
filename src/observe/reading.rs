//! What one look reads: the panes of every server asked, and the process table.

use std::collections::BTreeSet;

use crate::host::Host;
use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessTable};
use crate::host::tmux::{Panes, Socket, TmuxError};

/// One reading, of which nothing is made yet.
#[derive(Debug)]
pub struct Reading {
    pub(super) at: Moment,
    pub(super) boot: BootId,
    pub(super) table: ProcessTable,
    pub(super) answers: Vec<(Socket, Result<Panes, TmuxError>)>,
}

impl Reading {
    /// Asks each of `sockets`, then reads the table.
    ///
    /// Panes are listed before the table is read: a process that starts in between is in the table only, which harms
    /// nothing, and one that ends in between makes its pane a vanishing one.
    ///
    /// # Errors
    /// In words, why nothing is known: the table, or the boot, could not be read.
    pub fn take(host: &dyn Host, sockets: impl IntoIterator<Item = Socket>) -> Result<Self, String> {
        let boot = host.boot().map_err(|error| error.to_string())?;
        let answers = sockets.into_iter().map(|socket| (socket.clone(), host.panes(&socket))).collect();
        let table = host.table().map_err(|error| error.to_string())?;
        Ok(Self { at: host.now(), boot, table, answers })
    }

    /// Whether exactly `sockets` were asked.
    pub(super) fn is_of(&self, sockets: &BTreeSet<Socket>) -> bool {
        self.answers.len() == sockets.len() && self.answers.iter().all(|(socket, _)| sockets.contains(socket))
    }
}
