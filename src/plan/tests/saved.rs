//! Saved plans: what makes one out of date, and what does not.

use crate::host::process::ProcessKey;
use crate::observe::observed::{Activity, AgentSeen, Evidence, PaneSeen};
use crate::plan::basis::{Basis, Saved, basis, check};
use crate::state::record::EndedHow;

use super::world::{NOW, World};

fn world() -> World {
    let mut world = World::new();
    world.running("api", "claude").running("web", "claude").want("new", "codex");
    world.wanted("web").choices.model = Some("opus".to_owned());
    world
}

/// What the plan saved in `world()` is refused for after `change`; empty when it is carried out.
fn refused(change: impl Fn(&mut World)) -> Vec<String> {
    let mut world = world();
    let plan = world.plan();
    let saved = basis(&world.inputs(), &plan);
    change(&mut world);
    check(&saved, &basis(&world.inputs(), &plan)).err().map(|stale| stale.moved).unwrap_or_default()
}

#[test]
fn nothing_moved_nothing_refused() {
    assert_eq!(refused(|_| {}), [""; 0]);
}

#[test]
fn facts_that_change_by_themselves_do_not_count() {
    assert_eq!(
        refused(|world| {
            world.seen("api").activity = Activity::Working;
            world.seen("api").memory += 1;
            world.seen("api").processes += 1;
            if let AgentSeen::Alive(PaneSeen { clients, .. }) = &mut world.seen("web").agent {
                *clients = 3;
            }
        }),
        [""; 0]
    );
}

#[test]
fn a_session_that_is_to_be_restarted_and_began_a_turn_moved() {
    assert_eq!(refused(|world| world.seen("web").activity = Activity::Working), ["`web` (observed)"]);
}

#[test]
fn every_input_that_moved_is_named() {
    assert_eq!(refused(|world| world.wanted("api").title = Some("x".into())), ["`api` (desired)"]);
    assert_eq!(refused(|world| _ = world.ended("api", EndedHow::Killed(9))), ["`api` (observed, recorded)"]);
    assert_eq!(refused(|world| world.seen("api").conversation = Evidence::None), ["`api` (observed)"]);
    assert_eq!(refused(|world| world.record("api").protect = true), ["`api` (recorded)"]);
    assert_eq!(refused(|world| _ = world.unwant("new")), ["`new` (gone)"]);
    assert_eq!(refused(|world| _ = world.want("other", "codex")), ["`other` (new)"]);
    assert_eq!(refused(|world| world.desired.sources.clear()), ["the fleet's files"]);
    assert_eq!(refused(|world| world.desired.policy.max_reap = 9), ["the fleet's policy, record or tmux server"]);
    assert_eq!(
        refused(|world| {
            if let AgentSeen::Alive(pane) = &mut world.seen("api").agent {
                pane.process = ProcessKey { pid: 1, start: 1 };
            }
        }),
        ["`api` (observed)"]
    );
}

#[test]
fn a_hold_that_ended_meanwhile_moved() {
    let mut world = world();
    world.hold("api", crate::state::record::HoldKind::Paused).until_ms = Some(NOW.wall_ms + 10);
    let plan = world.plan();
    let saved = basis(&world.inputs(), &plan);
    let mut later = world.inputs();
    later.now.wall_ms += 10;
    let stale = check(&saved, &basis(&later, &plan)).unwrap_err();
    assert_eq!(
        stale.to_string(),
        "the plan is out of date: `api` (recorded); make a new one with `farhelm plan --out`"
    );
}

#[test]
fn a_saved_plan_reads_back_as_it_was() {
    let world = world();
    let plan = world.plan();
    let saved = Saved { basis: basis(&world.inputs(), &plan), plan };
    let text = serde_json::to_string(&saved).unwrap();
    assert_eq!(serde_json::from_str::<Saved>(&text).unwrap(), saved);
    assert_ne!(saved.basis, Basis::default());
}
