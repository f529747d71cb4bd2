//! After the faults stop: a bounded number of runs leads to rest, and at rest the world is as the files say.

use std::collections::BTreeSet;

use farhelm::config::desired::{Desired, Session};
use farhelm::host::sim::{Faults, What, World};
use farhelm::plan::action::{Action, Item};
use farhelm::plan::reason::Reason;
use farhelm::plan::{Plan, Request, Trigger};
use farhelm::reconcile::pass::Reconciler;
use farhelm::state::record::HoldKind;

use crate::apply::{Applied, setup, socket};
use crate::asking::Place;
use crate::fleet::dirs;
use crate::invariants::Run;
use crate::memory;
use crate::schedule::Schedule;

/// Runs within which a quiet world must come to rest.
const BOUND: usize = 4;

/// Quiet, then rest, then nothing more to do; at last sometimes `down`.
pub fn come_to_rest(schedule: &mut Schedule) {
    quiet(&schedule.world);
    schedule.settle();
    if schedule.history.forgetful {
        // Where only a stamp is left, a conversation is taken to be there.
        schedule.world.mend_talks();
    }
    // What was started before ends within this time, if it ends by itself at all.
    schedule.world.advance(150_000);
    let request = Request { take_over: true, now: true, ..Request::default() };
    let mut plan = None;
    for _ in 0..BOUND {
        schedule.world.advance(40_000);
        plan = finish(schedule, &request);
        if plan.as_ref().is_some_and(at_rest) {
            break;
        }
    }
    let Some(plan) = plan.filter(at_rest) else {
        return schedule.world.violated(format!("no rest after {BOUND} quiet runs"));
    };
    // A tmux server that lost its last pane ends a moment later, and that is noted.
    finish(schedule, &request);
    check_plan(schedule, &plan);
    check_world(schedule, &plan);
    check_still(schedule, &request);
    check_asked(schedule, &request);
    if schedule.random.chance(300) {
        check_down(schedule);
    }
}

/// The trouble stops.
pub fn quiet(world: &World) {
    world.remark("the trouble stops");
    world.set_faults(Faults { programs_last: true, ..Faults::none() });
    // Users close what is theirs, and what a session that was reaped out of reach left on a server without a socket.
    world.tidy_panes(&memory::ids(world, "sessions"));
    // What the plan tells an operator to do: end the server that took the place, and bring back the other.
    world.restore_socket(&socket());
    while world.servers_on(&socket()) > 1 && world.kill_server(&socket()) {
        world.restore_socket(&socket());
    }
    dirs().iter().for_each(|dir| world.make_user_dir(dir));
}

fn finish(schedule: &mut Schedule, request: &Request) -> Option<Plan> {
    schedule.start(request, 0);
    match schedule.run(request, None, false) {
        Applied::Finished(plan) => Some(*plan),
        Applied::Refused(words) => {
            schedule.world.violated(format!("a quiet run was refused: {words}"));
            None
        }
        Applied::Killed | Applied::Panicked(_) => None,
    }
}

fn at_rest(plan: &Plan) -> bool {
    !plan.items.iter().any(|item| item.action.effective())
}

fn check_plan(schedule: &Schedule, plan: &Plan) {
    let whole = memory::whole(&schedule.world, &schedule.desired);
    for item in &plan.items {
        let fine = match &item.action {
            Action::Unchanged => true,
            // A program that hides its environment proves nothing once its launch files are lost.
            Action::Waiting(_) => match item.reasons.first() {
                Some(Reason::Launching { .. }) => schedule.history.forgetful && item.reasons.len() == 1,
                // Others are down until an operator decides.
                Some(Reason::MaxUnavailable { .. }) => {
                    plan.items.iter().any(|i| matches!(i.action, Action::Blocked(_)))
                }
                _ => false,
            },
            Action::Blocked(_) => item.reasons.first().is_some_and(|reason| {
                // An agent that was out of reach when the records were lost may have been started a second time.
                may_block(reason) || schedule.history.forgetful && matches!(reason, Reason::Several { .. })
            }),
            _ => false,
        };
        if !fine {
            let words = format!("{} is left {:?}: {:?}", item.session, item.action, item.reasons);
            schedule.world.violated(format!("a quiet world does not come to rest: {words}"));
        }
        check_session(&schedule.world, &whole, item);
    }
    if let Some(asking) = &schedule.asking {
        asking.family.check_rest(&schedule.world, &schedule.desired, plan);
    }
}

/// What an operator has to decide, and no quiet run can.
fn may_block(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Protected
            | Reason::Paused { .. }
            | Reason::Conversation { .. }
            | Reason::MaybeMoved { .. }
            | Reason::LaunchStuck { .. }
            | Reason::Dir { .. }
    )
}

