//! Agent kinds as data, and the pure functions that use them.

pub mod kind;
