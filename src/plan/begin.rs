//! Starting a session: why, at what cost, and what keeps it from being started.

use std::time::Duration;

use crate::config::desired::{Session, UpdateWhen};
use crate::observe::observed::{Activity, DirSeen};
use crate::state::fields::Field;
use crate::state::record::{Ended, EndedHow};

use super::action::{Action, ConversationFate, Cost, Mode};
use super::conversation::{self, Start};
use super::ended::{self, Pace};
use super::reason::Reason;
use super::subject::{Life, Subject};
use super::verdict::Verdict;
use super::{Inputs, Trigger, changes};

/// A session that is to run, and all that starting it depends on.
pub(super) struct Wanted<'s, 'a> {
    pub subject: &'s Subject<'a>,
    pub want: &'a Session,
    pub inputs: &'s Inputs<'a>,
    /// Its launch-class fields that differ from the last launch.
    pub changed: Vec<Reason>,
}

impl<'s, 'a> Wanted<'s, 'a> {
    pub(super) fn new(subject: &'s Subject<'a>, want: &'a Session, inputs: &'s Inputs<'a>) -> Self {
        let contents = &inputs.observed.contents;
        let changed = subject.memory.as_ref().map(|memory| changes::changed(want, memory, contents));
        let changed = changed.unwrap_or_default();
        Self { subject, want, inputs, changed }
    }

    /// Ends the running agent and starts it again, when that may be.
    pub(super) fn replace(&self) -> Verdict {
        let why = self.asked().into_iter().chain(self.changed.iter().cloned()).collect();
        Verdict { waits: self.gates(), ..self.restart(why, true) }
    }

    /// Launches what was never launched.
    pub(super) fn first(&self) -> Verdict {
        let why: Vec<Reason> = self.leftovers().into_iter().chain(self.asked()).collect();
        match self.leftovers() {
            None => self.launch([vec![Reason::NotRunning], why].concat()),
            Some(_) => self.restart(why, false),
        }
    }

    /// Why an agent that ended is left as it ended. What an operator or a changed field asks for is launched all the
    /// same, and leftovers are ended where nothing says how it ended.
    pub(super) fn rest(&self, end: &Ended) -> Option<Reason> {
        let told = self.subject.again || self.subject.start || !self.changed.is_empty();
        let lost = self.leftovers().is_some() && end.how == EndedHow::Lost;
        ended::rest(self.want, end).filter(|_| !told && !lost)
    }

    /// Launches what ended, after leftovers of it are ended too.
    pub(super) fn relaunch(&self, end: &Ended) -> Verdict {
        let mut why: Vec<Reason> = self.leftovers().into_iter().chain(self.asked()).collect();
        why.push(ended::cause(end, self.inputs.now));
        why.extend(self.changed.iter().cloned());
        let mut verdict = if self.leftovers().is_some() { self.restart(why, false) } else { self.launch(why) };
        match ended::pace(self.subject, self.want, self.inputs, end) {
            // A change is a new attempt: what failed before says nothing of it.
            _ if !self.changed.is_empty() => {}
            Pace::Now => {}
            Pace::Later(wait) => verdict.waits.push(wait),
            Pace::Never(obstacle) => verdict.obstacles.push(obstacle),
        }
        verdict
    }

    /// A launch that is not proven yet is awaited.
    pub(super) fn under_way(&self, since: Duration) -> Verdict {
        let mut verdict = self.launch(Vec::new());
        verdict.obstacles.clear();
        verdict.waits.push(Reason::Launching { since });
        verdict
    }

    /// A launch whose shell never reached it stays for an operator to look at, and to restart.
    pub(super) fn stuck(&self, since: Duration) -> Verdict {
        let mut verdict = self.restart(self.asked().into_iter().collect(), false);
        if !self.subject.again {
            verdict.obstacles.insert(0, Reason::LaunchStuck { since });
        }
        verdict
    }

    fn asked(&self) -> Option<Reason> {
        self.subject.again.then_some(Reason::Asked)
    }

    fn leftovers(&self) -> Option<Reason> {
        let processes = self.subject.memory.as_ref().and(self.subject.seen).map_or(0, |seen| seen.leftovers.len());
        (processes > 0).then_some(Reason::Leftovers { processes })
    }

