//! Agent kinds as data, and the pure functions that use them.

pub mod admission;
pub mod argv;
pub mod assign;
pub mod catalogue;
pub mod chain;
pub mod choice;
pub mod evidence;
pub mod inject;
pub mod kind;
pub mod readiness;
pub mod remote;
pub mod slots;
