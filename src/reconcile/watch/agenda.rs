//! When to look next, although nothing happens. Pure.

use std::time::Duration;

use crate::host::clock::Moment;
use crate::host::process::BootId;
use crate::plan::Plan;
use crate::plan::decide::LAUNCH_STUCK;
use crate::plan::reason::Reason;
use crate::plan::rollout::WELL;
use crate::state::record::{Record, Recorded};

/// At the latest after this time everything is looked at: news can be lost.
pub const RESYNC: Duration = Duration::from_secs(60);
/// Between two looks at what could not be observed, at first.
const DOUBT: Duration = Duration::from_secs(2);

/// Time until something of `plan` is due by itself. `doubts`: looks in a row in which something was unknown.
#[must_use]
pub fn next(plan: &Plan, recorded: &Recorded, (now, boot): (Moment, &BootId), doubts: u32) -> Duration {
    let now_ms = plan.header.at.wall_ms;
    let reasons = plan.items.iter().flat_map(|item| &item.reasons);
    let waits = reasons.filter_map(|reason| match reason {
        Reason::Backoff { left } => Some(*left),
        Reason::Launching { since } => Some(LAUNCH_STUCK.saturating_sub(*since) + Duration::from_millis(1)),
        Reason::MaxUnavailable { .. } | Reason::Canary { .. } => proof(recorded, now, boot),
        Reason::Unobservable { .. } => Some(doubt(doubts)),
        _ => None,
    });
    let holds = recorded.records.values().filter_map(|record| record.hold.as_ref()?.until_ms);
    let holds = holds.filter(|until| *until > now_ms).map(|until| Duration::from_millis(until.abs_diff(now_ms)));
    let leaving = recorded.records.values().flat_map(|record| &record.leaving);
    let leaving = leaving.map(|leaving| leaving.left(now, boot)).filter(|left| !left.is_zero());
    waits.chain(holds).chain(leaving).min().unwrap_or(RESYNC).min(RESYNC)
}

/// Time until the next launch has lived for so long that a rollout goes on.
fn proof(recorded: &Recorded, now: Moment, boot: &BootId) -> Option<Duration> {
    let launches = recorded.records.values().filter_map(Record::launch);
    let open = launches.filter(|launch| launch.ended.is_none() && launch.boot == *boot);
    let left = open.filter_map(|launch| WELL.checked_sub(now.since(&launch.at)));
    left.min().map(|left| left + Duration::from_millis(1))
}

/// Time until what is unknown is looked at again: longer each time, up to [`RESYNC`].
#[must_use]
pub fn doubt(doubts: u32) -> Duration {
    DOUBT.saturating_mul(2_u32.saturating_pow(doubts.min(16))).min(RESYNC)
}
