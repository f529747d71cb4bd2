//! Whether an operator's decision about a session is still in force.

use super::record::{Hold, Record};

impl Hold {
    /// Whether it ended by itself at or before `now_ms` (milliseconds since 1970).
    #[must_use]
    pub fn expired(&self, now_ms: i64) -> bool {
        self.until_ms.is_some_and(|until| until <= now_ms)
    }
}

impl Record {
    /// The hold in force at `now_ms` (milliseconds since 1970).
    #[must_use]
    pub fn hold_at(&self, now_ms: i64) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| !hold.expired(now_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::clock::Moment;
    use crate::state::record::HoldKind;
    use crate::state::tests::record;

    fn held(what: HoldKind, until_ms: Option<i64>) -> Record {
        let since = Moment { boot_ms: 0, wall_ms: 0 };
        Record { hold: Some(Hold { what, since, until_ms, why: None }), ..record(1, "web", "api") }
    }

    #[test]
    fn a_hold_ends_at_its_time_and_one_without_a_time_never() {
        assert!(held(HoldKind::Paused, Some(100)).hold_at(99).is_some());
        assert!(held(HoldKind::Paused, Some(100)).hold_at(100).is_none());
        assert!(held(HoldKind::Paused, None).hold_at(i64::MAX).is_some());
    }
}
