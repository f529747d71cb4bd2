//! What the tests of the whole program share.

pub mod fleet;
pub mod operator;
pub mod process;
pub mod ran;
pub mod redact;
pub mod status;
pub mod terminal;
pub mod user_manager;
pub mod wait;
