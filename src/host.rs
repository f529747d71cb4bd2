//! The ports: everything of the system that farhelm reads or changes goes through a trait of this module.
//!
//! Each port has two implementations: `real` (this machine) and `sim` (a seeded simulation of it). Nothing above
//! this module calls tmux, reads `/proc`, sends a signal, looks at a clock or opens a state file by itself.

pub mod clock;
pub mod disk;
pub mod hook;
pub mod ids;
pub mod news;
pub mod process;
pub mod real;
pub mod scope;
pub mod secrets;
pub mod shim;
pub mod sim;
pub mod tmux;

/// All ports of one machine.
pub trait Host: clock::Clock + disk::Disk + ids::Ids + process::Processes + scope::Scopes + tmux::Tmux {}

impl<T: clock::Clock + disk::Disk + ids::Ids + process::Processes + scope::Scopes + tmux::Tmux> Host for T {}
