//! What holds of every plan, whatever the world.

use proptest::prelude::*;

use crate::observe::observed::AgentSeen;
use crate::plan::action::{Action, ConversationFate, Item, Mode};
use crate::plan::text::{Style, render};
use crate::plan::{Counters, Plan};
use crate::spec::name::Name;

use super::random::{SECRET, worlds};
use super::world::{World, globs, id};

fn of<'a>(plan: &'a Plan, session: &'a Name) -> impl Iterator<Item = &'a Item> {
    plan.items.iter().filter(move |item| item.session == *session)
}

fn touched(plan: &Plan, session: &Name) -> bool {
    of(plan, session).any(|item| item.action.effective())
}

/// Whether the record or the files protect it.
fn protected(world: &World, session: &Name) -> bool {
    let stamp = world.observed.sessions.get(&id(session.as_str())).and_then(|seen| seen.stamp.as_ref());
    world.desired.sessions.get(session).is_some_and(|session| session.protect)
        || world.recorded.records.get(session).is_some_and(|record| record.protect)
        || stamp.is_some_and(|stamp| stamp.protect)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_inputs_give_the_same_plan_and_its_json_says_all_of_it(world in worlds()) {
        let plan = world.plan();
        prop_assert_eq!(&plan, &world.plan());
        let json = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }

    #[test]
    fn what_could_not_be_observed_is_never_touched(world in worlds()) {
        let plan = world.plan();
        for item in plan.items.iter().filter(|item| item.action == Action::Unknown) {
            prop_assert_eq!(of(&plan, &item.session).count(), 1);
        }
        for (name, record) in &world.recorded.records {
            if matches!(world.observed.sessions[&record.id].agent, AgentSeen::Unknown(_)) {
                prop_assert!(!touched(&plan, name));
            }
        }
    }

    #[test]
    fn the_protected_are_never_reaped_nor_restarted_fresh(world in worlds()) {
        for item in world.plan().items.iter().filter(|item| protected(&world, &item.session)) {
            let fine = match &item.action {
                Action::Reap => false,
                Action::Restart(mode) => matches!(mode, Mode::Resume { .. }),
                Action::Launch(_) => !matches!(item.cost.conversation, ConversationFate::Lost(_)),
                _ => true,
            };
            prop_assert!(fine, "{:?}", item);
        }
    }

    #[test]
    fn counters_say_what_the_items_say(world in worlds()) {
        let plan = world.plan();
        let Counters { waiting, blocked, unknown, unchanged, destructive, .. } = plan.counters;
        prop_assert_eq!(plan.counters.changes() + waiting + blocked + unknown + unchanged, plan.items.len());
        prop_assert_eq!(plan.items.iter().filter(|item| item.cost.destructive).count(), destructive);
        prop_assert!(plan.items.iter().all(|item| item.action.effective() || !item.cost.destructive));
        for name in world.desired.sessions.keys().chain(world.recorded.records.keys()) {
            prop_assert!(of(&plan, name).count() > 0);
        }
        for item in plan.items.iter().filter(|item| item.action == Action::Unchanged) {
            prop_assert_eq!(of(&plan, &item.session).count(), 1);
        }
    }

    #[test]
    fn a_selection_only_leaves_out(mut world in worlds()) {
        world.desired.policy.max_running = None;
        world.desired.policy.max_reap = 99;
        let all = world.plan();
        world.request.selection.only = Some(globs("s[0-3]"));
        world.request.selection.exclude = Some(globs("s1"));
        let kept = |item: &&Item| ["s0", "s2", "s3"].contains(&item.session.as_str());
        let left: Vec<Item> = all.items.iter().filter(kept).cloned().collect();
        let some = world.plan().items;
        // Two that look like a rename are told apart only when both are selected.
        let same = |item: &Item| !format!("{item:?}").contains("MaybeMoved");
        if left.iter().all(same) {
            prop_assert_eq!(some, left);
        }
    }

    #[test]
    fn what_is_paused_or_somebody_elses_is_not_touched(world in worlds()) {
        let plan = world.plan();
        let paused = world.recorded.records.values().filter(|record| {
            record.hold.as_ref().is_some_and(|hold| hold.what == crate::state::record::HoldKind::Paused)
        });
        for name in paused.map(|record| &record.name).chain(world.observed.foreign.keys()) {
            prop_assert!(!touched(&plan, name));
        }
    }

    #[test]
    fn the_session_farhelm_runs_in_is_never_ended(mut world in worlds()) {
        world.inside = Some(id("s0"));
        for item in world.plan().items.iter().filter(|item| item.id == world.inside) {
            let alive = world.observed.sessions.get(&id("s0")).is_some_and(|seen| matches!(seen.agent, AgentSeen::Alive(_)));
            let ends = matches!(item.action, Action::Stop | Action::Reap | Action::CloseTab(_))
                || (alive && matches!(item.action, Action::Restart(_)));
            prop_assert!(!ends, "{:?}", item);
        }
    }

    #[test]
    fn other_files_destroy_nothing(mut world in worlds()) {
        world.desired.sources = vec!["/copy/fleet.yaml".into()];
        world.request.take_over = false;
        if !world.recorded.records.is_empty() {
            prop_assert_eq!(world.plan().counters.destructive, 0);
        }
    }

    #[test]
    fn neither_text_nor_json_shows_an_environment_value_or_drives_a_terminal(world in worlds()) {
        let plan = world.plan();
        let json = serde_json::to_string(&plan).unwrap();
        prop_assert!(!json.contains(SECRET));
        for style in [Style::default(), Style { all: true, ..Style::default() }, Style { brief: true, ..Style::default() }] {
            let text = render(&plan, style);
            prop_assert!(!text.contains(SECRET));
            prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}
