//! A scripted machine, and every row of the three-valued logic on it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agents::catalogue::builtin;
use crate::host::clock::{Clock, Interrupt, Moment};
use crate::host::disk::{Disk, DiskError, DiskFault, Locked};
use crate::host::process::{
    BootId, Markers, MarkersRead, Pid, Process, ProcessError, ProcessKey, ProcessTable, Processes, Signal, Signalled,
};
use crate::host::scope::{ScopeError, ScopeSupport, Scopes};
use crate::host::tmux::{
    OpenPane, Opened, Pane, PaneEnd, PaneId, Panes, Socket, StampText, Tmux, TmuxError, TmuxSession,
};
use crate::spec::name::Name;
use crate::state::record::{Launch, OwnerId, Phase, Record, SessionId, TabRecord};
use crate::state::stamp::Stamp;
use crate::state::tests::{id, launch, name, record};

use super::look::{Ask, look};
use super::observed::{AgentSeen, Observed, Seen};

mod absence;
mod presence;
mod strays;
mod unconfirmed;

/// What one look at the machine finds; `table()` ends the look and moves on to the next.
#[derive(Clone, Default)]
pub struct World {
    pub processes: Vec<Process>,
    pub table_fails: bool,
    pub servers: BTreeMap<Socket, Result<Panes, TmuxError>>,
}

pub struct Machine {
    worlds: RefCell<Vec<World>>,
    pub markers: BTreeMap<Pid, MarkersRead>,
    /// Arguments; `None` where they cannot be read.
    pub argv: BTreeMap<Pid, Option<Vec<String>>>,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub dirs: BTreeMap<Pid, PathBuf>,
    pub boot: String,
    pub now: Moment,
    pub own: Pid,
    pub tables: Cell<usize>,
    pub environments: Cell<usize>,
    pub listings: Cell<usize>,
    pub resolved: Cell<usize>,
}

pub const SERVER: Pid = 100;
pub const AGENT: Pid = 200;

pub fn key(pid: Pid) -> ProcessKey {
    ProcessKey { pid, start: u64::try_from(pid).unwrap() * 10 }
}

pub fn process(pid: Pid, parent: Pid) -> Process {
    Process { key: key(pid), parent, dead: false, comm: format!("p{pid}"), memory: 1000 }
}

pub fn socket() -> Socket {
    Socket("/tmp/tmux/farhelm".into())
}

pub fn owner() -> OwnerId {
    OwnerId("0a".into())
}

pub fn pane(number: u32, pid: Pid, stamp: StampText) -> Pane {
    Pane {
        id: PaneId(format!("%{number}")),
        session: TmuxSession("$1".into()),
        session_name: "web_api".into(),
        pid,
        end: None,
        clients: 0,
        stamp,
    }
}

pub fn dead(number: u32, pid: Pid, stamp: StampText, status: Option<i32>, signal: Option<i32>) -> Pane {
    Pane { end: Some(PaneEnd { status, signal, at: Some(7) }), ..pane(number, pid, stamp) }
}

/// A running session's record: pane %1 of server 100 with process 200.
pub fn running() -> Record {
    let launch = Launch { server: Some(key(SERVER)), process: Some(key(AGENT)), ..launch(1) };
    Record { launches: vec![launch], ..record(1, "web", "api") }
}

pub fn at_phase(phase: Phase) -> Record {
    let mut record = running();
    record.launches[0].phase = phase;
    record
}

pub fn stamp_of(record: &Record) -> StampText {
    Stamp::of(record, &owner()).write()
}

pub fn marks(id: SessionId) -> MarkersRead {
    let id = Some(id.to_string());
    MarkersRead::Read(Markers { session: id.clone(), agent: id, ..Markers::default() })
}

impl World {
    /// A server on the usual socket with these panes, whose processes and some others run.
    pub fn with(panes: Vec<Pane>, others: &[Process]) -> Self {
        let living = panes.iter().filter(|pane| pane.end.is_none()).map(|pane| process(pane.pid, SERVER));
        let processes = living.chain([process(SERVER, 1)]).chain(others.iter().cloned()).collect();
        let servers = [(socket(), Ok(Panes { server: SERVER, panes }))].into();
        Self { processes, table_fails: false, servers }
    }

    /// Nobody listens on any socket; these processes run.
    pub fn without_server(processes: &[Process]) -> Self {
        Self { processes: processes.to_vec(), ..Self::default() }
    }

