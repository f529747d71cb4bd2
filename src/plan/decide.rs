//! The truth table: from one session's three inputs to what is to be done about it.

use std::time::Duration;

use crate::config::desired::{Session, UpdateWhen};
use crate::observe::observed::{Activity, DirSeen};
use crate::state::fields::Field;
use crate::state::record::TOMBSTONE_DAYS;

use super::action::{Action, ConversationFate, Cost, Item};
use super::aim::{self, Aim};
use super::conversation::{self, Start};
use super::counters::Counters;
use super::ended::{self, Pace};
use super::reason::Reason;
use super::subject::{self, Life, Subject};
use super::verdict::{Case, Verdict, item};
use super::{Header, Inputs, PLAN_VERSION, Plan, Trigger, caps, changes, sources, tabs};

/// A launch whose shell has not reached it after this time is stuck.
pub const LAUNCH_STUCK: Duration = Duration::from_secs(30);

/// The plan of `inputs`. Pure: the same inputs give the same plan.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    let subjects = subject::all(inputs);
    let others = sources::others(inputs, &subjects);
    let (selected, rest): (Vec<_>, Vec<_>) =
        subjects.into_iter().partition(|subject| inputs.request.selection.selects(subject.name, subject.want));
    let mut cases: Vec<Case<'_>> = selected
        .into_iter()
        .map(|subject| Case { verdict: verdict(&subject, inputs, others.as_ref()), subject })
        .collect();
    caps::apply(&mut cases, &rest, inputs);
    let items: Vec<Item> = cases.into_iter().flat_map(|case| items(case, inputs, others.as_ref())).collect();
    let desired = inputs.desired;
    let header = Header {
        fleet: desired.fleet.clone(),
        sources: desired.sources.clone(),
        sources_stand: others.is_none(),
        revision: inputs.revision.clone(),
        sessions: desired.sessions.len(),
        socket: inputs.observed.socket.clone(),
        from_environment: desired.from_environment.clone(),
        at: inputs.now,
    };
    Plan { version: PLAN_VERSION, header, counters: Counters::of(&items), items }
}

/// What is to be done about one session, and what stands in the way.
fn verdict(subject: &Subject<'_>, inputs: &Inputs<'_>, others: Option<&Reason>) -> Verdict {
    if let Some(words) = subject.unknown(inputs) {
        return Verdict::unknown(words);
    }
    let mut verdict = match (aim::aim(subject, inputs), subject.want) {
        (Aim::Remove(why), _) => removed(subject, inputs, why),
        (Aim::Stop(why), _) => stopped(subject, why),
        (Aim::Run, Some(want)) => running(subject, want, inputs),
        (Aim::Run, None) => Verdict::of(Action::Unchanged, Vec::new()),
    };
    if verdict.cost.destructive {
        verdict.obstacles.extend(others.cloned());
    }
    let ends = match verdict.action {
        Action::Restart(_) => subject.runs(),
        _ => matches!(verdict.action, Action::Stop | Action::Reap),
    };
    if ends && subject.memory.as_ref().is_some_and(|memory| Some(memory.id) == inputs.inside) {
        verdict.obstacles.push(Reason::Inside);
    }
    conflicts(subject, inputs, verdict)
}

/// What keeps farhelm's hands off a session altogether: somebody else's pane, two of it, or an operator's pause.
fn conflicts(subject: &Subject<'_>, inputs: &Inputs<'_>, mut verdict: Verdict) -> Verdict {
    let mut first = Vec::new();
    if let Some(pane) = subject.foreign.first() {
        first.push(Reason::OtherOwner { owner: pane.owner.clone(), pane: pane.pane.to_string() });
    }
    if let Some(what) = subject.several() {
        first.push(Reason::Several { what });
    }
    if let Some(pause) = aim::paused(subject, inputs) {
        if verdict.action == Action::Unchanged {
            verdict.why.insert(0, pause);
            verdict.frozen = true;
        } else {
            first.push(pause);
        }
    }
    verdict.frozen |= !first.is_empty();
    first.append(&mut verdict.obstacles);
    Verdict { obstacles: first, ..verdict }
}

