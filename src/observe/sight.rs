//! One reading of the servers and the process table, and what it says of each server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::host::Host;
use crate::host::clock::Moment;
use crate::host::process::{BootId, Markers, MarkersRead, Pid, ProcessKey, ProcessTable};
use crate::host::tmux::{Panes, Socket, TmuxError};
use crate::state::launch_files::LaunchFiles;
use crate::state::record::Record;
use crate::state::stamp::Stamp;

use super::look::Ask;
use super::observed::{PaneRead, ServerSeen};
use super::reading::Reading;

/// How long a tmux server that listens no more is given to end.
const ENDING: Duration = Duration::from_secs(2);

/// Everything read in one look.
pub(super) struct Sight {
    pub at: Moment,
    pub boot: BootId,
    pub table: ProcessTable,
    pub servers: BTreeMap<Socket, ServerSeen>,
    pub panes: Vec<PaneRead>,
    /// A server with a pane of ours that no record names and that does not answer.
    pub unrecorded: Option<ProcessKey>,
}

impl Sight {
    /// Reads it all; the error says in words why nothing is known.
    pub fn take(host: &dyn Host, ask: &Ask) -> Result<Self, String> {
        Ok(Self::of(host, ask, Reading::take(host, ask.sockets())?))
    }

    /// What a reading says of each server.
    pub fn of(host: &dyn Host, ask: &Ask, reading: Reading) -> Self {
        let Reading { at, boot, table, answers } = reading;
        let mut sight = Self { at, boot, table, servers: BTreeMap::new(), panes: Vec::new(), unrecorded: None };
        let mut asked = BTreeSet::new();
        for (socket, answer) in answers {
            let seen = match answer {
                Ok(answer) => sight.add(answer, &socket, &mut asked),
                Err(TmuxError::NoServer(_)) => ServerSeen::Absent,
                Err(error) => ServerSeen::Unknown(error.to_string()),
            };
            sight.servers.insert(socket, seen);
        }
        sight.unrecorded = sight.unrecorded_server(host, ask);
        let absent = sight.servers.iter().filter(|(_, seen)| **seen == ServerSeen::Absent).map(|(socket, _)| socket);
        for socket in absent.cloned().collect::<Vec<_>>() {
            let seen = sight.nobody_listens(host, ask, &socket);
            sight.servers.insert(socket, seen);
        }
        sight
    }

    fn add(&mut self, answer: Panes, socket: &Socket, asked: &mut BTreeSet<ProcessKey>) -> ServerSeen {
        let Some(server) = self.table.running(answer.server).map(|process| process.key) else {
            return ServerSeen::Unknown(format!("the tmux server on {socket} ended while it was looked at"));
        };
        // Two spellings of one socket must not make two panes of each.
        if asked.insert(server) {
            for pane in answer.panes {
                let alive = self.table.running(pane.pid).filter(|_| pane.end.is_none());
                let process = alive.map(|process| process.key);
                self.panes.push(PaneRead { socket: socket.clone(), stamp: Stamp::read(&pane.stamp), process, pane });
            }
        }
        ServerSeen::Up { process: server }
    }

    /// tmux says the same of no server and of a server whose socket file was removed; the process table tells them
    /// apart, for the servers that are recorded.
    fn nobody_listens(&self, host: &dyn Host, ask: &Ask, socket: &Socket) -> ServerSeen {
        let of_records = ask.records.values().flat_map(|record| &record.launches);
        let of_records = of_records.filter(|launch| launch.boot == self.boot && launch.socket == *socket);
        let recorded = ask.servers.iter().filter(|(of, _)| of == socket).map(|(_, server)| *server);
        let mut servers = of_records.filter_map(|launch| launch.server).chain(recorded);
        let found = servers.find(|server| self.table.alive(*server).is_some()).or(self.unrecorded);
        // A server whose last pane was closed a moment ago has removed its socket and is about to end.
        match found.filter(|server| !host.wait_gone(&BTreeSet::from([*server]), ENDING).is_empty()) {
            Some(ProcessKey { pid, .. }) => ServerSeen::Unknown(format!(
                "the tmux server (pid {pid}) lives and its socket {socket} is gone; `kill -USR1 {pid}` makes it anew"
            )),
            None => ServerSeen::Absent,
        }
    }

    /// A tmux server with a pane of ours that no record names: a pass died between opening the pane and noting where.
    /// One that an agent started carries that agent's marks itself, and is none of ours.
    fn unrecorded_server(&self, host: &dyn Host, ask: &Ask) -> Option<ProcessKey> {
        let opened =
            |record: &Record| record.launch().is_some_and(|launch| launch.server.is_none() && launch.ended.is_none());
        let absent = self.servers.values().any(|seen| *seen == ServerSeen::Absent);
        if !absent && !ask.records.values().any(opened) {
            return None;
        }
        let up = |key: ProcessKey| self.servers.values().any(|seen| *seen == ServerSeen::Up { process: key });
        let launch_dir = ask.launch_dir.to_string_lossy();
        // The records may be lost as well: the state directory in the marks is ours.
        let is_known = |marks: &Markers| {
            marks.socket.as_ref().is_some_and(|socket| Path::new(socket).parent() == ask.launch_dir.parent())
        };
        let on_its_way = |key| host.argv(key).is_some_and(|argv| argv.iter().any(|word| word.contains(&*launch_dir)));
        let is_ours = |key: ProcessKey| match host.markers(key) {
            MarkersRead::Read(marks) if marks.session.is_some() => is_known(&marks),
            MarkersRead::Read(_) => on_its_way(key),
            MarkersRead::Unreadable => on_its_way(key) || self.executed(host, ask, key.pid),
            MarkersRead::Gone | MarkersRead::Foreign => false,
        };
        let living = || self.table.processes.values().filter(|process| !process.dead);
        let mut servers = living().filter(|process| process.comm.starts_with("tmux: server") && !up(process.key));
        let found = servers.find(|server| {
            let own = matches!(host.markers(server.key), MarkersRead::Read(marks) if marks.session.is_none());
            own && living().any(|child| child.parent == server.key.pid && is_ours(child.key))
        });
        found.map(|server| server.key)
    }

    /// Whether a launch of this boot became the process `pid`, as the shim noted right before its exec: of a program
    /// that hides its environment nothing else tells.
    fn executed(&self, host: &dyn Host, ask: &Ask, pid: Pid) -> bool {
        ask.records.values().any(|record| {
            let launches = record.launches.iter().filter(|launch| launch.boot == self.boot);
            let mut files = launches.map(|l| LaunchFiles::new(ask.launch_dir, record.id, l.generation, None));
            files.any(|files| matches!(files.exec_by(host), Ok(Some(by)) if by == pid))
        })
    }
}
