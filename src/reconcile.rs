//! Carries plans out: the only room whose code has effects on sessions.
//!
//! Every trigger runs the same pass: read what is recorded, look, complete the records from what was seen, plan, then
//! carry out what the plan allows. Intent is written before an effect, and each effect can be found again by its stamp
//! or marker, so that a pass may die at any instant and the next one repairs.

mod adopt;
pub mod census;
pub mod complete;
pub mod cost;
pub mod ending;
pub mod execute;
pub mod launch;
pub mod ledger;
mod lines;
pub mod opening;
pub mod pass;
pub mod reap;
mod reports;
mod restamp;
pub mod scopes;
pub mod situation;
pub mod spawn;
pub mod terminals;
mod thaw;
pub mod watch;

#[cfg(test)]
mod tests;
