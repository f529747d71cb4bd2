//! Our panes as they are now: what endings close, and where launches go.

use std::collections::BTreeSet;

use crate::host::Host;
use crate::host::tmux::{Pane, Place, Socket, TmuxError};
use crate::observe::observed::{Observed, PaneRead, ServerSeen};
use crate::spec::name::Name;
use crate::state::record::{OwnerId, Record, SessionId};
use crate::state::stamp::Stamp;

use super::opening::Site;

/// One pane of ours.
#[derive(Debug, Clone)]
pub struct Terminal {
    /// The server.
    pub socket: Socket,
    /// The pane.
    pub pane: Pane,
    /// Its stamp.
    pub stamp: Stamp,
}

/// Our panes on some servers.
#[derive(Debug, Clone, Default)]
pub struct Terminals {
    ours: Vec<Terminal>,
    /// Names of all tmux sessions there, ours or not.
    names: BTreeSet<(Socket, String)>,
}

impl Terminals {
    /// Lists them.
    ///
    /// # Errors
    /// When a server does not answer: nothing is known then. A server that is not there has no panes.
    pub fn list(host: &dyn Host, sockets: &BTreeSet<Socket>, owner: &OwnerId) -> Result<Self, TmuxError> {
        let mut all = Self::default();
        for socket in sockets {
            let panes = match host.panes(socket) {
                Ok(panes) => panes.panes,
                Err(TmuxError::NoServer(_)) => continue,
                Err(error) => return Err(error),
            };
            for pane in panes {
                let stamp = Stamp::read(&pane.stamp).filter(|stamp| stamp.owner == *owner);
                all.add(socket, pane, stamp);
            }
        }
        Ok(all)
    }

    /// Those that a look found on `sockets`; `None` where some may be missing from it, or changed while it was taken.
    #[must_use]
    pub fn seen(observed: &Observed, sockets: &BTreeSet<Socket>, owner: &OwnerId) -> Option<Self> {
        let mut servers = BTreeSet::new();
        let known = |seen: &ServerSeen| match seen {
            // By another spelling of its socket its panes would be new.
            ServerSeen::Up { process } => servers.insert(*process),
            ServerSeen::Absent => true,
            ServerSeen::Unknown(_) => false,
        };
        let asked = sockets.iter().all(|socket| observed.servers.contains_key(socket));
        if !asked || !observed.servers.values().all(known) || observed.panes.iter().any(PaneRead::vanishing) {
            return None;
        }
        let mut all = Self::default();
        for PaneRead { socket, pane, stamp, .. } in &observed.panes {
            all.add(socket, pane.clone(), stamp.clone().filter(|stamp| stamp.owner == *owner));
        }
        Some(all)
    }

    /// `stamp` is the pane's, where it is ours.
    fn add(&mut self, socket: &Socket, pane: Pane, stamp: Option<Stamp>) {
        self.names.insert((socket.clone(), pane.session_name.clone()));
        if let Some(stamp) = stamp {
            self.ours.push(Terminal { socket: socket.clone(), pane, stamp });
        }
    }

    /// Those of one session.
    pub fn of(&self, id: SessionId) -> impl Iterator<Item = &Terminal> {
        self.ours.iter().filter(move |terminal| terminal.stamp.id == id)
    }

    /// Where the session's agent goes: its dead pane again, a window beside its tabs, or a new tmux session.
    ///
    /// # Errors
    /// When a live agent pane of it is there: a second one is never opened.
    pub fn site(&self, record: &Record, default: &Socket) -> Result<Site, String> {
        let agents: Vec<&Terminal> = self.of(record.id).filter(|t| t.stamp.tab.is_none()).collect();
        if let Some(live) = agents.iter().find(|terminal| terminal.pane.end.is_none()) {
            return Err(format!("pane {} of it is alive; nothing was started beside it", live.pane.id));
        }
        if let Some(dead) = agents.first() {
            return Ok(Site { socket: dead.socket.clone(), place: Place::Respawn(dead.pane.id.clone()) });
        }
        Ok(self.window(record).unwrap_or_else(|| self.new_session(&record.fleet, &record.name, default)))
    }

    /// A new tmux session. Its name may be taken: by a window that a user opened beside a session that was reaped, say.
    #[must_use]
    pub fn new_session(&self, fleet: &Name, session: &Name, socket: &Socket) -> Site {
        let wanted = session_name(fleet, session);
        let others = (2..).map(|number| format!("{wanted}-{number}"));
        let free = std::iter::once(wanted.clone()).chain(others).find(|name| !self.taken(socket, name));
        Site { socket: socket.clone(), place: Place::NewSession(free.unwrap_or(wanted)) }
    }

    /// Whether a tmux session of this name is there.
    #[must_use]
    pub fn taken(&self, socket: &Socket, name: &str) -> bool {
        self.names.contains(&(socket.clone(), name.to_owned()))
    }

    /// Whether a tab is open: its own pane, dead or alive, or a living one of its name. A dead pane of its name that is
    /// another's was left by an earlier one, on a server that was out of reach meanwhile.
    #[must_use]
    pub fn has_tab(&self, record: &Record, tab: &Name) -> bool {
        let own = record.tabs.get(tab).map(|tab| tab.id);
        self.of(record.id).any(|terminal| {
            let stamp = terminal.stamp.tab.as_ref().filter(|(name, _)| name == tab);
            stamp.is_some_and(|(_, id)| Some(*id) == own || terminal.pane.end.is_none())
        })
    }

    /// A new window in the session's tmux session, while that exists.
    #[must_use]
    pub fn window(&self, record: &Record) -> Option<Site> {
        let any = self.of(record.id).next()?;
        Some(Site { socket: any.socket.clone(), place: Place::NewWindow(any.pane.session.clone()) })
    }
}

/// The tmux session's name of a session.
#[must_use]
pub fn session_name(fleet: &Name, session: &Name) -> String {
    format!("{fleet}_{session}")
}

/// The servers a session's panes can be on.
#[must_use]
pub fn sockets<'a>(records: impl Iterator<Item = &'a Record>, default: &Socket) -> BTreeSet<Socket> {
    let recorded = records.flat_map(|record| {
        let tabs = record.tabs.values().filter_map(|tab| tab.socket.clone());
        record.launches.iter().map(|launch| launch.socket.clone()).chain(tabs).collect::<Vec<_>>()
    });
    recorded.chain([default.clone()]).collect()
}
