//! Why an agent that should have said which conversation it has has not: its report was refused, it asks something
//! before it starts, or what was launched did not pass its hook on. Screens are read, keys are never sent.

use std::time::Duration;

use crate::agents::kind::Kind;
use crate::agents::kind::reports::Reports;
use crate::config::desired::{Desired, Session};
use crate::host::Host;
use crate::host::tmux::Socket;
use crate::spec::name::Name;
use crate::state::record::{HookState, Launch, Phase, Record, Recorded};

use super::observed::{Activity, AgentSeen, Observed, PaneSeen};

/// An agent that reports at its start has done so by then.
const PATIENCE: Duration = Duration::from_secs(15);

/// An agent that still has not will not.
const TRIPWIRE: Duration = Duration::from_secs(65);

/// Lines of a screen that are looked at.
const LINES: u32 = 60;

/// What keeps an agent from saying which conversation it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// It reported, and that counted for nothing, for this reason.
    Refused(String),
    /// It shows this dialog.
    Asks(Name),
    /// It has run for so long, and may still be starting.
    Starting(Duration),
    /// It should have reported long ago; the likely cause, in words.
    Mute(String),
}

impl Silence {
    /// In words, for the operator of `session`.
    #[must_use]
    pub fn words(&self, session: &Name) -> String {
        match self {
            Self::Refused(why) => format!("no conversation is known: its report was refused, since {why}"),
            Self::Asks(dialog) => {
                format!("it asks something before it starts: `{dialog}` (farhelm attach {session})")
            }
            Self::Starting(age) => format!("starting, no report yet after {}s", age.as_secs()),
            Self::Mute(cause) => format!("no report came: {cause}"),
        }
    }
}

/// Notes it of every session that runs and is silent. The screen is looked at of those that report without being prompted
/// by hand.
pub fn look<'k>(
    host: &dyn Host,
    desired: &Desired,
    observed: &mut Observed,
    recorded: &Recorded,
    kind_of: &dyn Fn(&Name) -> Option<&'k Kind>,
) {
    let now = observed.at;
    let mut screens = Screens { host, dumb: Vec::new() };
    for record in recorded.records.values() {
        let Some(seen) = observed.sessions.get_mut(&record.id) else { continue };
        let (AgentSeen::Alive(pane), Some(kind)) = (&seen.agent, kind_of(&record.kind)) else { continue };
        let Some(launch) = silent(record) else { continue };
        let age = now.since(&launch.at);
        seen.silence = match &launch.refused {
            Some(words) => Some(Silence::Refused(words.clone())),
            None if age < PATIENCE || !speaks_first(kind, launch) => None,
            None => Some(match screens.dialog(kind, pane) {
                Some(dialog) => Silence::Asks(dialog.clone()),
                None if age < TRIPWIRE => Silence::Starting(age),
                None => mute(kind, desired.sessions.get(&record.name)),
            }),
        };
        if matches!(seen.silence, Some(Silence::Asks(_))) {
            seen.activity = Activity::NeedsInput;
        }
    }
}

/// The latest launch, when its agent runs with its hook and no report of a conversation has counted.
fn silent(record: &Record) -> Option<&Launch> {
    let launch = record.launch().filter(|launch| launch.phase == Phase::Running && launch.ended.is_none())?;
    let reported = record.identity.as_ref().is_some_and(|identity| identity.generation == launch.generation);
    (launch.hook == HookState::Given && !reported).then_some(launch)
}

/// Whether the agent of this launch reports without being prompted by hand.
fn speaks_first(kind: &Kind, launch: &Launch) -> bool {
    kind.reports.as_ref().is_some_and(Reports::at_start) || launch.prompt.is_some()
}

/// The screens of one look.
struct Screens<'a> {
    host: &'a dyn Host,
    /// Servers that did not answer: none is waited for twice.
    dumb: Vec<Socket>,
}

impl Screens<'_> {
    /// The dialog that the pane shows, if any: all of its texts are on the screen.
    fn dialog<'k>(&mut self, kind: &'k Kind, pane: &PaneSeen) -> Option<&'k Name> {
        if kind.dialogs.is_empty() || self.dumb.contains(&pane.socket) {
            return None;
        }
        let Ok(screen) = self.host.capture(&pane.socket, &pane.pane, LINES) else {
            self.dumb.push(pane.socket.clone());
            return None;
        };
        let shown = |texts: &[String]| texts.iter().all(|text| screen.contains(text));
        kind.dialogs.iter().find(|(_, texts)| shown(texts)).map(|(name, _)| name)
    }
}

/// The likely cause of a silence, by the command.
fn mute(kind: &Kind, session: Option<&Session>) -> Silence {
    let words: Vec<&str> = session.into_iter().flat_map(|it| &it.invocation).map(String::as_str).collect();
    let program = words.first().copied().unwrap_or_default();
    Silence::Mute(if program.is_empty() || kind.is_program(program) {
        "the agent asks something before it starts, or its hooks are switched off".to_owned()
    } else if words.get(1) == Some(&"-c") {
        format!("arguments behind `{program} -c …` go to that shell, not to the agent (pass on \"$@\")")
    } else {
        format!("`{program}` may not pass its arguments on to the agent")
    })
}
