//! Completes records from what was seen: the repair after a pass that died, and the note of what ended since. Pure.

use crate::config::desired::Desired;
use crate::host::clock::Moment;
use crate::observe::observed::{AgentSeen, Observed, PaneSeen, ServerSeen};
use crate::spec::name::Name;
use crate::state::fields::{self, Contents};
use crate::state::record::{Ended, EndedHow, Phase, Record, Recorded};

/// A launch that ends by itself within this time counts as a failure to come up.
const QUICK_END_MS: u64 = 10_000;

/// Brings `recorded` up to what was seen. `executed` says of a session and a generation whether its program was exec'd,
/// as the shim's mark tells.
pub fn complete(recorded: &mut Recorded, observed: &Observed, executed: &dyn Fn(&Record, u32) -> bool) {
    for record in recorded.records.values_mut() {
        let Some(seen) = observed.sessions.get(&record.id) else { continue };
        match &seen.agent {
            AgentSeen::Alive(pane) => up(record, pane, Phase::Running, observed),
            AgentSeen::Launching { pane, .. } => up(record, pane, Phase::Opened, observed),
            AgentSeen::Ended { how, .. } => ended(record, how, observed.at, executed),
            AgentSeen::Absent => absent(record, observed.at, executed),
            AgentSeen::Unknown(_) | AgentSeen::Several(_) => {}
        }
    }
}

/// Writes hashes of another version anew in the present one, so that later changes are seen; returns the names of the
/// records that changed. Nothing is a difference for that: see [`fields::renewed`].
pub fn renew_hashes(recorded: &mut Recorded, desired: &Desired, contents: &Contents) -> Vec<Name> {
    let mut changed = Vec::new();
    for (name, session) in &desired.sessions {
        let Some(record) = recorded.records.get_mut(name) else { continue };
        let known = fields::watched(session).filter_map(fields::watched_path);
        let known = known.filter_map(|path| contents.get(path)).all(Result::is_ok);
        if known && record.fields_version != fields::VERSION && !record.launches.is_empty() {
            record.fields = fields::renewed(&record.shown, session, &record.salt, contents);
            record.fields_version = fields::VERSION;
            changed.push(name.clone());
        }
    }
    changed
}

fn up(record: &mut Record, pane: &PaneSeen, phase: Phase, observed: &Observed) {
    let Some(launch) = record.launches.last_mut() else { return };
    if launch.generation != pane.generation || launch.phase == Phase::Stopping {
        return;
    }
    launch.pane = Some(pane.pane.clone());
    launch.process = Some(pane.process);
    // Once seen it is remembered: that it is gone later is how its end behind a live wrapper is known.
    launch.agent = pane.agent.or(launch.agent);
    launch.boot = observed.boot.clone();
    launch.socket = pane.socket.clone();
    if let Some(ServerSeen::Up { process }) = observed.servers.get(&pane.socket) {
        launch.server = Some(*process);
    }
    launch.phase = phase;
    launch.ended = None;
    if phase == Phase::Running && launch.prompt.is_some() {
        record.prompt_delivered.clone_from(&launch.prompt);
    }
}

fn ended(record: &mut Record, how: &Ended, now: Moment, executed: &dyn Fn(&Record, u32) -> bool) {
    let ran = executed(record, record.generation());
    let Some(launch) = record.launches.last_mut() else { return };
    // An exec that happened carried its prompt, whether or not anybody saw it happen: never deliver it twice.
    let failed = matches!(how.how, EndedHow::LaunchFailed(_));
    if (ran || !failed && launch.phase >= Phase::Running && launch.ended.is_none()) && launch.prompt.is_some() {
        record.prompt_delivered.clone_from(&launch.prompt);
    }
    if launch.ended.as_ref().is_some_and(|known| !is_better_known(known, how)) {
        return;
    }
    let stopping = launch.phase == Phase::Stopping;
    let lived = now.boot_ms.saturating_sub(launch.at.boot_ms);
    let mut how = how.clone();
    if stopping && !matches!(how.how, EndedHow::Rebooted | EndedHow::ServerDied) {
        how.how = EndedHow::Stopped;
    }
    record.failures = match how.how {
        EndedHow::LaunchFailed(_) => record.failures.saturating_add(1),
        EndedHow::Exited(_) | EndedHow::Lost if lived < QUICK_END_MS => record.failures.saturating_add(1),
        EndedHow::Exited(_) | EndedHow::Lost | EndedHow::Killed(_) => 0,
        EndedHow::ServerDied | EndedHow::Rebooted | EndedHow::Stopped => record.failures,
    };
    // Where it matters the shim's mark is durable: without it the program was never started, whatever ended.
    let unproven = launch.phase < Phase::Running || (stopping && how.how == EndedHow::Stopped);
    if !ran && unproven && !failed {
        how.how = EndedHow::LaunchFailed("its terminal ended before its program was started".to_owned());
    }
    launch.phase = Phase::Ended;
    launch.ended = Some(how);
}

/// An exit that turns out to belong to the end of its server or boot is told again as that.
fn is_better_known(known: &Ended, now: &Ended) -> bool {
    let own = matches!(known.how, EndedHow::Exited(_) | EndedHow::Killed(_) | EndedHow::Lost);
    own && matches!(now.how, EndedHow::ServerDied | EndedHow::Rebooted)
}

/// Nothing of it is there: its pane was closed, or was never opened.
fn absent(record: &mut Record, now: Moment, executed: &dyn Fn(&Record, u32) -> bool) {
    let ran = executed(record, record.generation());
    let Some(launch) = record.launches.last() else { return };
    if launch.phase == Phase::Intended && !ran {
        return;
    }
    ended(record, &Ended { how: EndedHow::Lost, at_ms: Some(now.wall_ms) }, now, executed);
}
