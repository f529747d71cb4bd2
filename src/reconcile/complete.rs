//! Completes records from what was seen: the repair after a pass that died, and the note of what ended since. Pure.

use std::time::Duration;

use crate::config::desired::{Desired, Restart};
use crate::host::clock::Moment;
use crate::observe::observed::{AgentSeen, Observed, PaneSeen, ServerSeen};
use crate::plan::units;
use crate::spec::name::Name;
use crate::state::fields::{self, Contents};
use crate::state::record::{Ended, EndedHow, Phase, Record, Recorded};

/// What a launch's end is judged by.
struct Judge<'a> {
    now: Moment,
    desired: &'a Desired,
    executed: &'a dyn Fn(&Record, u32) -> bool,
}

/// Brings `recorded` up to what was seen. `executed` says of a session and a generation whether its program was exec'd,
/// as the shim's mark tells.
pub fn complete(
    recorded: &mut Recorded,
    observed: &Observed,
    desired: &Desired,
    executed: &dyn Fn(&Record, u32) -> bool,
) {
    let judge = Judge { now: observed.at, desired, executed };
    for record in recorded.records.values_mut() {
        let Some(seen) = observed.sessions.get(&record.id) else { continue };
        match &seen.agent {
            AgentSeen::Alive(pane) => up(record, pane, Phase::Running, observed),
            AgentSeen::Launching { pane, .. } => up(record, pane, Phase::Opened, observed),
            AgentSeen::Ended { how, .. } => judge.ended(record, how),
            AgentSeen::Absent => judge.absent(record),
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

impl Judge<'_> {
    fn ended(&self, record: &mut Record, how: &Ended) {
        let want = self.desired.sessions.get(&record.name);
        let healthy = want.map_or(Restart::default().reset_after, |want| want.restart.reset_after);
        let ran = (self.executed)(record, record.generation());
        let Some(launch) = record.launches.last_mut() else { return };
        let ran = ran || launch.ran;
        // An exec that happened carried its prompt, whether or not anybody saw it happen: never deliver it twice.
        let failed = matches!(how.how, EndedHow::LaunchFailed(_));
        if (ran || !failed && launch.phase == Phase::Running && launch.ended.is_none()) && launch.prompt.is_some() {
            record.prompt_delivered.clone_from(&launch.prompt);
        }
        if launch.ended.as_ref().is_some_and(|known| !is_better_known(known, how)) {
            return;
        }
        let stopping = launch.phase == Phase::Stopping;
        // Noticed late, its time says more; noticed at once, the boot clock is surer.
        let told = how.at_ms.map_or(Duration::MAX, |at| units::since(launch.at.wall_ms, at));
        let lived = self.now.since(&launch.at).min(told);
        let mut how = how.clone();
        if stopping && !matches!(how.how, EndedHow::Rebooted | EndedHow::ServerDied) {
            how.how = EndedHow::Stopped;
        }
        record.failures = match how.how {
            EndedHow::LaunchFailed(_) => record.failures.saturating_add(1),
            EndedHow::Exited(_) | EndedHow::Lost | EndedHow::Killed(_) if lived < healthy => {
                record.failures.saturating_add(1)
            }
            EndedHow::Exited(_) | EndedHow::Lost | EndedHow::Killed(_) => 1,
            EndedHow::ServerDied | EndedHow::Rebooted | EndedHow::Stopped => record.failures,
        };
        // Where it matters the shim's mark is durable: without it the program was never started, whatever ended.
        let unproven = launch.phase < Phase::Running || stopping;
        if !ran && unproven && !failed {
            how.how = EndedHow::LaunchFailed("its terminal ended before its program was started".to_owned());
        }
        launch.phase = Phase::Ended;
        launch.over = Some(self.now);
        launch.ended = Some(how);
    }

    /// Nothing of it is there: its pane was closed, or was never opened.
    fn absent(&self, record: &mut Record) {
        let ran = (self.executed)(record, record.generation());
        let Some(launch) = record.launches.last() else { return };
        if launch.phase == Phase::Intended && !ran {
            return;
        }
        self.ended(record, &Ended { how: EndedHow::Lost, at_ms: Some(self.now.wall_ms) });
    }
}

/// An exit that turns out to belong to the end of its server or boot is told again as that.
fn is_better_known(known: &Ended, now: &Ended) -> bool {
    let own = matches!(known.how, EndedHow::Exited(_) | EndedHow::Killed(_) | EndedHow::Lost);
    own && matches!(now.how, EndedHow::ServerDied | EndedHow::Rebooted)
}
