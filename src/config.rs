//! Text to a resolved fleet: load, include, check, interpolate, resolve with origin.

mod assemble;
mod check;
mod command;
mod context;
pub mod desired;
pub mod dotenv;
mod expand;
mod gather;
mod intake;
mod layers;
mod lint;
pub mod load;
mod merge;
pub mod problem;
mod profile;
mod resolve;
mod source;
mod suggest;
mod template;
pub mod tree;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
pub mod explain;
pub mod render;
