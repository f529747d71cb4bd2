//! Text to a resolved fleet: load, include, check, interpolate, resolve with origin.

mod check;
pub mod desired;
pub mod problem;
mod source;
mod suggest;
mod template;
pub mod tree;
