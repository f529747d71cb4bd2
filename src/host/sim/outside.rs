//! What others do to the machine: operators, strangers, the power company. farhelm sees only the consequences.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::clock::Moment;
use super::super::process::{Markers, ProcessKey};
use super::super::tmux::{OpenPane, PaneId, Place, Socket, StampText};
use super::World;
use super::faults::Faults;
use super::ledger::{AgentRun, Happened, Origin};
use super::machine::Machine;
use super::program::Habits;
use super::servers::{number, origin_of};
use super::table::{End, Spawn};

impl World {
    /// Starts a run of farhelm, below a shell of its own; an earlier run is over.
    pub fn start(&self) {
        self.peek(|machine| {
            machine.end_farhelm();
            machine.start_farhelm(None);
        });
    }

    /// Starts a run of farhelm inside an agent of `session`, when one runs; says whether.
    pub fn start_inside(&self, session: &str) -> bool {
        self.peek(|machine| {
            machine.end_farhelm();
            let agent = machine.table.all().find(|p| p.agent && !p.zombie && is_of(p.origin.as_ref(), session));
            let parent = agent.map(|p| p.key.pid);
            machine.start_farhelm(parent);
            parent.is_some()
        })
    }

    /// The run of farhelm ends by itself.
    pub fn finish(&self) {
        self.peek(Machine::end_farhelm);
    }

    /// Kills farhelm at its `effect`th effect from now, before it takes place or after.
    pub fn kill_at(&self, effect: u64, before: bool) {
        self.peek(|machine| machine.farhelm.killed_at = Some((machine.farhelm.effects + effect, before)));
    }

    /// The operator presses Ctrl-C in so many milliseconds, and perhaps again.
    pub fn interrupt_in(&self, first: u64, second: Option<u64>) {
        self.peek(|machine| {
            let now = machine.time;
            machine.farhelm.interrupts = [Some(now + first), second.map(|ms| now + ms)];
        });
    }

    /// Sets what can go wrong.
    pub fn set_faults(&self, faults: Faults) {
        self.peek(|machine| machine.faults = faults);
    }

    /// Whether a systemd user manager runs.
    pub fn set_scopes(&self, usable: bool) {
        self.peek(|machine| machine.scopes = usable);
    }

    /// Lets time go by.
    pub fn advance(&self, ms: u64) {
        self.peek(|machine| machine.pass_time(ms));
    }

    /// Sets the wall clock forward or back.
    pub fn step_wall(&self, ms: i64) {
        self.peek(|machine| machine.wall_at_zero += ms);
    }

    /// The power goes and comes back.
    pub fn reboot(&self) {
        self.peek(Machine::reboot);
    }

    /// Makes a directory, as a user does.
    pub fn make_user_dir(&self, dir: &Path) {
        // The only error is a file in the way, and no user file is ever made.
        let _ = self.peek(|machine| machine.files.make_dir(dir));
    }

    /// Removes a directory with all in it.
    pub fn remove_user_dir(&self, dir: &Path) {
        self.peek(|machine| {
            machine.note(format!("{} is removed", dir.display()));
            machine.files.remove_dir(dir);
        });
    }

    /// Removes the files below a directory; the directories stay.
    pub fn lose_files(&self, dir: &Path) {
        self.peek(|machine| {
            machine.note(format!("the files below {} are lost", dir.display()));
            machine.files.lose(dir);
            machine.forgetful = true;
        });
    }

    /// Makes `link` lead to `dir`.
    pub fn link_dir(&self, link: &Path, dir: &Path) {
        self.peek(|machine| machine.files.links.insert(link.to_owned(), dir.to_owned()));
    }

    /// Writes a file that was there before, durably, as an operator's verb does.
    pub fn rewrite_file(&self, path: &Path, bytes: &[u8]) {
        // The file's directory exists, since the file does; a missing file stays missing.
        let _ =
            self.peek(|machine| machine.files.read(path, u64::MAX).and_then(|_| machine.files.replace(path, bytes)));
    }

    /// A file's content, when it is there.
    #[must_use]
    pub fn file(&self, path: &Path) -> Option<Vec<u8>> {
        self.machine.borrow().files.read(path, u64::MAX).ok()
    }

    /// Every pane that farhelm did not open, and every dead one of a session other than `known`, is closed by its user, on
    /// every server.
    pub fn tidy_panes(&self, known: &BTreeSet<String>) {
        self.peek(|machine| {
            let strange = |server: &super::servers::Server| {
                let orphan = |pane: &super::servers::PaneState| {
                    pane.end.is_some() && origin_of(&pane.stamp).is_some_and(|origin| !known.contains(&origin.session))
                };
                let panes = server.panes.iter().filter(|(_, pane)| !pane.ours || orphan(pane));
                panes.map(|(id, _)| (server.process, *id)).collect::<Vec<_>>()
            };
            let all: Vec<(ProcessKey, u64)> = machine.servers.iter().flat_map(strange).collect();
            for (process, pane) in all {
                if let Some(server) = machine.servers.iter().position(|server| server.process == process) {
                    machine.close_pane(server, pane);
                }
            }
        });
    }

