//! Time, and the operator's wish to stop.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment on this machine, on two clocks: the wall clock may be stepped, the boot clock may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since this boot, suspend included (`CLOCK_BOOTTIME`). Comparable within one boot only.
    pub boot_ms: u64,
    /// Milliseconds since 1970, UTC. For people, and across boots.
    pub wall_ms: i64,
}

impl Moment {
    /// Time from `earlier` to this moment on the boot clock; zero when `earlier` is later.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Duration {
        Duration::from_millis(self.boot_ms.saturating_sub(earlier.boot_ms))
    }
}

/// How urgently the operator asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interrupt {
    /// Not at all.
    None,
    /// Once: finish the effects that have begun, begin no others.
    Finish,
    /// Twice: give up waiting too.
    Abandon,
}

/// The clock port.
pub trait Clock {
    /// The present moment.
    fn now(&self) -> Moment;
    /// Waits for `time`, or shorter when the operator interrupts.
    fn sleep(&self, time: Duration);
    /// Whether, and how urgently, the operator asked to stop.
    fn interrupt(&self) -> Interrupt;
}
