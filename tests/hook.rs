//! The hook process: the real program, run by real processes, so that its ancestry is a real one.

#[path = "hook/bounds.rs"]
mod bounds;
#[path = "hook/chains.rs"]
mod chains;
#[path = "hook/silence.rs"]
mod silence;
#[path = "hook/world.rs"]
mod world;