    /// Ends the server on `socket` with SIGKILL; says whether there was one.
    pub fn kill_server(&self, socket: &Socket) -> bool {
        self.peek(|machine| {
            let Some(server) = machine.server_at(socket.path()) else { return false };
            machine.note("the tmux server is killed");
            let process = machine.servers[server].process;
            machine.die(process, End::Killed(9));
            true
        })
    }

    /// Removes the socket's file: its server lives on and hears nobody.
    pub fn delete_socket(&self, socket: &Socket) {
        self.peek(|machine| {
            if let Some(server) = machine.server_at(socket.path()) {
                machine.servers[server].listens = false;
                machine.note("the tmux socket is deleted");
            }
        });
    }

    /// Lets the server that lost its socket listen again (`kill -USR1`), unless another took its place.
    pub fn restore_socket(&self, socket: &Socket) {
        self.peek(|machine| {
            let free = machine.server_at(socket.path()).is_none();
            let lost = machine.servers.iter().find(|s| s.socket == socket.path() && !s.panes.is_empty());
            if let Some(process) = lost.filter(|_| free).map(|server| server.process) {
                machine.recreate_socket(process);
            }
        });
    }

    /// Servers that were started on `socket`, those included that lost it.
    #[must_use]
    pub fn servers_on(&self, socket: &Socket) -> usize {
        let machine = self.machine.borrow();
        machine.servers.iter().filter(|s| s.socket == socket.path() && !s.panes.is_empty()).count()
    }

    /// The server on `socket` answers nobody for a while.
    pub fn hang_server(&self, socket: &Socket, ms: u64) {
        self.peek(|machine| {
            if let Some(server) = machine.server_at(socket.path()) {
                machine.servers[server].hangs_until = machine.time + ms;
                machine.note("the tmux server hangs");
            }
        });
    }

    /// A client attaches to, or leaves, the session of a pane.
    pub fn set_clients(&self, socket: &Socket, pane: &PaneId, clients: u32) {
        self.peek(|machine| {
            let Some(server) = machine.server_at(socket.path()) else { return };
            let server = &mut machine.servers[server];
            let session = server.panes.get(&number(&pane.0)).map(|pane| pane.session);
            if let Some(session) = session.and_then(|id| server.sessions.get_mut(&id)) {
                session.clients = clients;
            }
        });
    }

    /// A user closes a pane.
    pub fn close_by_user(&self, socket: &Socket, pane: &PaneId) {
        self.peek(|machine| {
            if let Some(server) = machine.server_at(socket.path()) {
                machine.note(format!("a user closes {pane}"));
                machine.close_pane(server, number(&pane.0));
            }
        });
    }

    /// A pane that farhelm did not open, with whatever stamp and marks; the server is started where there is none.
    pub fn strange_pane(&self, socket: &Socket, place: Place, stamp: StampText, markers: Markers) -> Option<PaneId> {
        self.peek(|machine| {
            let server = machine.server_at(socket.path()).unwrap_or_else(|| machine.start_server(socket.path(), false));
            let argv = vec!["zsh".to_owned()];
            let request = OpenPane { place, window: "user".to_owned(), dir: PathBuf::from("/"), argv, stamp };
            let opened = machine.open_pane(server, &request, false);
            machine.end_when_empty(server);
            let opened = opened.ok()?;
            machine.note(format!("somebody opens {}", opened.pane));
            let key = machine.table.all().find(|p| p.key.pid == opened.pid).map(|p| p.key)?;
            if let Some(process) = machine.table.live_mut(key) {
                process.markers = markers;
            }
            Some(opened.pane)
        })
    }

    /// A process that is nobody's business: of another account, unreadable, or marked by others.
    pub fn stranger(&self, foreign: bool, unreadable: bool, markers: Markers) -> ProcessKey {
        self.peek(|machine| {
            let lives = machine.random.range(10, 60_000);
            let habits = Habits { exits: Some((lives, 0)), unreadable, ..Habits::default() };
            machine.spawn(1, Spawn { comm: "stranger", foreign, markers, habits: Some(habits), ..Spawn::default() })
        })
    }

    /// Somebody sends SIGKILL to the agent of `session`; says whether one ran.
    pub fn kill_agent(&self, session: &str) -> bool {
        self.peek(|machine| {
            let agent = machine.table.all().find(|p| p.agent && !p.zombie && is_of(p.origin.as_ref(), session));
            let Some(key) = agent.map(|p| p.key) else { return false };
            machine.die(key, End::Killed(9));
            true
        })
    }
}