/// An unchanged session is as its block says.
pub fn check_session(world: &World, desired: &Desired, item: &Item) {
    let (Action::Unchanged, Some(id), Some(session)) = (&item.action, item.id, desired.sessions.get(&item.session))
    else {
        return;
    };
    let over = |reason: &Reason| matches!(reason, Reason::Completed | Reason::NotRestarted { .. });
    let over = item.reasons.iter().any(over);
    let agents = world.agents(&id.to_string());
    let expected = usize::from(is_wanted(world, session) && !over);
    if agents.len() != expected {
        let words = format!("{} is at rest with {} agents, not {expected} ({item:?})", item.session, agents.len());
        world.violated(words);
    }
}

fn is_wanted(world: &World, session: &Session) -> bool {
    let records = memory::records(world);
    let now = world.moment().wall_ms;
    let hold = records.values().find(|record| record.name == session.name).and_then(|record| record.hold.clone());
    let hold = hold.filter(|hold| hold.until_ms.is_none_or(|until| until > now));
    match hold.map(|hold| hold.what) {
        Some(HoldKind::Stopped) => false,
        Some(HoldKind::Started) => true,
        _ => session.running,
    }
}

/// Nothing is left of what is no longer wanted, and nothing is frozen.
fn check_world(schedule: &Schedule, plan: &Plan) {
    let world = &schedule.world;
    let blocked = plan.items.iter().filter(|item| matches!(item.action, Action::Blocked(_)));
    let blocked: BTreeSet<String> = blocked.filter_map(|item| Some(item.id?.to_string())).collect();
    let request = Request::default();
    let run = Run { world, desired: &schedule.desired, request: &request };
    let records = memory::records(world);
    let mut ids: Vec<String> = world.runs().into_iter().map(|run| run.origin.session).collect();
    ids.sort();
    ids.dedup();
    // Where the record was lost, the plan lists what is blocked by its stamp; what has no terminal either is a stray.
    for id in ids
        .into_iter()
        .filter(|id| !records.contains_key(id) && !blocked.contains(id) && !schedule.history.lost.contains(id))
    {
        for left in run.left_of(&id) {
            world.violated(format!("{left} is left of {id}, which has no record"));
        }
    }
    // A farhelm that was killed between STOP and KILL leaves them to the next plan, which does nothing to what is paused.
    for (key, origin) in world.frozen() {
        let paused = records.get(&origin.session).and_then(|record| record.hold.as_ref());
        let paused = paused.is_some_and(|hold| hold.what == HoldKind::Paused);
        if !paused && !schedule.history.forgetful {
            world.violated(format!("{key} of {origin} was left stopped"));
        }
    }
}

/// A further run changes nothing.
fn check_still(schedule: &mut Schedule, request: &Request) {
    let from = schedule.world.review(usize::MAX, |_| {});
    schedule.world.advance(1_000);
    finish(schedule, request);
    for words in changes_since(&schedule.world, from) {
        schedule.world.violated(words);
    }
}

/// In a quiet world a request with which nothing is wrong is granted, and what it gives is there and stays.
fn check_asked(schedule: &mut Schedule, request: &Request) {
    let Schedule { world, history, desired: files, asking: Some(asking), .. } = schedule else { return };
    if !asking.ask_well(&mut Place { world, history, files, blind: false, sound: true }, None) {
        return;
    }
    let mut plan = None;
    for _ in 0..BOUND {
        schedule.world.advance(40_000);
        plan = finish(schedule, request);
        if plan.as_ref().is_some_and(at_rest) {
            break;
        }
    }
    match plan.filter(at_rest) {
        Some(plan) => check_plan(schedule, &plan),
        None => schedule.world.violated("no rest after a request in a quiet world"),
    }
}

/// What farhelm changed since `from`.
pub fn changes_since(world: &World, from: usize) -> Vec<String> {
    let mut changed = Vec::new();
    world.review(from, |event| {
        let changes = match &event.what {
            What::Opened { .. } | What::Closed { .. } | What::Signalled { .. } | What::Stamped { .. } => true,
            What::File { verb, path } => *verb != "make directory" && path.ends_with(".json"),
            _ => false,
        };
        if event.effect > 0 && changes {
            changed.push(format!("a run with nothing to do did this: {event}"));
        }
    });
    changed
}

/// The plan of a world as it is.
pub fn plan(world: &World, desired: &Desired, request: &Request) -> Option<Plan> {
    let setup = setup("plan", true, None);
    let reconciler = Reconciler::new(world, &setup).ok()?;
    let situation = reconciler.look(desired).ok()?;
    Some(reconciler.plan(&situation, request))
}

/// `down` leaves nothing but what is protected or paused.
fn check_down(schedule: &mut Schedule) {
    let request = Request { trigger: Trigger::Down, ..Request::default() };
    let mut plan = None;
    for _ in 0..2 {
        plan = finish(schedule, &request);
        // What cannot be ended at once can be in a while.
        schedule.world.advance(20_000);
    }
    let kept = memory::records(&schedule.world);
    for (id, record) in &kept {
        let paused = record.hold.as_ref().is_some_and(|hold| hold.what == HoldKind::Paused);
        if !record.protect && !paused && !schedule.history.forgetful {
            schedule.world.violated(format!("`down` left {} ({id})", record.name));
        }
    }
    if let Some(plan) = plan {
        check_world(schedule, &plan);
    }
}
