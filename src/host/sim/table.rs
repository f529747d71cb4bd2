//! The simulated process table: births, ends, signals.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::process::{Markers, Pid, Process, ProcessKey, ProcessTable, Signal};
use super::ledger::{Origin, What};
use super::machine::{Event, Machine};
use super::program::{Habits, OnTerm};

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Exited(i32),
    Killed(i32),
}

/// A process to be made.
#[derive(Debug, Clone, Default)]
pub(super) struct Spawn {
    pub(super) comm: &'static str,
    pub(super) argv: Vec<String>,
    pub(super) markers: Markers,
    pub(super) foreign: bool,
    pub(super) origin: Option<Origin>,
    pub(super) habits: Option<Habits>,
}

/// One process.
#[derive(Debug)]
pub(super) struct Proc {
    pub(super) key: ProcessKey,
    pub(super) parent: Pid,
    pub(super) comm: String,
    pub(super) argv: Vec<String>,
    pub(super) markers: Markers,
    pub(super) foreign: bool,
    pub(super) origin: Option<Origin>,
    /// It is an agent, exec'd by the shim: not a child of one.
    pub(super) agent: bool,
    /// It gave up the environment it had; only a cgroup could tell that it is ours.
    pub(super) scrubbed: bool,
    pub(super) habits: Rc<Habits>,
    pub(super) zombie: bool,
    pub(super) stopped: bool,
    pub(super) term_pending: bool,
    pub(super) kill_pending: bool,
    pub(super) deferred: Vec<Event>,
    pub(super) unit: Option<String>,
    pub(super) memory: u64,
}

/// All processes.
#[derive(Debug)]
pub(super) struct Table {
    rows: BTreeMap<Pid, Proc>,
    last: Pid,
    pid_max: Pid,
    freed: Vec<ProcessKey>,
}

