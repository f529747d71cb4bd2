//! The simulated tmux servers: sessions, panes, and what their processes' ends do to them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::process::ProcessKey;
use super::super::tmux::{
    OpenPane, Opened, Pane, PaneEnd, PaneId, Panes, Place, Socket, StampText, TmuxError, TmuxSession,
};
use super::ledger::{Origin, What};
use super::machine::{Event, Machine};
use super::table::{End, Spawn};

/// A pane as its server has it.
#[derive(Debug, Clone)]
pub(super) struct PaneState {
    pub(super) session: u64,
    /// Its process; of a dead pane, the one it had.
    pub(super) process: ProcessKey,
    pub(super) end: Option<PaneEnd>,
    pub(super) stamp: StampText,
    /// Dead panes stay.
    pub(super) remains: bool,
    /// farhelm opened it.
    pub(super) ours: bool,
}

/// A tmux session as its server has it.
#[derive(Debug, Clone)]
pub(super) struct SessionState {
    pub(super) name: String,
    pub(super) clients: u32,
}

/// A server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) socket: PathBuf,
    /// The socket's file leads to it.
    pub(super) listens: bool,
    pub(super) process: ProcessKey,
    pub(super) sessions: BTreeMap<u64, SessionState>,
    pub(super) panes: BTreeMap<u64, PaneState>,
    /// It answers nothing before that time.
    pub(super) hangs_until: u64,
    next: u64,
}

impl Server {
    fn pane(&self, id: u64, pane: &PaneState) -> Pane {
        let session = self.sessions.get(&pane.session);
        Pane {
            id: PaneId(format!("%{id}")),
            session: TmuxSession(format!("${}", pane.session)),
            session_name: session.map_or_else(String::new, |s| s.name.clone()),
            pid: pane.process.pid,
            end: pane.end,
            clients: session.map_or(0, |s| s.clients),
            stamp: pane.stamp.clone(),
        }
    }

    pub(super) fn list(&self) -> Panes {
        let panes = self.panes.iter().map(|(id, pane)| self.pane(*id, pane)).collect();
        Panes { server: self.process.pid, panes }
    }

    /// A pane is gone, and with it a session without any other.
    fn forget(&mut self, pane: u64) {
        let Some(gone) = self.panes.remove(&pane) else { return };
        if !self.panes.values().any(|other| other.session == gone.session) {
            self.sessions.remove(&gone.session);
        }
    }
}