/// A session that is in the files no more, or whose fleet goes down.
fn removed(subject: &Subject<'_>, inputs: &Inputs<'_>, why: Reason) -> Verdict {
    let Some(memory) = &subject.memory else { return Verdict::of(Action::Unchanged, vec![why]) };
    let policy = &inputs.desired.policy;
    let (prune, patient) = match inputs.request.trigger {
        Trigger::Apply => (policy.prune, false),
        Trigger::Watch => (policy.watch_prune, true),
        Trigger::Down => (true, false),
    };
    let mut verdict = Verdict::of(Action::Reap, vec![why]);
    if memory.record.is_none() {
        verdict.why.push(Reason::NoRecord);
    }
    let lasts = memory.conversation.is_some();
    verdict.cost = Cost {
        processes: subject.seen.map_or(0, |seen| seen.processes),
        memory: subject.seen.map_or(0, |seen| seen.memory),
        restorable_until_ms: lasts.then(|| inputs.now.wall_ms.saturating_add(TOMBSTONE_DAYS * 86_400_000)),
        destructive: true,
        ..ending(subject)
    };
    verdict.obstacles.extend(subject.protected().then_some(Reason::Protected));
    verdict.obstacles.extend((!prune).then_some(Reason::NoPrune));
    verdict.waits.extend(busy(subject).filter(|_| patient && subject.runs()));
    verdict
}

/// A session that is not to run.
fn stopped(subject: &Subject<'_>, why: Reason) -> Verdict {
    let leftovers = subject.memory.is_some() && subject.seen.is_some_and(|seen| !seen.leftovers.is_empty());
    let action = if subject.runs() || leftovers { Action::Stop } else { Action::Unchanged };
    Verdict { cost: ending(subject), ..Verdict::of(action, vec![why]) }
}

/// A session that is to run.
fn running(subject: &Subject<'_>, want: &Session, inputs: &Inputs<'_>) -> Verdict {
    let changed = subject.memory.as_ref().map(|memory| changes::changed(want, memory)).unwrap_or_default();
    let leftovers = subject.memory.as_ref().and(subject.seen).map_or(0, |seen| seen.leftovers.len());
    let remains = || (leftovers > 0).then_some(Reason::Leftovers { processes: leftovers });
    let asked = subject.again.then_some(Reason::Asked);
    match subject.life() {
        Life::Several => Verdict::of(Action::Unchanged, Vec::new()),
        Life::Alive(_) => {
            let why: Vec<Reason> = asked.into_iter().chain(changed.iter().cloned()).collect();
            if why.is_empty() {
                return Verdict::of(Action::Unchanged, why);
            }
            let waits = gates(subject, want, inputs);
            Verdict { waits, ..restart(subject, want, inputs, &changed, why, true) }
        }
        Life::Launching(_, since) => launching(subject, want, inputs, &changed, since),
        Life::Never => {
            let why: Vec<Reason> = remains().into_iter().chain(asked).collect();
            match leftovers {
                0 => launch(subject, want, inputs, &changed, [vec![Reason::NotRunning], why].concat()),
                _ => restart(subject, want, inputs, &changed, why, false),
            }
        }
        Life::Ended(end) => {
            let told = subject.again || subject.start || !changed.is_empty();
            let lost = leftovers > 0 && end.how == crate::state::record::EndedHow::Lost;
            if let Some(rest) = ended::rest(want, &end).filter(|_| !told && !lost) {
                return Verdict::of(Action::Unchanged, vec![rest]);
            }
            let mut why: Vec<Reason> = remains().into_iter().chain(asked).collect();
            why.push(ended::cause(&end, inputs.now));
            why.extend(changed.iter().cloned());
            let mut verdict = match leftovers {
                0 => launch(subject, want, inputs, &changed, why),
                _ => restart(subject, want, inputs, &changed, why, false),
            };
            // A change is a new attempt: what failed before says nothing of it.
            match ended::pace(subject, want, inputs, &end) {
                _ if !changed.is_empty() => {}
                Pace::Now => {}
                Pace::Later(wait) => verdict.waits.push(wait),
                Pace::Never(obstacle) => verdict.obstacles.push(obstacle),
            }
            verdict
        }
    }
}