impl Table {
    pub(super) fn new(pid_max: Pid) -> Self {
        Self { rows: BTreeMap::new(), last: 0, pid_max, freed: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.freed.clear();
        self.last = 0;
    }

    /// The process, while it runs.
    pub(super) fn live(&self, key: ProcessKey) -> Option<&Proc> {
        self.rows.get(&key.pid).filter(|p| p.key == key && !p.zombie)
    }

    pub(super) fn live_mut(&mut self, key: ProcessKey) -> Option<&mut Proc> {
        self.rows.get_mut(&key.pid).filter(|p| p.key == key && !p.zombie)
    }

    /// The process, or what is left of it.
    pub(super) fn row(&self, key: ProcessKey) -> Option<&Proc> {
        self.rows.get(&key.pid).filter(|p| p.key == key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Proc> {
        self.rows.values()
    }

    pub(super) fn parent(&self, key: ProcessKey) -> Option<ProcessKey> {
        self.row(key).and_then(|p| self.rows.get(&p.parent)).map(|p| p.key)
    }

    pub(super) fn origin(&self, key: ProcessKey) -> Option<&Origin> {
        self.row(key).and_then(|p| p.origin.as_ref())
    }

    pub(super) fn is_ancestor(&self, ancestor: ProcessKey, of: ProcessKey) -> bool {
        let mut next = self.parent(of);
        while let Some(key) = next {
            if key == ancestor {
                return true;
            }
            next = self.parent(key);
        }
        false
    }

    /// Its parent has read its status: the number is free again.
    pub(super) fn collect(&mut self, key: ProcessKey) {
        if self.rows.get(&key.pid).is_some_and(|p| p.key == key && p.zombie) {
            self.rows.remove(&key.pid);
            self.freed.push(key);
        }
    }

    /// The next number: sometimes one that was freed a moment ago.
    fn number(&mut self, ticks: u64, reuse: bool) -> Pid {
        if reuse {
            let rows = &self.rows;
            let usable = |k: &ProcessKey| k.start < ticks && !rows.contains_key(&k.pid);
            if let Some(at) = self.freed.iter().rposition(usable) {
                return self.freed.swap_remove(at).pid;
            }
        }
        for _ in 0..self.pid_max {
            self.last = if self.last >= self.pid_max { 2 } else { self.last + 1 };
            let same_tick = self.freed.iter().any(|k| k.pid == self.last && k.start >= ticks);
            if !self.rows.contains_key(&self.last) && !same_tick {
                return self.last;
            }
        }
        self.pid_max += 64;
        self.number(ticks, false)
    }

    pub(super) fn snapshot(&self) -> ProcessTable {
        let row = |p: &Proc| Process {
            key: p.key,
            parent: p.parent,
            dead: p.zombie,
            comm: p.comm.clone(),
            memory: if p.zombie { 0 } else { p.memory },
        };
        self.rows.iter().map(|(pid, p)| (*pid, row(p))).collect::<BTreeMap<_, _>>().into()
    }
}

impl Machine {
    pub(super) fn spawn(&mut self, parent: Pid, new: Spawn) -> ProcessKey {
        let (ticks, reuse) = (self.ticks(), self.random.chance(300));
        if self.table.freed.len() > 64 {
            self.table.freed.drain(..32);
        }
        let key = ProcessKey { pid: self.table.number(ticks, reuse), start: ticks };
        let process = Proc {
            key,
            parent,
            comm: new.comm.to_owned(),
            argv: if new.argv.is_empty() { vec![new.comm.to_owned()] } else { new.argv },
            markers: new.markers,
            foreign: new.foreign,
            origin: new.origin,
            agent: false,
            scrubbed: false,
            habits: Rc::new(Habits::default()),
            zombie: false,
            stopped: false,
            term_pending: false,
            kill_pending: false,
            deferred: Vec::new(),
            unit: None,
            memory: self.random.range(1, 300) << 20,
        };
        self.table.rows.insert(key.pid, process);
        if let Some(habits) = new.habits {
            self.take_up(key, habits);
        }
        key
    }

    /// A process begins to do what its program does.
    pub(super) fn take_up(&mut self, key: ProcessKey, habits: Habits) {
        if let Some((after, status)) = habits.exits.filter(|_| !self.faults.programs_last) {
            self.schedule(after, Event::Exit(key, status));
        }
        for (brood, what) in habits.broods.iter().enumerate() {
            self.schedule(what.after, Event::Born { parent: key, term: false, brood, made: 0 });
        }
        if let Some(process) = self.table.live_mut(key) {
            process.habits = Rc::new(habits);
        }
    }

    /// A process has a child.
    pub(super) fn bear(&mut self, parent: ProcessKey, term: bool, brood: usize, made: u32) {
        let Some(process) = self.table.live(parent) else { return };
        let broods = if term { &process.habits.term_broods } else { &process.habits.broods };
        let Some(what) = broods.get(brood).cloned() else { return };
        if made >= what.count {
            return;
        }
        let (markers, origin, unit) = (process.markers.clone(), process.origin.clone(), process.unit.clone());
        let scrubbed = what.scrubbed || process.scrubbed;
        let markers = if scrubbed { Markers::default() } else { markers };
        let new = Spawn { comm: "worker", markers, origin, ..Spawn::default() };
        let child = self.spawn(if what.detached { 1 } else { parent.pid }, new);
        if let Some(row) = self.table.live_mut(child) {
            row.scrubbed = scrubbed;
            row.unit = unit;
        }
        self.take_up(child, (*what.habits).clone());
        self.schedule(what.every, Event::Born { parent, term, brood, made: made + 1 });
    }

    /// A process ends: its children go to pid 1, its terminal notices, its parent collects it in its own time.
    pub(super) fn die(&mut self, key: ProcessKey, end: End) {
        let Some(process) = self.table.live_mut(key) else { return };
        process.zombie = true;
        process.stopped = false;
        process.deferred.clear();
        let (origin, parent, foreign) = (process.origin.clone(), process.parent, process.foreign);
        if origin.is_some() || process.comm.starts_with("tmux") {
            self.happened(origin, What::Ended { key, how: format!("{end:?}") });
        }
        self.speaker_ends(key, end);
        let children: Vec<(ProcessKey, bool)> =
            self.table.rows.values().filter(|p| p.parent == key.pid).map(|p| (p.key, p.zombie)).collect();
        for (child, zombie) in children {
            if let Some(row) = self.table.rows.get_mut(&child.pid) {
                row.parent = 1;
            }
            if zombie {
                let late = self.random.below(2_000);
                self.schedule(late, Event::Collect(child));
            }
        }
        let in_pane = self.pane_ended(key, end);
        self.server_ended(key);
        match () {
            () if in_pane == Some(true) => self.table.collect(key),
            () if in_pane == Some(false) => {}
            () if parent == 1 || foreign => {
                let late = self.random.below(2_000);
                self.schedule(late, Event::Collect(key));
            }
            () if self.random.chance(600) => self.table.collect(key),
            () => {}
        }
    }

    /// What a signal does, once the kernel has accepted it.
    pub(super) fn deliver(&mut self, key: ProcessKey, signal: Signal) {
        let Some(process) = self.table.live_mut(key) else { return };
        match signal {
            Signal::Kill => self.kill(key),
            Signal::Stop => process.stopped = true,
            Signal::Cont => self.cont(key),
            Signal::Term if process.stopped => process.term_pending = true,
            Signal::Term => self.term(key),
            Signal::Hup if process.habits.hup_proof => {}
            Signal::Hup => self.die(key, End::Killed(1)),
            Signal::Usr1 if self.servers.iter().any(|server| server.process == key) => self.recreate_socket(key),
            Signal::Usr1 => self.die(key, End::Killed(10)),
        }
    }

    fn kill(&mut self, key: ProcessKey) {
        let Some(process) = self.table.live_mut(key) else { return };
        let late = process.habits.uninterruptible_ms;
        if late == 0 {
            self.die(key, End::Killed(9));
        } else if !std::mem::replace(&mut process.kill_pending, true) {
            self.schedule(late, Event::KillLands(key));
        }
    }

    fn cont(&mut self, key: ProcessKey) {
        let Some(process) = self.table.live_mut(key) else { return };
        process.stopped = false;
        let deferred = std::mem::take(&mut process.deferred);
        let term = std::mem::take(&mut process.term_pending);
        for event in deferred {
            self.schedule(0, event);
        }
        if term {
            self.term(key);
        }
    }

    fn term(&mut self, key: ProcessKey) {
        let Some(process) = self.table.live(key) else { return };
        let habits = Rc::clone(&process.habits);
        for (brood, what) in habits.term_broods.iter().enumerate() {
            self.schedule(what.after, Event::Born { parent: key, term: true, brood, made: 0 });
        }
        match habits.term {
            OnTerm::Dies => self.die(key, End::Killed(15)),
            OnTerm::Exits(after, status) => self.schedule(after, Event::Exit(key, status)),
            OnTerm::Ignores => {}
        }
    }
}
