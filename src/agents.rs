//! Agent kinds as data, and what is made of them: command lines, hooks, and what agents report of their conversations.

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
