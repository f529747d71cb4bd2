//! The tmux port of the simulated machine.

use std::time::Duration;

use super::super::tmux::{OpenPane, Opened, PaneId, Panes, Place, Socket, StampText, Tmux, TmuxError, TmuxSession};
use super::World;
use super::ledger::What;
use super::machine::Machine;
use super::servers::{number, origin_of};
use super::table::End;

/// How long a call waits for an answer.
pub(super) const DEADLINE_MS: u64 = 2_000;

pub(super) fn timeout() -> TmuxError {
    TmuxError::Timeout(Duration::from_millis(DEADLINE_MS))
}

fn dead() -> TmuxError {
    TmuxError::Failed("farhelm is gone".to_owned())
}

type OpenResult = Result<Vec<Result<Opened, TmuxError>>, TmuxError>;

impl Machine {
    /// Whether this call's answer is lost, and whether its effect takes place all the same.
    fn lost_answer(&mut self) -> Option<bool> {
        let lost = self.random.chance(self.faults.tmux_timeout);
        lost.then(|| self.random.chance(500))
    }

    fn give_up(&mut self) -> TmuxError {
        self.note("tmux does not answer");
        self.pass_time(DEADLINE_MS);
        timeout()
    }

    fn open(&mut self, socket: &Socket, requests: &[OpenPane]) -> OpenResult {
        let starts = requests.iter().any(|request| matches!(request.place, Place::NewSession(_)));
        let server = match self.reach(socket) {
            Err(TmuxError::NoServer(_)) if starts => {
                let lingers = self.servers.iter().any(|s| s.socket == socket.path() && s.panes.is_empty());
                if lingers {
                    return Err(TmuxError::Failed("server exited unexpectedly".to_owned()));
                }
                self.start_server(socket.path(), true)
            }
            reached => reached?,
        };
        let process = self.servers[server].process;
        let lost = self.lost_answer();
        let dies = self.random.chance(self.faults.tmux_dies);
        let cut = if dies || lost == Some(false) { self.random.below(requests.len() as u64 + 1) } else { u64::MAX };
        let mut opened = Vec::new();
        for (at, request) in requests.iter().enumerate() {
            if at as u64 >= cut {
                break;
            }
            let Some(server) = self.servers.iter().position(|s| s.process == process) else { break };
            opened.push(self.open_pane(server, request, true));
        }
        if dies {
            self.note("the tmux server dies in the middle of a batch");
            self.die(process, End::Killed(11));
            return Err(TmuxError::Failed("server exited unexpectedly".to_owned()));
        }
        if let Some(server) = self.servers.iter().position(|s| s.process == process) {
            self.end_server_without_panes(server);
        }
        if lost.is_some() { Err(self.give_up()) } else { Ok(opened) }
    }

    fn end_server_without_panes(&mut self, server: usize) {
        if self.servers[server].panes.is_empty() {
            let process = self.servers[server].process;
            self.die(process, End::Exited(0));
        }
    }

    /// One change of panes or sessions, with what can go wrong about it.
    fn change(&mut self, socket: &Socket, act: impl FnOnce(&mut Self, usize)) -> Result<(), TmuxError> {
        let server = self.reach(socket)?;
        let lost = self.lost_answer();
        if lost != Some(false) {
            act(self, server);
        }
        if lost.is_some() { Err(self.give_up()) } else { Ok(()) }
    }

    fn set_options(&mut self, server: usize, pane: &PaneId, stamp: &StampText) {
        self.check_pane(server, number(&pane.0), "stamped");
        let Some(state) = self.servers[server].panes.get_mut(&number(&pane.0)) else { return };
        state.stamp.extend(stamp.clone());
        let origin = origin_of(&state.stamp);
        self.effected(origin, What::Stamped { pane: pane.0.clone() });
    }

    fn close(&mut self, server: usize, pane: &PaneId) {
        let id = number(&pane.0);
        self.check_pane(server, id, "closed");
        let Some(state) = self.servers[server].panes.get(&id) else { return };
        let (origin, live) = (origin_of(&state.stamp), state.end.is_none());
        self.effected(origin, What::Closed { pane: pane.0.clone(), live });
        self.close_pane(server, id);
    }

    fn rename(&mut self, server: usize, session: &TmuxSession, name: &str) {
        let id = number(&session.0);
        if self.servers[server].sessions.values().any(|other| other.name == name) {
            return;
        }
        let ours = self.servers[server].panes.values().any(|pane| pane.session == id && pane.ours);
        if !ours {
            self.violation(format!("tmux session {session}, which is not ours, was renamed"));
        }
        if let Some(state) = self.servers[server].sessions.get_mut(&id) {
            name.clone_into(&mut state.name);
            self.effected(None, What::Note(format!("renamed {session} to {name}")));
        }
    }
}

impl Tmux for World {
    fn panes(&self, socket: &Socket) -> Result<Panes, TmuxError> {
        self.look(|machine| {
            let server = machine.reach(socket)?;
            if machine.lost_answer().is_some() { Err(machine.give_up()) } else { Ok(machine.servers[server].list()) }
        })
    }

    fn open(&self, socket: &Socket, requests: &[OpenPane]) -> OpenResult {
        self.effect(|machine| machine.open(socket, requests)).unwrap_or_else(|| Err(dead()))
    }

    fn stamp(&self, socket: &Socket, stamps: &[(PaneId, StampText)]) -> Result<(), TmuxError> {
        let act = |machine: &mut Machine, server| {
            for (pane, stamp) in stamps {
                machine.set_options(server, pane, stamp);
            }
        };
        self.effect(|machine| machine.change(socket, act)).unwrap_or_else(|| Err(dead()))
    }

    fn close(&self, socket: &Socket, panes: &[PaneId]) -> Result<(), TmuxError> {
        let act = |machine: &mut Machine, server: usize| {
            let process = machine.servers[server].process;
            for pane in panes {
                let Some(server) = machine.servers.iter().position(|s| s.process == process) else { return };
                machine.close(server, pane);
            }
        };
        self.effect(|machine| machine.change(socket, act)).unwrap_or_else(|| Err(dead()))
    }

    fn capture(&self, socket: &Socket, pane: &PaneId, lines: u32) -> Result<String, TmuxError> {
        self.look(|machine| {
            let server = machine.reach(socket)?;
            match machine.servers[server].panes.get(&number(&pane.0)) {
                Some(_) if lines > 0 => Ok(format!("the last line of {pane}\n")),
                Some(_) => Ok(String::new()),
                None => Err(TmuxError::Failed(format!("can't find pane: {pane}"))),
            }
        })
    }

    fn rename(&self, socket: &Socket, session: &TmuxSession, name: &str) -> Result<(), TmuxError> {
        let act = |machine: &mut Machine, server| machine.rename(server, session, name);
        self.effect(|machine| machine.change(socket, act)).unwrap_or_else(|| Err(dead()))
    }
}
