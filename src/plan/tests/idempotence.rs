//! A plan that was carried out leaves nothing to do: a model of the executor does what each line says.

use proptest::prelude::*;

use crate::observe::observed::{Activity, AgentSeen, DirSeen, Evidence, PaneSeen, Seen, TabSeen};
use crate::plan::action::{Action, Item, Mode};
use crate::plan::reason::Reason;
use crate::plan::{Plan, Request, Trigger, tabs};
use crate::spec::name::Name;
use crate::state::record::{Ended, EndedHow, Hold, HoldKind, Record, SessionId, TabRecord, Tombstone};

use super::random::worlds;
use super::world::{NOW, World, absent, ago, evidence, id, record};

/// Does what `plan` says, perfectly.
fn carried_out(mut world: World, plan: &Plan) -> World {
    for item in &plan.items {
        carry_out(&mut world, item, plan.header.sources_stand);
    }
    if plan.header.sources_stand {
        world.recorded.fleet.sources = world.desired.sources.clone();
    }
    world.recorded.fleet.down = world.request.trigger == Trigger::Down
        || (world.recorded.fleet.down && world.request.trigger == Trigger::Watch);
    world
}

fn carry_out(world: &mut World, item: &Item, stand: bool) {
    match &item.action {
        Action::Launch(mode) | Action::Restart(mode) => launched(world, item, mode, stand),
        Action::Stop => {
            let how = Ended { how: EndedHow::Stopped, at_ms: Some(ago(0)) };
            let record = recorded(world, item);
            record.launches.last_mut().unwrap().ended = Some(how.clone());
            let seen = world.observed.sessions.get_mut(&item.id.unwrap()).unwrap();
            seen.agent = AgentSeen::Ended { pane: None, how };
            seen.leftovers.clear();
        }
        Action::Reap => {
            let id = item.id.unwrap();
            let record = world.recorded.records.remove(&item.session).unwrap_or_else(|| adopted(world, id));
            let conversation = world.observed.sessions[&id].conversation.clone();
            world.observed.sessions.insert(id, Seen { conversation, ..absent() });
            world.recorded.tombstones.insert(item.session.clone(), Tombstone { reaped_ms: NOW.wall_ms, record });
        }
        Action::Adopt => {
            let record = adopted(world, item.id.unwrap());
            world.recorded.records.insert(record.name.clone(), record);
        }
        Action::Move { from } => {
            let mut record = world.recorded.records.remove(from).unwrap();
            record.name = item.session.clone();
            record.fleet = world.desired.fleet.clone().unwrap();
            world.recorded.records.insert(item.session.clone(), record);
        }
        Action::Adjust => {
            let (want, sources) = (world.desired.sessions[&item.session].clone(), world.desired.sources.clone());
            let record = recorded(world, item);
            for reason in &item.reasons {
                match reason {
                    Reason::Adjusted { field } if field == "title" => record.title = want.title.clone(),
                    Reason::Adjusted { field } if field == "protect" => record.protect = want.protect,
                    Reason::Adjusted { field } if field == "sources" => record.sources = sources.clone(),
                    other => panic!("{other:?}"),
                }
            }
        }
        Action::OpenTab(tab) => {
            let salt = recorded(world, item).salt.clone();
            let definition = tabs::definition(&world.desired.sessions[&item.session].tabs[tab], &salt);
            let (tab_id, pane) = (id(tab.as_str()), crate::host::tmux::PaneId("%91".to_owned()));
            let opened = TabRecord {
                id: tab_id,
                definition,
                pane: None,
                process: None,
                boot: None,
                socket: None,
                scoped: false,
            };
            let record = recorded(world, item);
            record.tabs.insert(tab.clone(), opened);
            let id = record.id;
            let seen = world.observed.sessions.get_mut(&id).unwrap();
            seen.tabs.insert(tab.clone(), TabSeen::Open { id: crate::state::tests::id(90), pane, process: None });
        }
        Action::CloseTab(tab) => {
            recorded(world, item).tabs.remove(tab);
            world.observed.sessions.get_mut(&item.id.unwrap()).unwrap().tabs.remove(tab);
        }
        Action::Unchanged | Action::Waiting(_) | Action::Blocked(_) | Action::Unknown => {}
    }
}

fn recorded<'a>(world: &'a mut World, item: &Item) -> &'a mut Record {
    world.recorded.records.get_mut(&item.session).unwrap()
}