    pub fn failing(error: TmuxError, processes: &[Process]) -> Self {
        Self { servers: [(socket(), Err(error))].into(), ..Self::without_server(processes) }
    }

    pub fn without(mut self, pid: Pid) -> Self {
        self.processes.retain(|process| process.key.pid != pid);
        self
    }
}

impl Machine {
    /// A machine that looks like each of `worlds` in turn, and then like the last.
    pub fn new(worlds: &[World]) -> Self {
        let mut worlds = worlds.to_vec();
        worlds.reverse();
        Self {
            worlds: RefCell::new(worlds),
            markers: BTreeMap::new(),
            argv: BTreeMap::new(),
            files: BTreeMap::new(),
            dirs: BTreeMap::new(),
            boot: "boot-1".into(),
            now: Moment { boot_ms: 500_000, wall_ms: 1_000_000_000 },
            own: 1,
            tables: Cell::new(0),
            environments: Cell::new(0),
            listings: Cell::new(0),
            resolved: Cell::new(0),
        }
    }

    pub fn look(&self, records: &[&Record]) -> Observed {
        let records: BTreeMap<Name, Record> =
            records.iter().map(|record| (record.name.clone(), (*record).clone())).collect();
        self.look_for(&records, &BTreeSet::new(), Vec::new())
    }

    pub fn look_for(
        &self,
        records: &BTreeMap<Name, Record>,
        servers: &BTreeSet<(Socket, ProcessKey)>,
        dirs: Vec<(Name, PathBuf)>,
    ) -> Observed {
        let ask = Ask {
            socket: &socket(),
            owner: &owner(),
            fleet: &name("web"),
            moved_from: Some(&name("former")),
            records,
            servers,
            dirs,
            launch_dir: Path::new("/s/launch"),
            kinds: &["claude", "gemini"].map(|of| (name(of), builtin()[of].clone())).into(),
            unmanaged: true,
        };
        look(self, &ask, None)
    }

    /// What is seen of session 1.
    pub fn seen(&self, record: &Record) -> Seen {
        self.look(&[record]).sessions[&id(1)].clone()
    }
}

impl crate::host::ids::Ids for Machine {}

impl Clock for Machine {
    fn now(&self) -> Moment {
        self.now
    }
    fn sleep(&self, _: Duration) {}
    fn interrupt(&self) -> Interrupt {
        Interrupt::None
    }
}

impl Processes for Machine {
    fn boot(&self) -> Result<BootId, ProcessError> {
        Ok(BootId(self.boot.clone()))
    }
    fn table(&self) -> Result<ProcessTable, ProcessError> {
        self.tables.set(self.tables.get() + 1);
        let mut worlds = self.worlds.borrow_mut();
        let world = if worlds.len() > 1 { worlds.pop().unwrap() } else { worlds[0].clone() };
        if world.table_fails {
            return Err(ProcessError("too many open files".into()));
        }
        Ok(world.processes.into_iter().map(|process| (process.key.pid, process)).collect::<BTreeMap<_, _>>().into())
    }
    fn markers(&self, key: ProcessKey) -> MarkersRead {
        self.environments.set(self.environments.get() + 1);
        self.markers.get(&key.pid).cloned().unwrap_or(MarkersRead::Read(Markers::default()))
    }
    fn argv(&self, key: ProcessKey) -> Option<Vec<String>> {
        let usual = || vec!["sleep".into(), format!("{}\u{1b}[2J", key.pid)];
        self.argv.get(&key.pid).cloned().unwrap_or_else(|| Some(usual()))
    }
    fn dir(&self, key: ProcessKey) -> Option<PathBuf> {
        self.dirs.get(&key.pid).cloned()
    }
    fn signal(&self, _: ProcessKey, _: Signal) -> Signalled {
        unreachable!("observing signals nothing")
    }
    fn wait_gone(&self, keys: &BTreeSet<ProcessKey>, _: Duration) -> BTreeSet<ProcessKey> {
        // Nothing of this machine ends while one waits.
        keys.clone()
    }
    fn own(&self) -> Pid {
        self.own
    }
    fn started(&self, start: u64) -> Moment {
        Moment { boot_ms: start, wall_ms: 0 }
    }
}

