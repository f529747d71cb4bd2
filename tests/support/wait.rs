//! Waiting on conditions.

use std::time::{Duration, Instant};

/// How long a test waits for something that should take well under a second: a busy machine is no failure.
pub const SOON: Duration = Duration::from_secs(20);

/// Waits until `condition` holds; fails the test, naming `what`, when it does not within [`SOON`].
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_at_most(SOON, what, condition);
}

/// Waits until `condition` holds; fails the test, naming `what`, when it does not within `limit`.
#[track_caller]
pub fn wait_at_most(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < limit, "waited {limit:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
