//! Tests of the planner as a whole; each module's own are beside it.

mod random;
pub(crate) mod world;

mod cases;
mod idempotence;
mod properties;
mod saved;
mod table;
mod texts;
