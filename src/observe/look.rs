//! One look at a fleet: what to look at, and how often.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::agents::kind::Kind;
use crate::host::Host;
use crate::host::disk::{Disk, DiskFault};
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::Socket;
use crate::spec::name::Name;
use crate::state::record::{OwnerId, Record, SessionId};

use super::observed::{AgentSeen, DirSeen, Observed, Seen, ServerSeen};
use super::reading::Reading;
use super::session::Scene;
use super::sight::Sight;
use super::unmanaged;

/// What to look at.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// The socket new sessions go to.
    pub socket: &'a Socket,
    /// Who we are.
    pub owner: &'a OwnerId,
    /// The fleet.
    pub fleet: &'a Name,
    /// Its former name, whose sessions are looked at too.
    pub moved_from: Option<&'a Name>,
    /// What is recorded of its sessions.
    pub records: &'a BTreeMap<Name, Record>,
    /// tmux servers recorded in this boot, by any fleet (`Memory::servers`): one that lives without a socket is not
    /// absent, whoever recorded it.
    pub servers: &'a BTreeSet<(Socket, ProcessKey)>,
    /// Directories of the desired sessions.
    pub dirs: Vec<(Name, PathBuf)>,
    /// Where launch files are.
    pub launch_dir: &'a Path,
    /// The kinds: behind a wrapper, a process of the session's kind is the agent.
    pub kinds: &'a BTreeMap<Name, Kind>,
    /// Look for unmanaged agents too.
    pub unmanaged: bool,
}

impl Ask<'_> {
    /// Whether sessions of `fleet` are asked for.
    pub(super) fn is_of(&self, fleet: &Name) -> bool {
        fleet == self.fleet || Some(fleet) == self.moved_from
    }

    /// Every socket on which a session can be: the configured one and the recorded ones.
    pub(super) fn sockets(&self) -> BTreeSet<Socket> {
        let recorded = self.records.values().flat_map(|record| {
            let tabs = record.tabs.values().filter_map(|tab| tab.socket.clone());
            record.launch().map(|launch| launch.socket.clone()).into_iter().chain(tabs)
        });
        std::iter::once(self.socket.clone()).chain(recorded).collect()
    }
}

/// Looks at everything in `ask`. One listing of panes per server and one process table; a second of each where
/// something that was alive seems gone. `early` is a reading begun before it was known what to ask; it counts when it
/// is of the right servers.
#[must_use]
pub fn look(host: &dyn Host, ask: &Ask, early: Option<Reading>) -> Observed {
    let dirs = look_at_dirs(host, &ask.dirs);
    let early = early.filter(|reading| reading.is_of(&ask.sockets()));
    let sight = early.map_or_else(|| Sight::take(host, ask), |reading| Ok(Sight::of(host, ask, reading)));
    match sight {
        Ok(sight) => {
            let unmanaged = if ask.unmanaged { unmanaged::find(host, ask, &sight, &dirs) } else { BTreeMap::new() };
            Observed { dirs, unmanaged, ..twice(host, ask, &sight) }
        }
        Err(words) => Observed { dirs, ..nothing_seen(host, ask, &words) },
    }
}

fn twice(host: &dyn Host, ask: &Ask, sight: &Sight) -> Observed {
    let (mut first, doubted) = Scene::new(host, ask, sight).judge();
    if doubted.is_empty() {
        return first;
    }
    match Sight::take(host, ask) {
        Ok(sight) => {
            let (mut second, newly) = Scene::new(host, ask, &sight).judge();
            // Seen only once as gone: as it was, and the next look tells.
            for id in newly.difference(&doubted) {
                if let Some(seen) = first.sessions.get(id) {
                    second.sessions.insert(*id, seen.clone());
                }
            }
            second
        }
        Err(words) => {
            for id in &doubted {
                first.sessions.entry(*id).and_modify(|seen| seen.agent = AgentSeen::Unknown(words.clone()));
            }
            first
        }
    }
}

/// The process table could not be read: nothing is known of anything.
fn nothing_seen(host: &dyn Host, ask: &Ask, words: &str) -> Observed {
    let unknown = |record: &Record| (record.id, Seen::without_pane(AgentSeen::Unknown(words.to_owned())));
    Observed {
        at: host.now(),
        boot: host.boot().unwrap_or_else(|_| BootId(String::new())),
        socket: ask.socket.clone(),
        servers: ask.sockets().into_iter().map(|socket| (socket, ServerSeen::Unknown(words.to_owned()))).collect(),
        sessions: ask.records.values().map(unknown).collect::<BTreeMap<SessionId, Seen>>(),
        foreign: BTreeMap::new(),
        dirs: BTreeMap::new(),
        panes: Vec::new(),
        contents: BTreeMap::new(),
        unmanaged: BTreeMap::new(),
    }
}

/// Many sessions share a directory, and it is looked at once.
fn look_at_dirs(host: &dyn Host, dirs: &[(Name, PathBuf)]) -> BTreeMap<Name, DirSeen> {
    let mut seen = BTreeMap::<&Path, DirSeen>::new();
    let mut look = |dir| seen.entry(dir).or_insert_with(|| look_at_dir(host, dir)).clone();
    dirs.iter().map(|(name, dir)| (name.clone(), look(dir.as_path()))).collect()
}

fn look_at_dir(disk: &(impl Disk + ?Sized), dir: &Path) -> DirSeen {
    match disk.resolve_dir(dir) {
        Ok(canonical) => DirSeen::Present(canonical),
        Err(error) => match error.fault {
            DiskFault::Missing => DirSeen::Missing(format!("{} does not exist", dir.display())),
            DiskFault::WrongType => DirSeen::Missing(format!("{} is not a directory", dir.display())),
            _ => DirSeen::Unknown(error.to_string()),
        },
    }
}