/// The number in an id such as `%12` or `$3`.
pub(super) fn number(id: &str) -> u64 {
    id.get(1..).and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

/// The session a stamp speaks of.
pub(super) fn origin_of(stamp: &StampText) -> Option<Origin> {
    Some(Origin {
        session: stamp.get("id")?.clone(),
        tab: stamp.get("tab").filter(|tab| !tab.is_empty()).cloned(),
        generation: stamp.get("generation").and_then(|text| text.parse().ok()).unwrap_or(0),
    })
}

impl Machine {
    /// The server that answers on `socket`.
    pub(super) fn server_at(&self, socket: &Path) -> Option<usize> {
        self.servers.iter().position(|server| server.listens && server.socket == socket)
    }

    /// A server starts.
    pub(super) fn start_server(&mut self, socket: &Path, ours: bool) -> usize {
        let argv = vec!["tmux".to_owned(), "-S".to_owned(), socket.display().to_string()];
        let process = self.spawn(1, Spawn { comm: "tmux: server", argv, ..Spawn::default() });
        let living = |pane: &PaneState| pane.ours && pane.end.is_none();
        let beside = self.servers.iter().any(|server| server.socket == socket && server.panes.values().any(living));
        self.usurped |= beside && !ours;
        if beside && ours && !self.forgetful && !self.usurped {
            self.violation(format!("a second tmux server was started on {} beside a live one", socket.display()));
        }
        self.note(format!("tmux server {process} starts on {}", socket.display()));
        self.servers.push(Server {
            socket: socket.to_owned(),
            listens: true,
            process,
            sessions: BTreeMap::new(),
            panes: BTreeMap::new(),
            hangs_until: 0,
            next: 0,
        });
        self.servers.len() - 1
    }

    /// Opens one pane on a server, as tmux does with one line of a script.
    pub(super) fn open_pane(&mut self, server: usize, request: &OpenPane, ours: bool) -> Result<Opened, TmuxError> {
        let refuse = |words: String| Err(TmuxError::Failed(words));
        let host = &mut self.servers[server];
        let (session, pane, respawned) = match &request.place {
            Place::NewSession(name) if host.sessions.values().any(|s| s.name == *name) => {
                return refuse(format!("duplicate session: {name}"));
            }
            Place::NewSession(name) => {
                host.next += 1;
                host.sessions.insert(host.next, SessionState { name: name.clone(), clients: 0 });
                (host.next, host.next, false)
            }
            Place::NewWindow(session) if !host.sessions.contains_key(&number(&session.0)) => {
                return refuse(format!("can't find session: {session}"));
            }
            Place::NewWindow(session) => {
                host.next += 1;
                (number(&session.0), host.next, false)
            }
            Place::Respawn(pane) => match host.panes.get(&number(&pane.0)) {
                None => return refuse(format!("can't find pane: {pane}")),
                Some(state) if state.end.is_none() => return refuse(format!("pane {pane} still active")),
                Some(state) => (state.session, number(&pane.0), true),
            },
        };
        let (pid, key) = (host.process.pid, PaneId(format!("%{pane}")));
        let origin = origin_of(&request.stamp).filter(|_| ours);
        if respawned && ours {
            self.check_pane(server, pane, "respawned");
        }
        let comm = if ours { "bash" } else { "zsh" };
        let argv = request.argv.clone();
        let process = self.spawn(pid, Spawn { comm, argv, origin: origin.clone(), ..Spawn::default() });
        let host = &mut self.servers[server];
        let mut stamp = host.panes.get(&pane).map(|state| state.stamp.clone()).unwrap_or_default();
        stamp.extend(request.stamp.clone());
        host.panes.insert(pane, PaneState { session, process, end: None, stamp, remains: ours, ours });
        if ours {
            if let Some(origin) = origin.as_ref().filter(|origin| origin.tab.is_none()) {
                self.talks.opened.insert(origin.session.clone(), origin.generation);
            }
            self.effected(origin, What::Opened { pane: key.0.clone(), respawned });
            self.check_opened(process);
            self.begin_shim(process);
        }
        let showed = respawned.then(|| format!("the last line of {key}\n"));
        Ok(Opened { pane: key, session: TmuxSession(format!("${session}")), pid: process.pid, server: pid, showed })
    }

    /// Notes a violation when farhelm touches a pane it did not open.
    pub(super) fn check_pane(&mut self, server: usize, pane: u64, verb: &str) {
        let strange = self.servers[server].panes.get(&pane).is_some_and(|state| !state.ours);
        if strange {
            self.violation(format!("pane %{pane}, which is not ours, was {verb}"));
        }
    }

    /// Closes a pane: its process is hung up, as tmux does it.
    pub(super) fn close_pane(&mut self, server: usize, pane: u64) {
        let Some(state) = self.servers[server].panes.get(&pane).cloned() else { return };
        self.servers[server].forget(pane);
        if state.end.is_none() {
            self.hang_up(state.process);
        }
        self.end_when_empty(server);
    }

    fn hang_up(&mut self, process: ProcessKey) {
        use super::super::process::Signal;
        self.deliver(process, Signal::Cont);
        self.deliver(process, Signal::Hup);
    }

    pub(super) fn end_when_empty(&mut self, server: usize) {
        if self.servers[server].panes.is_empty() {
            let process = self.servers[server].process;
            self.servers[server].listens = false;
            let late = self.random.below(30);
            self.schedule(late, Event::ServerGone(process));
        }
    }

    /// The process of a pane has ended. `Some(true)`: tmux has collected it; `None`: it is no pane's process.
    pub(super) fn pane_ended(&mut self, key: ProcessKey, end: End) -> Option<bool> {
        let found = self.servers.iter().enumerate().find_map(|(at, server)| {
            let pane = server.panes.iter().find(|(_, pane)| pane.process == key && pane.end.is_none())?;
            Some((at, *pane.0))
        });
        let Some((server, pane)) = found else {
            // A closed pane's process is still a child of its server, which collects it.
            let parent = self.table.row(key).map(|row| row.parent);
            return self.servers.iter().any(|server| Some(server.process.pid) == parent).then_some(true);
        };
        let lost = self.random.chance(self.faults.status_lost);
        let at = Some((self.wall_at_zero + i64::try_from(self.time).unwrap_or(0)) / 1000);
        let state = self.servers[server].panes.get_mut(&pane)?;
        state.end = Some(match end {
            _ if lost => PaneEnd { status: None, signal: None, at },
            End::Exited(status) => PaneEnd { status: Some(status), signal: None, at },
            End::Killed(signal) => PaneEnd { status: None, signal: Some(signal), at },
        });
        if !state.remains {
            self.servers[server].forget(pane);
            self.end_when_empty(server);
        }
        Some(!lost)
    }

    /// When a server's process ends, the panes go and their processes are hung up.
    pub(super) fn server_ended(&mut self, key: ProcessKey) {
        let Some(at) = self.servers.iter().position(|server| server.process == key) else { return };
        let server = self.servers.swap_remove(at);
        self.happened(None, What::ServerGone { key });
        for pane in server.panes.into_values().filter(|pane| pane.end.is_none()) {
            self.hang_up(pane.process);
        }
    }

    /// What SIGUSR1 does to a server.
    pub(super) fn recreate_socket(&mut self, key: ProcessKey) {
        let Some(at) = self.servers.iter().position(|server| server.process == key) else { return };
        let socket = self.servers[at].socket.clone();
        for server in self.servers.iter_mut().filter(|server| server.socket == socket) {
            server.listens = server.process == key;
        }
        self.note(format!("tmux server {key} listens on {} again", socket.display()));
    }

    /// What a call to the server on `socket` meets: nobody, no answer, or the server.
    pub(super) fn reach(&mut self, socket: &Socket) -> Result<usize, TmuxError> {
        let at = self.server_at(socket.path()).ok_or_else(|| TmuxError::NoServer(socket.clone()))?;
        if self.servers[at].hangs_until > self.time {
            self.pass_time(super::tmux::DEADLINE_MS);
            return Err(super::tmux::timeout());
        }
        if self.random.chance(self.faults.tmux_fails) {
            return Err(TmuxError::Failed("server exited unexpectedly".to_owned()));
        }
        Ok(at)
    }
}
