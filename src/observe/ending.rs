//! How a session without a live pane came to its end.

use std::time::Duration;

use crate::host::tmux::PaneEnd;
use crate::state::launch_files::LaunchFiles;
use crate::state::record::{Ended, EndedHow, Launch, Phase, Record, SessionId};

use super::observed::{AgentSeen, PaneRead};
use super::session::Scene;

/// An exit this short before its tmux server or its boot ended belongs to that interruption, whatever its status:
/// several agents answer TERM with exit 0.
const INTERRUPTION: Duration = Duration::from_secs(60);

/// Gone, and nobody knows how.
pub(super) fn lost() -> Ended {
    Ended { how: EndedHow::Lost, at_ms: None }
}

impl Scene<'_> {
    /// The state of an agent of which no pane lives, all servers that could have one being known.
    pub(super) fn gone(&self, id: SessionId, record: Option<&Record>, panes: &[&PaneRead]) -> AgentSeen {
        let latest = record.map(Record::generation);
        let stamped = |pane: &PaneRead| pane.stamp.as_ref().map(|stamp| stamp.generation).or(latest);
        let dead = panes.iter().filter_map(|pane| Some((pane, pane.pane.end?))).max_by_key(|(pane, _)| stamped(pane));
        let launch = record.and_then(Record::launch);
        let own = dead.filter(|(pane, _)| launch.is_none_or(|launch| stamped(pane) == Some(launch.generation)));
        let last = launch.and_then(|launch| self.ending(id, record, launch, own.map(|(_, end)| end)));
        let how = last.or_else(|| {
            // The latest launch came to nothing, or there is no record: the dead pane tells.
            let (pane, end) = dead?;
            let launches = record.into_iter().flat_map(|record| &record.launches);
            let known =
                launches.filter(|launch| Some(launch.generation) == stamped(pane)).find_map(|l| l.ended.clone());
            Some(known.or_else(|| self.failed(id, stamped(pane)?)).unwrap_or_else(|| ended(end)))
        });
        match how {
            Some(how) => AgentSeen::Ended { pane: dead.map(|(pane, _)| pane.pane.id.clone()), how },
            None => AgentSeen::Absent,
        }
    }

    /// How `launch` ended; `None` when it never began.
    fn ending(&self, id: SessionId, record: Option<&Record>, launch: &Launch, dead: Option<PaneEnd>) -> Option<Ended> {
        if let Some(known) = &launch.ended {
            return Some(self.interruption(record, launch, known.at_ms, &known.how).unwrap_or_else(|| known.clone()));
        }
        if let Some(failed) = self.failed(id, launch.generation) {
            return Some(failed);
        }
        if launch.boot != self.sight.boot {
            return Some(Ended { how: EndedHow::Rebooted, at_ms: None });
        }
        if launch.phase >= Phase::Stopping {
            return Some(Ended { how: EndedHow::Stopped, ..dead.map_or_else(lost, ended) });
        }
        if let Some(end) = dead {
            return Some(ended(end));
        }
        if launch.phase == Phase::Intended && launch.process.is_none() {
            return None;
        }
        let server_died = launch.server.is_some_and(|server| self.sight.table.alive(server).is_none());
        // When it died is not known; that it was seen now is what later looks compare with.
        let died = Ended { how: EndedHow::ServerDied, at_ms: Some(self.sight.at.wall_ms) };
        Some(if server_died { died } else { lost() })
    }

    /// The shim's words, when it left any for this launch. A status file that cannot be read is as good as none: it
    /// proves nothing either way.
    fn failed(&self, id: SessionId, generation: u32) -> Option<Ended> {
        let files = LaunchFiles::new(self.ask.launch_dir, id, generation, None);
        let failure = files.failure(self.host).ok()??;
        Some(Ended { how: EndedHow::LaunchFailed(failure.words), at_ms: None })
    }

    /// The interruption that a recorded end at `at_ms` belongs to, as far as the times are known: a boot ended no later
    /// than this one began, a server no later than its death was first seen.
    fn interruption(
        &self,
        record: Option<&Record>,
        launch: &Launch,
        at_ms: Option<i64>,
        how: &EndedHow,
    ) -> Option<Ended> {
        if !matches!(how, EndedHow::Exited(_) | EndedHow::Killed(_) | EndedHow::Lost) {
            return None;
        }
        let at = self.sight.at;
        let (how, latest) = if launch.boot != self.sight.boot {
            (EndedHow::Rebooted, at.wall_ms.saturating_sub_unsigned(at.boot_ms))
        } else if launch.server.is_some_and(|server| self.sight.table.alive(server).is_none()) {
            (EndedHow::ServerDied, self.death_seen(record, launch).unwrap_or(at.wall_ms))
        } else {
            return None;
        };
        let before = u64::try_from(latest.saturating_sub(at_ms?)).unwrap_or(0);
        (Duration::from_millis(before) <= INTERRUPTION).then_some(Ended { how, at_ms })
    }

    /// When the death of `launch`'s server was first seen, by what is recorded of the fleet.
    fn death_seen(&self, record: Option<&Record>, launch: &Launch) -> Option<i64> {
        let others = self.ask.records.values().chain(record).flat_map(|record| &record.launches);
        let same = others.filter(|other| other.boot == launch.boot && other.server == launch.server);
        let deaths = same.filter_map(|other| other.ended.as_ref()).filter(|end| end.how == EndedHow::ServerDied);
        deaths.filter_map(|end| end.at_ms).min()
    }
}

fn ended(end: PaneEnd) -> Ended {
    let how = match (end.status, end.signal) {
        (_, Some(signal)) => EndedHow::Killed(signal),
        (Some(status), None) => EndedHow::Exited(status),
        (None, None) => EndedHow::Lost,
    };
    Ended { how, at_ms: end.at.map(|seconds| seconds.saturating_mul(1000)) }
}
