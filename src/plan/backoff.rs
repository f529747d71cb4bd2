//! How long an agent that keeps ending waits for its next launch.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::config::desired::Restart;
use crate::state::record::SessionId;

/// The delay before the next launch after `failures` ends in a row: none after the first, then doubling from `initial` up
/// to `max`, each shortened by up to a quarter so that a fleet does not come back in step. The same for the same
/// session and count, so that planning twice gives the same answer.
#[must_use]
pub fn delay(restart: &Restart, session: SessionId, failures: u32) -> Duration {
    let Some(doublings) = failures.checked_sub(2) else { return Duration::ZERO };
    let full = restart.initial.checked_mul(2_u32.saturating_pow(doublings)).unwrap_or(restart.max).min(restart.max);
    full.mul_f64(1.0 - jitter(session, failures) / 4.0)
}

/// A number from 0 to 1.
fn jitter(session: SessionId, failures: u32) -> f64 {
    let mut digest = Sha256::new();
    digest.update(session.0.as_bytes());
    digest.update(failures.to_le_bytes());
    let bytes = digest.finalize();
    f64::from(u16::from_le_bytes([bytes[0], bytes[1]])) / f64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn delays_double_from_initial_to_max_and_the_first_is_none() {
        let (restart, id) = (Restart::default(), SessionId(Uuid::from_u128(7)));
        assert_eq!(delay(&restart, id, 0), Duration::ZERO);
        assert_eq!(delay(&restart, id, 1), Duration::ZERO);
        for failures in 2..80_u32 {
            let full = 2_f64.powf(f64::from(failures - 2)).min(300.0);
            let delay = delay(&restart, id, failures).as_secs_f64();
            assert!((full * 0.75 - 0.001..=full).contains(&delay), "{failures}: {delay}");
        }
    }

    #[test]
    fn sessions_that_fail_together_do_not_come_back_together() {
        let restart = Restart::default();
        let delays: std::collections::BTreeSet<_> =
            (0..50).map(|n| delay(&restart, SessionId(Uuid::from_u128(n)), 5)).collect();
        assert!(delays.len() > 40, "{}", delays.len());
    }
}
