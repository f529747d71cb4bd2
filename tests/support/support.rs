//! What the tests of the whole program share.

use std::io::Write;

pub mod fleet;
pub mod operator;
pub mod process;
pub mod ran;
pub mod redact;
pub mod status;
pub mod terminal;
pub mod tiny_disk;
pub mod user_manager;
pub mod wait;
pub mod watching;

/// Says loudly, past the test runner's capture, that a test proves nothing here.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