/// A launch that is under way: nothing, until it is proven, or stuck.
fn launching(
    subject: &Subject<'_>,
    want: &Session,
    inputs: &Inputs<'_>,
    changed: &[Reason],
    since: Duration,
) -> Verdict {
    if since <= LAUNCH_STUCK {
        let mut verdict = launch(subject, want, inputs, changed, Vec::new());
        verdict.waits.push(Reason::Launching { since });
        verdict.obstacles.clear();
        return verdict;
    }
    let why = subject.again.then_some(Reason::Asked).into_iter().collect();
    let mut verdict = restart(subject, want, inputs, changed, why, false);
    if !subject.again {
        verdict.obstacles.insert(0, Reason::LaunchStuck { since });
    }
    verdict
}

fn launch(
    subject: &Subject<'_>,
    want: &Session,
    inputs: &Inputs<'_>,
    changed: &[Reason],
    mut why: Vec<Reason>,
) -> Verdict {
    let start = conversation::start(subject, want, inputs, changed, false);
    if start.restored {
        why = vec![Reason::Restored];
    }
    begin(subject, want, inputs, start, Action::Launch, why)
}

/// Ends what is alive and starts it again. `live`: an agent ends, and with it what only it knows.
fn restart(
    subject: &Subject<'_>,
    want: &Session,
    inputs: &Inputs<'_>,
    changed: &[Reason],
    why: Vec<Reason>,
    live: bool,
) -> Verdict {
    let start = conversation::start(subject, want, inputs, changed, live);
    let fresh = !matches!(start.mode, super::action::Mode::Resume { .. });
    let mut verdict = begin(subject, want, inputs, start, Action::Restart, why);
    let ending = ending(subject);
    verdict.cost = Cost { turn_lost: ending.turn_lost, clients: ending.clients, ..verdict.cost };
    if fresh && subject.protected() && !verdict.obstacles.contains(&Reason::Protected) {
        verdict.obstacles.insert(0, Reason::Protected);
    }
    verdict
}

fn begin(
    subject: &Subject<'_>,
    want: &Session,
    inputs: &Inputs<'_>,
    start: Start,
    action: impl Fn(super::action::Mode) -> Action,
    why: Vec<Reason>,
) -> Verdict {
    let mut verdict = Verdict::of(action(start.mode), why);
    verdict.obstacles.extend(dir(subject, want, inputs));
    verdict.obstacles.extend(start.obstacle);
    if inputs.request.trigger == Trigger::Watch && inputs.recorded.fleet.down {
        verdict.obstacles.push(Reason::FleetDown);
    }
    verdict.cost.destructive = matches!(start.fate, ConversationFate::Lost(_));
    verdict.cost.conversation = start.fate;
    verdict
}

/// Why its directory keeps it from being launched.
fn dir(subject: &Subject<'_>, want: &Session, inputs: &Inputs<'_>) -> Option<Reason> {
    let spelling = &want.dir.spelling;
    let words = match subject.dir {
        None => format!("directory {spelling} was not looked at"),
        Some(DirSeen::Unknown(words)) => format!("directory {spelling} could not be looked at: {words}"),
        Some(DirSeen::Missing(words)) => format!("directory {spelling}: {words}"),
        Some(DirSeen::Present(now)) => {
            let memory = subject.memory.as_ref()?;
            let was = memory.canonical?;
            let respelt = memory.record.map(|record| &record.dir.spelling != spelling);
            let respelt = respelt.unwrap_or_else(|| changes::differs(&changes::changed(want, memory), &Field::Dir));
            let accepted = subject.again && inputs.request.accept_dir;
            if respelt || accepted || was == now {
                return None;
            }
            format!(
                "directory {spelling} was {} and is {} now (farhelm restart --accept-dir {})",
                was.display(),
                now.display(),
                subject.name
            )
        }
    };
    Some(Reason::Dir { words })
}

/// What ending its agent now would cut off.
fn ending(subject: &Subject<'_>) -> Cost {
    match subject.life() {
        Life::Alive(pane) | Life::Launching(pane, _) => {
            Cost { turn_lost: busy(subject).is_some(), clients: pane.clients, ..Cost::default() }
        }
        _ => Cost::default(),
    }
}

