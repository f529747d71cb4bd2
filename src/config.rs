//! Text to a resolved fleet: load, include, check, interpolate, resolve with origin.

pub mod desired;
