//! Text to a resolved fleet: load, include, check, interpolate, resolve with origin.

mod argument;
mod assemble;
mod check;
mod command;
mod context;
pub mod desired;
pub mod dotenv;
mod draft;
mod expand;
pub mod explain;
mod gather;
mod intake;
mod layers;
mod lint;
pub mod load;
mod merge;
mod policy;
pub mod problem;
mod profile;
pub mod render;
mod request;
mod resolve;
mod source;
mod suggest;
mod template;
pub mod tree;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