/// The turn it is in, by its reports.
fn busy(subject: &Subject<'_>) -> Option<Reason> {
    match subject.seen?.activity {
        Activity::Working => Some(Reason::Working),
        Activity::NeedsInput => Some(Reason::NeedsInput),
        Activity::Idle | Activity::Unknown => None,
    }
}

/// Why a restart of a running agent has to wait. An operator who names it needs no sign of idleness, only none of work.
fn gates(subject: &Subject<'_>, want: &Session, inputs: &Inputs<'_>) -> Vec<Reason> {
    let unknown = || subject.seen.is_some_and(|seen| seen.activity == Activity::Unknown);
    let gate = match want.update {
        UpdateWhen::Manual if !subject.again => Some(Reason::ManualUpdate),
        UpdateWhen::Now => None,
        _ if inputs.request.now => None,
        UpdateWhen::Idle if unknown() && !subject.again => Some(Reason::ActivityUnknown),
        UpdateWhen::Idle | UpdateWhen::Manual => busy(subject),
    };
    gate.into_iter().collect()
}

/// The lines of one session, in the order in which they are carried out.
fn items(case: Case<'_>, inputs: &Inputs<'_>, others: Option<&Reason>) -> Vec<Item> {
    let notes = notes(&case.subject, inputs);
    let mut items = Vec::new();
    if !case.verdict.frozen && case.subject.want.is_some() && inputs.request.trigger != Trigger::Down {
        items = beside(&case, inputs, others);
    }
    let main = item(&case.subject, case.verdict);
    if main.action != Action::Unchanged || items.is_empty() {
        // After the record is there and has its name, before what changes in place and the tabs.
        let before = items.iter().filter(|item| matches!(item.action, Action::Move { .. } | Action::Adopt)).count();
        items.insert(before, main);
        items[before].notes = notes;
    } else if let Some(last) = items.last_mut() {
        last.notes = notes;
    }
    items
}

/// What is done beside the main action: move, adopt, adjust, tabs.
fn beside(case: &Case<'_>, inputs: &Inputs<'_>, others: Option<&Reason>) -> Vec<Item> {
    let subject = &case.subject;
    let mut items = Vec::new();
    let mut add = |action, why| items.push(item(subject, Verdict::of(action, why)));
    if let Some(memory) = &subject.memory {
        let renamed = (memory.name != subject.name).then(|| Reason::Moved { from: memory.name.clone() });
        let fleet = inputs.desired.fleet.as_ref().filter(|fleet| *fleet != memory.fleet);
        let refleeted = fleet.map(|_| Reason::FleetMoved { from: memory.fleet.clone() });
        let moved: Vec<Reason> = renamed.into_iter().chain(refleeted).collect();
        if memory.record.is_none() {
            add(Action::Adopt, vec![Reason::NoRecord]);
        }
        if !moved.is_empty() {
            add(Action::Move { from: memory.name.clone() }, moved);
        }
    }
    let adjusted = changes::adjusted(subject, &inputs.desired.sources, others.is_none());
    if !adjusted.is_empty() {
        add(Action::Adjust, adjusted);
    }
    items.extend(tabs::items(case, inputs, others));
    items
}

/// Remarks that change nothing.
fn notes(subject: &Subject<'_>, inputs: &Inputs<'_>) -> Vec<String> {
    use crate::observe::observed::Evidence;
    let mut notes = Vec::new();
    if let (Some(want), Some(memory), Life::Alive(_)) = (subject.want, &subject.memory, subject.life()) {
        notes.extend(conversation::prompt_note(want, memory));
        if memory.fields.is_none() {
            notes.push(
                "launched by another version of farhelm: changes since are seen after its next launch".to_owned(),
            );
        }
    }
    if let (Some(_), Some(Evidence::TakenBy(other))) = (&subject.memory, subject.seen.map(|seen| &seen.conversation)) {
        notes.push(format!("conversation taken by {other}"));
    }
    for agent in inputs.observed.unmanaged.get(subject.name).into_iter().flatten() {
        notes.push(format!("unmanaged agent in its directory: {agent}"));
    }
    notes
}
