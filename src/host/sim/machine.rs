//! The simulated machine: its clock, its queue of things about to happen, and all of its state.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::super::clock::{Interrupt, Moment};
use super::super::process::{BootId, Pid, ProcessKey};
use super::agents::Act;
use super::faults::Faults;
use super::files::Files;
use super::ledger::{Happened, Ledger, Origin, What};
use super::random::Random;
use super::servers::Server;
use super::shim::Spec;
use super::table::{Spawn, Table};
use super::talks::Talks;

/// Milliseconds of a clock tick in `/proc` (100 Hz).
pub(super) const TICK_MS: u64 = 10;

/// What is going to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// It ends by itself.
    Exit(ProcessKey, i32),
    /// A pending SIGKILL takes effect.
    KillLands(ProcessKey),
    /// The child number `made` of a brood (of those of SIGTERM when `term`) is made.
    Born { parent: ProcessKey, term: bool, brood: usize, made: u32 },
    /// Its parent collects it.
    Collect(ProcessKey),
    /// The login shell in a pane has read its rc files.
    Shim(ProcessKey),
    /// The shim's `before_launch` has ended.
    Prepared(ProcessKey),
    /// An agent that says which conversation it has does something.
    Speak(ProcessKey, Act),
    /// A hook that was slow leaves its report, by its number.
    Hook(usize),
    /// The supervisor of a tmux server's end: the process is really gone.
    ServerGone(ProcessKey),
}

