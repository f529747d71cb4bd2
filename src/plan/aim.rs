//! What is wanted of a session, and by whom: pause, then protect, then stop and start, then the file.

use crate::config::desired::Departure;
use crate::state::record::HoldKind;

use super::reason::Reason;
use super::subject::Subject;
use super::{Inputs, Trigger};

/// What is wanted of a session.
#[derive(Debug)]
pub(super) enum Aim {
    /// That it runs.
    Run,
    /// That it does not run.
    Stop(Reason),
    /// That it is gone.
    Remove(Reason),
}

/// What is wanted of `subject`.
pub(super) fn aim(subject: &Subject<'_>, inputs: &Inputs<'_>) -> Aim {
    if inputs.request.trigger == Trigger::Down {
        return Aim::Remove(Reason::Down);
    }
    let Some(want) = subject.want else { return Aim::Remove(removed(subject, inputs)) };
    if subject.again || subject.start {
        return Aim::Run;
    }
    match subject.memory.as_ref().and_then(|memory| memory.hold(inputs.now.wall_ms)) {
        Some(hold) if hold.what == HoldKind::Stopped => Aim::Stop(Reason::HeldStopped { why: hold.why.clone() }),
        Some(hold) if hold.what == HoldKind::Started => Aim::Run,
        _ if want.running => Aim::Run,
        _ => Aim::Stop(Reason::DesiredStopped),
    }
}

/// Why it is wanted no more.
fn removed(subject: &Subject<'_>, inputs: &Inputs<'_>) -> Reason {
    match inputs.desired.departed.get(subject.name) {
        None => Reason::Removed,
        Some(Departure::ParentGone(parent)) => Reason::ParentGone { parent: parent.clone() },
        Some(Departure::ProfileGone(profile)) => Reason::ProfileGone { profile: profile.clone() },
        Some(Departure::Dismissed) => Reason::Dismissed,
    }
}

/// The pause in force.
pub(super) fn paused(subject: &Subject<'_>, inputs: &Inputs<'_>) -> Option<Reason> {
    let hold = subject.memory.as_ref()?.hold(inputs.now.wall_ms)?;
    (hold.what == HoldKind::Paused).then(|| Reason::Paused { why: hold.why.clone(), until_ms: hold.until_ms })
}
