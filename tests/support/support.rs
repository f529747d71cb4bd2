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

/// Says loudly that this test proves nothing here.
#[expect(clippy::print_stderr, reason = "a skipped test is to be seen")]
pub fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}
