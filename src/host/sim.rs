//! A simulated machine behind the ports: seeded, in memory, on a clock of its own.
//!
//! A [`World`] holds processes, tmux servers, files and a wall clock, and lets them act while farhelm waits. Faults and
//! outside events are chosen by its seed or by whoever drives it. It knows whose every process really is, and notes what
//! farhelm must never do in [`World::violations`]. The same seed and the same calls give the same world.

mod agents;
mod checks;
mod faults;
mod files;
mod hooks;
mod ledger;
mod machine;
mod outside;
mod ports;
mod program;
pub mod random;
mod servers;
mod shim;
mod spoiling;
mod table;
mod talks;
mod tmux;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::panic::resume_unwind;

pub use faults::{DiskMode, Faults};
pub use ledger::{AgentRun, Happened, Origin, What};
pub use program::{MISSING, PROGRAMS};
pub use talks::{Received, TalkSeen, Told};

use machine::Machine;

/// The payload with which a call unwinds when farhelm is killed at it.
#[derive(Debug)]
pub struct Killed;

/// A simulated machine, and all ports of it.
#[derive(Debug)]
pub struct World {
    machine: RefCell<Machine>,
}

impl World {
    /// A freshly booted machine without tmux server, on which no farhelm runs yet.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { machine: RefCell::new(Machine::new(seed)) }
    }

    /// A look that costs no time and cannot be cut.
    fn peek<T>(&self, act: impl FnOnce(&mut Machine) -> T) -> T {
        act(&mut self.machine.borrow_mut())
    }

    /// A look at the machine; a little time goes by.
    fn look<T>(&self, act: impl FnOnce(&mut Machine) -> T) -> T {
        let mut machine = self.machine.borrow_mut();
        let ms = machine.random.below(4);
        machine.pass_time(ms);
        act(&mut machine)
    }

    /// An effect of farhelm: a little time goes by, and it can be killed before or after. `None`: it is dead already.
    fn effect<T>(&self, act: impl FnOnce(&mut Machine) -> T) -> Option<T> {
        let mut machine = self.machine.borrow_mut();
        if !machine.farhelm.alive {
            return None;
        }
        let ms = machine.random.below(3);
        machine.pass_time(ms);
        machine.farhelm.effects += 1;
        let killed = machine.farhelm.killed_at.filter(|(at, _)| *at == machine.farhelm.effects);
        if killed.is_some_and(|(_, before)| before) {
            kill_farhelm(machine);
        }
        let done = act(&mut machine);
        if killed.is_some() {
            kill_farhelm(machine);
        }
        Some(done)
    }
}

/// Kills the running farhelm; never returns.
fn kill_farhelm(mut machine: std::cell::RefMut<'_, Machine>) -> ! {
    let key = machine.farhelm.key;
    machine.farhelm.alive = false;
    machine.note(format!("farhelm {key} is killed"));
    machine.die(key, table::End::Killed(9));
    drop(machine);
    resume_unwind(Box::new(Killed))
}