/// What a driver of the world may know.
impl World {
    /// What farhelm must never have done, in words.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.machine.borrow().ledger.violations.clone()
    }

    /// Notes a violation that the driver found.
    pub fn violated(&self, words: impl Into<String>) {
        self.peek(|machine| machine.violation(words));
    }

    /// Puts words into the trace.
    pub fn remark(&self, words: impl Into<String>) {
        self.peek(|machine| machine.note(words));
    }

    /// All that happened, in order.
    #[must_use]
    pub fn happened(&self) -> Vec<Happened> {
        self.machine.borrow().ledger.happened.clone()
    }

    /// Looks at what happened from the `from`th event on, without copying it; returns how many there are.
    pub fn review(&self, from: usize, mut look: impl FnMut(&Happened)) -> usize {
        let machine = self.machine.borrow();
        machine.ledger.happened.iter().skip(from).for_each(&mut look);
        machine.ledger.happened.len()
    }

    /// Every exec of an agent so far.
    #[must_use]
    pub fn runs(&self) -> Vec<AgentRun> {
        self.machine.borrow().ledger.runs.clone()
    }

    /// Effects of the present run of farhelm.
    #[must_use]
    pub fn effects(&self) -> u64 {
        self.machine.borrow().farhelm.effects
    }

    /// The living agents of a session.
    #[must_use]
    pub fn agents(&self, session: &str) -> Vec<ProcessKey> {
        let machine = self.machine.borrow();
        let of = machine.table.all().filter(|p| p.agent && !p.zombie && is_of(p.origin.as_ref(), session));
        of.map(|p| p.key).collect()
    }

    /// Each session of which an agent is alive, with the token that this agent was given.
    #[must_use]
    pub fn tokens(&self) -> BTreeMap<String, String> {
        let machine = self.machine.borrow();
        let alive = machine.table.all().filter(|p| p.agent && !p.zombie).filter_map(|p| p.origin.as_ref());
        alive
            .filter_map(|origin| machine.tokens.get_key_value(&origin.session))
            .map(|(s, t)| (s.clone(), t.clone()))
            .collect()
    }

    /// The sessions of which any process that farhelm could know is alive.
    #[must_use]
    pub fn marked_sessions(&self) -> BTreeSet<String> {
        let machine = self.machine.borrow();
        let marked = machine.table.all().filter(|p| !p.zombie && p.origin.is_some());
        marked.filter_map(|p| p.markers.session.clone()).collect()
    }

    /// The living agents of a session that still have their pane.
    #[must_use]
    pub fn housed_agents(&self, session: &str) -> Vec<ProcessKey> {
        let mut agents = self.agents(session);
        let machine = self.machine.borrow();
        let panes = || machine.servers.iter().flat_map(|server| server.panes.values());
        agents.retain(|agent| panes().any(|pane| pane.process == *agent && pane.end.is_none()));
        agents
    }

    /// The sessions of which a pane farhelm opened is alive.
    #[must_use]
    pub fn live_sessions(&self) -> BTreeSet<String> {
        let machine = self.machine.borrow();
        let panes = machine.servers.iter().flat_map(|server| server.panes.values());
        panes.filter(|p| p.ours && p.end.is_none()).filter_map(|p| Some(origin_of(&p.stamp)?.session)).collect()
    }

    /// Living processes with the mark of `session`, those without a readable environment excepted.
    #[must_use]
    pub fn remains(&self, session: &str) -> Vec<ProcessKey> {
        self.machine.borrow().remains(session)
    }

    /// Processes that are stopped (state T), and whose they are.
    #[must_use]
    pub fn frozen(&self) -> Vec<(ProcessKey, Origin)> {
        let machine = self.machine.borrow();
        let stopped = machine.table.all().filter(|p| p.stopped && !p.kill_pending && !p.scrubbed);
        stopped.filter_map(|p| Some((p.key, p.origin.clone()?))).collect()
    }

    /// The panes farhelm opened for a session; dead ones on a server that has lost its socket are out of its reach.
    #[must_use]
    pub fn panes_of(&self, session: &str) -> Vec<PaneId> {
        let machine = self.machine.borrow();
        let mut found = Vec::new();
        for server in &machine.servers {
            let ours = |pane: &super::servers::PaneState| pane.ours && (server.listens || pane.end.is_none());
            let of =
                server.panes.iter().filter(|(_, pane)| ours(pane) && is_of(origin_of(&pane.stamp).as_ref(), session));
            found.extend(of.map(|(id, _)| PaneId(format!("%{id}"))));
        }
        found
    }

    /// Every pane of every server that can be reached: server, pane, whether farhelm opened it.
    #[must_use]
    pub fn all_panes(&self) -> Vec<(Socket, PaneId, bool)> {
        let machine = self.machine.borrow();
        let of = |server: &super::servers::Server| {
            let socket = Socket(server.socket.clone());
            let pane =
                |(id, pane): (&u64, &super::servers::PaneState)| (socket.clone(), PaneId(format!("%{id}")), pane.ours);
            server.panes.iter().map(pane).collect::<Vec<_>>()
        };
        machine.servers.iter().filter(|server| server.listens).flat_map(of).collect()
    }

    /// All files below `dir`.
    #[must_use]
    pub fn files_below(&self, dir: &Path) -> Vec<PathBuf> {
        self.machine.borrow().files.paths().filter(|path| path.starts_with(dir)).map(Path::to_owned).collect()
    }

    /// The present moment, for the driver.
    #[must_use]
    pub fn moment(&self) -> Moment {
        self.machine.borrow().now()
    }
}

fn is_of(origin: Option<&super::ledger::Origin>, session: &str) -> bool {
    origin.is_some_and(|origin| origin.session == session)
}