/// The record that its stamp gives, completed from the files.
fn adopted(world: &World, id: SessionId) -> Record {
    let seen = &world.observed.sessions[&id];
    let Some(stamp) = seen.stamp.clone() else { panic!("no stamp of {id}") };
    let fallback = super::world::session(stamp.session.as_str(), "claude");
    let want = world.desired.sessions.get(&stamp.session).unwrap_or(&fallback);
    let mut record = record(want);
    record.dir.canonical = stamp.dir.unwrap();
    record.protect = stamp.protect;
    record.fields = stamp.fields;
    record.salt = stamp.salt;
    record.conversation = record.conversation.filter(|_| stamp.conversation.is_some());
    record.prompt_delivered = want.prompt.as_ref().map(|prompt| crate::plan::prompt_hash(&record.salt, prompt));
    record.sources = stamp.sources;
    if let AgentSeen::Ended { how, .. } = &seen.agent {
        record.launches[0].ended = Some(how.clone());
    }
    record
}

fn launched(world: &mut World, item: &Item, mode: &Mode, stand: bool) {
    let want = world.desired.sessions[&item.session].clone();
    let before = world.recorded.records.remove(&item.session);
    let restored = item.reasons.contains(&Reason::Restored);
    let grave = if restored { world.recorded.tombstones.remove(&item.session) } else { None };
    let mut after = record(&want);
    after.id = item.id.unwrap_or_else(|| id(&format!("new {}", item.session)));
    if let Some(DirSeen::Present(dir)) = world.observed.dirs.get(&item.session) {
        after.dir.canonical = dir.clone();
    }
    let old = before.or(grave.map(|grave| grave.record));
    if let Some(old) = &old {
        after.prompt_delivered = old.prompt_delivered.clone();
        after.tabs = old.tabs.clone();
        // What an operator decided about a buried session ended with it.
        after.hold = old.hold.clone().filter(|_| !restored);
        after.protect |= old.protect && !restored;
        if mode.resumes() || matches!(mode, Mode::SameId { .. }) {
            after.conversation = old.conversation.clone();
        }
    }
    if let Mode::Fresh { prompt: true } | Mode::SameId { prompt: true, .. } = mode {
        after.prompt_delivered = want.prompt.as_ref().map(|prompt| crate::plan::prompt_hash(&after.salt, prompt));
    }
    after.sources = if stand { world.desired.sources.clone() } else { world.recorded.fleet.sources.clone() };
    let mut seen = world.observed.sessions.get(&after.id).cloned().unwrap_or_else(absent);
    let pane = PaneSeen { generation: 2, ..world.pane("x") };
    seen.agent = AgentSeen::Alive(pane);
    seen.leftovers.clear();
    seen.activity = Activity::Idle;
    seen.conversation = match mode {
        Mode::Fresh { .. } => evidence(want.name.as_str(), want.kind.as_str()),
        Mode::SameId { .. } => Evidence::NeverPrompted,
        _ => seen.conversation,
    };
    world.observed.sessions.insert(after.id, seen);
    world.recorded.records.insert(item.session.clone(), after);
}

/// The world after `plan`, and what is still asked: what was held back. For the rest the verb recorded the decision.
fn after(world: World, plan: &Plan) -> World {
    let mut world = carried_out(world, plan);
    let starts = |item: &Item| matches!(item.action, Action::Launch(_) | Action::Restart(_));
    let done = |name: &Name| plan.items.iter().any(|item| item.session == *name && starts(item));
    let asked = std::mem::take(&mut world.request.again);
    let (done, held): (Vec<Name>, Vec<Name>) = asked.into_iter().partition(done);
    for (_, record) in world.recorded.records.iter_mut().filter(|(name, _)| done.contains(name)) {
        record.hold = Some(Hold { what: HoldKind::Started, since: NOW, until_ms: None, why: None });
    }
    world.request = Request { again: held, take_over: false, ..world.request };
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_that_was_carried_out_leaves_nothing_but_what_waits_or_is_blocked(world in worlds()) {
        let (first, first_trigger) = (world.plan(), world.request.trigger);
        let second = after(world, &first).plan();
        // Under `watch` a place is free only when what ends has ended: the next plan gives it away.
        let place = |reason: &Reason| matches!(reason, Reason::MaxRunning { .. });
        let waited = |item: &Item| {
            let watch = first_trigger == Trigger::Watch;
            watch && first.items.iter().any(|old| old.session == item.session && old.reasons.iter().any(place))
        };
        let left: Vec<&Item> =
            second.items.iter().filter(|item| item.action.effective() && !waited(item)).collect();
        prop_assert!(left.is_empty(), "{left:#?}\nafter {:#?}", first.items);
    }
}