impl Event {
    /// The process that has to run for it, when it has to.
    fn actor(&self) -> Option<ProcessKey> {
        match self {
            Self::Exit(key, _) | Self::Shim(key) | Self::Prepared(key) | Self::Speak(key, _) => Some(*key),
            Self::Born { parent, .. } => Some(*parent),
            Self::KillLands(_) | Self::Collect(_) | Self::Hook(_) | Self::ServerGone(_) => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Scheduled {
    at: u64,
    order: u64,
    event: Event,
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The run of farhelm that uses the ports at present.
#[derive(Debug)]
pub(super) struct Farhelm {
    pub(super) key: ProcessKey,
    pub(super) alive: bool,
    /// Effects this run has had.
    pub(super) effects: u64,
    /// It is killed at this effect; `true` before the effect takes place, `false` after.
    pub(super) killed_at: Option<(u64, bool)>,
    /// When the operator presses Ctrl-C, and presses it again.
    pub(super) interrupts: [Option<u64>; 2],
}

/// The machine.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) random: Random,
    /// Milliseconds since the world began.
    pub(super) time: u64,
    /// When this boot was.
    pub(super) booted_at: u64,
    pub(super) boots: u32,
    /// The wall clock at the beginning, steps included.
    pub(super) wall_at_zero: i64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    order: u64,
    pub(super) table: Table,
    pub(super) servers: Vec<Server>,
    pub(super) files: Files,
    pub(super) faults: Faults,
    pub(super) farhelm: Farhelm,
    /// Shims that have read their spec and not yet become the program.
    pub(super) launching: BTreeMap<ProcessKey, Spec>,
    /// A systemd user manager runs.
    pub(super) scopes: bool,
    /// farhelm's memory was lost once: what it cannot know any more is no violation.
    pub(super) forgetful: bool,
    /// A stranger's server took the place of one that had lost its socket.
    pub(super) usurped: bool,
    /// The conversations of agents that say which they have.
    pub(super) talks: Talks,
    /// By session, the token that its latest agent was given.
    pub(super) tokens: BTreeMap<String, String>,
    pub(super) ledger: Ledger,
}

impl Machine {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let pid_max = i32::try_from(random.range(150, 400)).unwrap_or(300);
        let nobody = ProcessKey { pid: 0, start: 0 };
        let mut machine = Self {
            time: 0,
            booted_at: 0,
            boots: 1,
            wall_at_zero: 1_764_500_000_000,
            queue: BinaryHeap::new(),
            order: 0,
            table: Table::new(pid_max),
            servers: Vec::new(),
            files: Files::new(),
            faults: Faults::default(),
            farhelm: Farhelm { key: nobody, alive: false, effects: 0, killed_at: None, interrupts: [None, None] },
            launching: BTreeMap::new(),
            scopes: false,
            forgetful: false,
            usurped: false,
            talks: Talks::default(),
            tokens: BTreeMap::new(),
            ledger: Ledger::default(),
            random,
        };
        machine.boot_up();
        machine
    }

    /// What is there after a boot: pid 1, another account's daemon, and our login shell.
    pub(super) fn boot_up(&mut self) {
        self.time += 10;
        let init = Spawn { comm: "init", foreign: true, ..Spawn::default() };
        self.spawn(0, init);
        self.spawn(1, Spawn { comm: "sshd", foreign: true, ..Spawn::default() });
        self.spawn(
            1,
            Spawn {
                comm: "gpg-agent",
                habits: super::program::habits("hidden", &mut Random::new(0)),
                ..Spawn::default()
            },
        );
    }

    /// A new run of farhelm, below a shell of its own or below `parent`.
    pub(super) fn start_farhelm(&mut self, parent: Option<Pid>) {
        let parent = parent.unwrap_or_else(|| self.spawn(1, Spawn { comm: "bash", ..Spawn::default() }).pid);
        let inherited = self.table.all().find(|p| p.key.pid == parent).map(|p| p.markers.clone()).unwrap_or_default();
        let key = self.spawn(parent, Spawn { comm: "farhelm", markers: inherited, ..Spawn::default() });
        self.files.locks.borrow_mut().clear();
        self.farhelm = Farhelm { key, alive: true, effects: 0, killed_at: None, interrupts: [None, None] };
        self.note(format!("farhelm starts as {key}"));
    }

    /// The run of farhelm is over.
    pub(super) fn end_farhelm(&mut self) {
        if std::mem::replace(&mut self.farhelm.alive, false) {
            let (key, shell) = (self.farhelm.key, self.table.parent(self.farhelm.key));
            self.die(key, super::table::End::Exited(0));
            if let Some(shell) = shell.filter(|shell| shell.pid != 1 && self.table.origin(*shell).is_none()) {
                self.die(shell, super::table::End::Exited(0));
            }
        }
    }

    pub(super) fn now(&self) -> Moment {
        Moment {
            boot_ms: self.time - self.booted_at,
            wall_ms: self.wall_at_zero + i64::try_from(self.time).unwrap_or(0),
        }
    }

    pub(super) fn boot_id(&self) -> BootId {
        BootId(format!("00000000-0000-4000-8000-{:012}", self.boots))
    }

    /// The present in clock ticks of this boot.
    pub(super) fn ticks(&self) -> u64 {
        (self.time - self.booted_at) / TICK_MS
    }

    pub(super) fn interrupt(&self) -> Interrupt {
        let due = |at: Option<u64>| at.is_some_and(|at| at <= self.time);
        match self.farhelm.interrupts {
            [_, second] if due(second) => Interrupt::Abandon,
            [first, _] if due(first) => Interrupt::Finish,
            _ => Interrupt::None,
        }
    }

    pub(super) fn schedule(&mut self, after: u64, event: Event) {
        self.order += 1;
        self.queue.push(Reverse(Scheduled { at: self.time + after, order: self.order, event }));
    }

    /// When the next thing happens.
    pub(super) fn next_event(&self) -> Option<u64> {
        self.queue.peek().map(|next| next.0.at)
    }

    /// Forgets all that was going to happen: the machine is switched off.
    pub(super) fn clear_events(&mut self) {
        self.queue.clear();
    }

    /// Lets `ms` milliseconds go by, and happen what happens in them.
    pub(super) fn pass_time(&mut self, ms: u64) {
        let until = self.time + ms;
        while self.next_event().is_some_and(|at| at <= until) {
            let Some(Reverse(next)) = self.queue.pop() else { break };
            self.time = self.time.max(next.at);
            self.happen(next.event);
        }
        self.time = until;
    }

    fn happen(&mut self, event: Event) {
        if let Some(actor) = event.actor() {
            match self.table.live_mut(actor) {
                None => return,
                Some(process) if process.stopped => return process.deferred.push(event),
                Some(_) => {}
            }
        }
        match event {
            Event::Exit(key, status) => self.die(key, super::table::End::Exited(status)),
            Event::KillLands(key) => self.die(key, super::table::End::Killed(9)),
            Event::Born { parent, term, brood, made } => self.bear(parent, term, brood, made),
            Event::Collect(key) => self.table.collect(key),
            Event::Shim(key) => self.run_shim(key),
            Event::Prepared(key) => self.finish_shim(key),
            Event::Speak(key, act) => self.speaks(key, act),
            Event::Hook(number) => self.hook_lands(number),
            Event::ServerGone(key) => self.die(key, super::table::End::Exited(0)),
        }
    }

    /// Notes what happened.
    pub(super) fn happened(&mut self, origin: Option<Origin>, what: What) {
        let happened = Happened { at: self.time, effect: 0, origin, what };
        self.ledger.happened.push(happened);
    }

    /// Notes an effect of farhelm.
    pub(super) fn effected(&mut self, origin: Option<Origin>, what: What) {
        let happened = Happened { at: self.time, effect: self.farhelm.effects, origin, what };
        self.ledger.happened.push(happened);
    }

    pub(super) fn note(&mut self, words: impl Into<String>) {
        self.happened(None, What::Note(words.into()));
    }

    /// Notes what must not happen.
    pub(super) fn violation(&mut self, words: impl Into<String>) {
        let words = words.into();
        self.note(format!("VIOLATION: {words}"));
        self.ledger.violations.push(format!("at {}ms, effect {}: {words}", self.time, self.farhelm.effects));
    }

    /// The machine loses power and boots again.
    pub(super) fn reboot(&mut self) {
        self.note("the machine reboots");
        self.farhelm.alive = false;
        self.clear_events();
        self.table.clear();
        self.servers.clear();
        self.launching.clear();
        let mut random = self.random.split();
        self.files.lose_power(&mut random);
        self.maim_talks();
        self.time += random.range(5_000, 90_000);
        self.booted_at = self.time;
        self.boots += 1;
        self.boot_up();
    }
}