impl Tmux for Machine {
    fn panes(&self, socket: &Socket) -> Result<Panes, TmuxError> {
        self.listings.set(self.listings.get() + 1);
        let worlds = self.worlds.borrow();
        let server = worlds.last().unwrap().servers.get(socket).cloned();
        server.unwrap_or_else(|| Err(TmuxError::NoServer(socket.clone())))
    }
    fn open(&self, _: &Socket, _: &[OpenPane]) -> Result<Vec<Result<Opened, TmuxError>>, TmuxError> {
        unreachable!("observing opens nothing")
    }
    fn stamp(&self, _: &Socket, _: &[(PaneId, StampText)]) -> Result<(), TmuxError> {
        unreachable!("observing stamps nothing")
    }
    fn close(&self, _: &Socket, _: &[PaneId]) -> Result<(), TmuxError> {
        unreachable!("observing closes nothing")
    }
    fn capture(&self, _: &Socket, _: &PaneId, _: u32) -> Result<String, TmuxError> {
        unreachable!("observing captures nothing")
    }
    fn rename(&self, _: &Socket, _: &TmuxSession, _: &str) -> Result<(), TmuxError> {
        unreachable!("observing renames nothing")
    }
}

impl Scopes for Machine {
    fn support(&self) -> ScopeSupport {
        ScopeSupport::Unusable("none here".into())
    }
    fn exists(&self, _: &str) -> Result<bool, ScopeError> {
        unreachable!("observing asks for no unit")
    }
    fn kill(&self, _: &str, _: Signal) -> Result<(), ScopeError> {
        unreachable!("observing kills nothing")
    }
    fn wait_collected(&self, _: &[String], _: Duration) -> Vec<String> {
        unreachable!("observing waits for nothing")
    }
}

fn refused<T>(path: &Path, fault: DiskFault) -> Result<T, DiskError> {
    Err(DiskError { doing: "read", path: path.to_owned(), fault, words: format!("{fault:?}") })
}

impl Disk for Machine {
    fn read(&self, path: &Path, _: u64) -> Result<Vec<u8>, DiskError> {
        self.files.get(path).cloned().map_or_else(|| refused(path, DiskFault::Missing), Ok)
    }
    fn head(&self, _: &Path, _: u64) -> Result<Vec<u8>, DiskError> {
        unreachable!("observing reads no heads")
    }
    fn list(&self, _: &Path) -> Result<Vec<String>, DiskError> {
        unreachable!("observing lists nothing")
    }
    fn make_dir(&self, _: &Path) -> Result<(), DiskError> {
        unreachable!("observing makes nothing")
    }
    fn replace(&self, _: &[(PathBuf, Vec<u8>)]) -> Result<(), DiskError> {
        unreachable!("observing writes nothing")
    }
    fn create(&self, _: &Path, _: &[u8]) -> Result<(), DiskError> {
        unreachable!("observing writes nothing")
    }
    fn append(&self, _: &Path, _: &[u8]) -> Result<(), DiskError> {
        unreachable!("observing writes nothing")
    }
    fn remove(&self, _: &Path) -> Result<(), DiskError> {
        unreachable!("observing removes nothing")
    }
    fn move_file(&self, _: &Path, _: &Path, _: bool) -> Result<(), DiskError> {
        unreachable!("observing renames nothing")
    }
    fn remove_dir(&self, _: &Path) -> Result<(), DiskError> {
        unreachable!("observing removes nothing")
    }
    fn resolve_dir(&self, dir: &Path) -> Result<PathBuf, DiskError> {
        self.resolved.set(self.resolved.get() + 1);
        match dir.to_str().unwrap() {
            "/link" => Ok("/real".into()),
            "/file" => refused(dir, DiskFault::WrongType),
            "/locked" => refused(dir, DiskFault::Denied),
            _ => refused(dir, DiskFault::Missing),
        }
    }
    fn only_root_writes(&self, _: &Path) -> Result<bool, DiskError> {
        unreachable!("observing asks nobody's rights")
    }
    fn lock(&self, _: &Path, _: &str) -> Result<Locked, DiskError> {
        unreachable!("observing needs no lock")
    }
}

/// A tab of the running session: pane %5 with process 500.
pub fn tab() -> TabRecord {
    TabRecord {
        id: id(51),
        definition: "d".into(),
        pane: Some(PaneId("%5".into())),
        process: Some(key(500)),
        boot: Some(BootId("boot-1".into())),
        socket: Some(socket()),
        scoped: false,
    }
}

pub fn tab_stamp(record: &Record) -> StampText {
    Stamp { tab: Some((name("logs"), id(51))), ..Stamp::of(record, &owner()) }.write()
}

pub fn is_unknown(seen: &Seen) -> bool {
    matches!(&seen.agent, AgentSeen::Unknown(words) if !words.is_empty())
}