    fn launch(&self, why: Vec<Reason>) -> Verdict {
        let start = conversation::start(self, false);
        if !start.restored {
            return self.begin(start, Action::Launch, why);
        }
        match self.subject.seen.map_or(0, |seen| seen.leftovers.len()) {
            0 => self.begin(start, Action::Launch, vec![Reason::Restored]),
            processes => self.begin(start, Action::Restart, vec![Reason::Leftovers { processes }, Reason::Restored]),
        }
    }

    /// Ends what is alive and starts it again. `live`: an agent ends, and with it what only it knows.
    fn restart(&self, why: Vec<Reason>, live: bool) -> Verdict {
        let start = conversation::start(self, live);
        let mut verdict = self.begin(start, Action::Restart, why);
        let Cost { turn_lost, clients, .. } = ending(self.subject);
        verdict.cost = Cost { turn_lost, clients, ..verdict.cost };
        verdict
    }

    fn begin(&self, start: Start, action: impl Fn(Mode) -> Action, why: Vec<Reason>) -> Verdict {
        let lost = matches!(start.fate, ConversationFate::Lost(_));
        let resumes = matches!(start.mode, Mode::Resume { .. });
        let mut verdict = Verdict::of(action(start.mode), why);
        let guarded = lost || (matches!(verdict.action, Action::Restart(_)) && !resumes);
        verdict.obstacles.extend((guarded && self.subject.protected()).then_some(Reason::Protected));
        verdict.obstacles.extend(self.dir());
        verdict.obstacles.extend(start.obstacle);
        if self.inputs.request.trigger == Trigger::Watch && self.inputs.recorded.fleet.down {
            verdict.obstacles.push(Reason::FleetDown);
        }
        verdict.cost.destructive = lost;
        verdict.cost.conversation = start.fate;
        verdict
    }

    /// Why its directory keeps it from being launched.
    fn dir(&self) -> Option<Reason> {
        let (subject, spelling) = (self.subject, &self.want.dir.spelling);
        let words = match subject.dir {
            None => format!("directory {spelling} was not looked at"),
            Some(DirSeen::Unknown(words)) => format!("directory {spelling} could not be looked at: {words}"),
            Some(DirSeen::Missing(words)) => format!("directory {spelling}: {words}"),
            Some(DirSeen::Present(now)) => {
                let was = subject.memory.as_ref()?.canonical?;
                let accepted = subject.again && self.inputs.request.accept_dir;
                if was == now || accepted || changes::differs(&self.changed, &Field::Dir) {
                    return None;
                }
                let (was, now) = (was.display(), now.display());
                format!("directory {spelling} was {was}, is {now} now (farhelm restart --accept-dir {})", subject.name)
            }
        };
        Some(Reason::Dir { words })
    }

    /// Why a restart of a running agent has to wait. An operator who names it needs no sign of idleness, only none of
    /// work.
    fn gates(&self) -> Vec<Reason> {
        let named = self.subject.again;
        let unknown = || self.subject.seen.is_some_and(|seen| seen.activity == Activity::Unknown);
        let gate = match self.want.update {
            UpdateWhen::Manual if !named => Some(Reason::ManualUpdate),
            UpdateWhen::Now => None,
            _ if self.inputs.request.now => None,
            UpdateWhen::Idle if unknown() && !named => Some(Reason::ActivityUnknown),
            UpdateWhen::Idle | UpdateWhen::Manual => busy(self.subject),
        };
        gate.into_iter().collect()
    }
}

/// What ending its agent now would cut off.
pub(super) fn ending(subject: &Subject<'_>) -> Cost {
    match subject.life() {
        Life::Alive(pane) | Life::Launching(pane, _) => {
            Cost { turn_lost: busy(subject).is_some(), clients: pane.clients, ..Cost::default() }
        }
        _ => Cost::default(),
    }
}

/// The turn it is in, by its reports.
pub(super) fn busy(subject: &Subject<'_>) -> Option<Reason> {
    match subject.seen?.activity {
        Activity::Working => Some(Reason::Working),
        Activity::NeedsInput => Some(Reason::NeedsInput),
        Activity::Idle | Activity::Unknown => None,
    }
}
