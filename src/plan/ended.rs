//! What follows when an agent has ended: rest, or another launch, at once or after a while.

use std::time::Duration;

use crate::config::desired::{RestartWhen, Session};
use crate::host::clock::Moment;
use crate::state::record::{Ended, EndedHow, Record};

use super::reason::Reason;
use super::subject::Subject;
use super::{Inputs, Trigger, backoff, units};

/// The end as the cause of a launch.
pub(super) fn cause(ended: &Ended, now: Moment) -> Reason {
    let ago = ended.at_ms.map(|at| units::since(at, now.wall_ms));
    match &ended.how {
        EndedHow::Exited(status) => Reason::Exited { status: *status, ago },
        EndedHow::Killed(signal) => Reason::Killed { signal: *signal, ago },
        EndedHow::Lost => Reason::Vanished,
        EndedHow::ServerDied => Reason::ServerDied,
        EndedHow::Rebooted => Reason::Rebooted,
        EndedHow::Stopped => Reason::WantedAgain,
        EndedHow::LaunchFailed(words) => Reason::LaunchFailed { words: words.clone() },
    }
}

/// Why it is left as it ended, by `restart.when`. An interruption, a stop and a launch that never ran are no ends in
/// that sense.
pub(super) fn rest(want: &Session, ended: &Ended) -> Option<Reason> {
    let never = want.restart.when == RestartWhen::Never;
    match ended.how {
        EndedHow::Exited(0) if want.restart.when != RestartWhen::Always => Some(Reason::Completed),
        EndedHow::Exited(status) if never => Some(Reason::NotRestarted { status: Some(status) }),
        EndedHow::Killed(_) | EndedHow::Lost if never => Some(Reason::NotRestarted { status: None }),
        _ => None,
    }
}

/// How the next launch is paced.
#[derive(Debug)]
pub(super) enum Pace {
    /// At once.
    Now,
    /// After a while.
    Later(Reason),
    /// Not by itself.
    Never(Reason),
}

/// The pace of the next launch under `watch`; whoever asks otherwise gets it at once.
pub(super) fn pace(subject: &Subject<'_>, want: &Session, inputs: &Inputs<'_>, ended: &Ended) -> Pace {
    let Some(record) = subject.memory.as_ref().and_then(|memory| memory.record) else { return Pace::Now };
    let interrupted = matches!(ended.how, EndedHow::ServerDied | EndedHow::Rebooted | EndedHow::Stopped);
    if inputs.request.trigger != Trigger::Watch || subject.again || subject.start || interrupted {
        return Pace::Now;
    }
    let failures = failures(record, want, ended);
    if failures > want.restart.max_restarts {
        return Pace::Never(Reason::CrashLoop { failures });
    }
    let passed = passed(record, inputs, ended);
    match backoff::delay(&want.restart, record.id, failures).checked_sub(passed) {
        Some(left) if !left.is_zero() => Pace::Later(Reason::Backoff { left }),
        _ => Pace::Now,
    }
}

/// Time since it ended. The wall clock may have been set since; it counts where nothing else is known.
fn passed(record: &Record, inputs: &Inputs<'_>, ended: &Ended) -> Duration {
    let Some(launch) = record.launch() else { return Duration::MAX };
    let told = units::since(ended.at_ms.unwrap_or(launch.at.wall_ms), inputs.now.wall_ms);
    match launch.over {
        _ if launch.boot != inputs.observed.boot => told.max(Duration::from_millis(inputs.now.boot_ms)),
        Some(noticed) => inputs.now.since(&noticed),
        None => told,
    }
}

/// Failures in a row; health of `reset_after` forgets them.
fn failures(record: &Record, want: &Session, ended: &Ended) -> u32 {
    let ran = record.launch().zip(ended.at_ms).map(|(launch, at)| units::since(launch.at.wall_ms, at));
    if ran.is_some_and(|ran| ran >= want.restart.reset_after) { 0 } else { record.failures }
}
