//! Situations that a reconciler must survive, as far as a plan decides them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::agents::kind::ChoiceForm;
use crate::config::desired::{EnvValue, Permissions, SecretRef};
use crate::host::process::ProcessKey;
use crate::observe::observed::Evidence;
use crate::plan::action::{Action, Item, Mode};
use crate::plan::counters::{EXIT_CHANGES, EXIT_DESTRUCTIVE, EXIT_NONE, EXIT_UNKNOWN};
use crate::plan::reason::Reason;
use crate::plan::text::{Style, render};
use crate::plan::{Plan, Selection};
use crate::state::fields::hashes;
use crate::state::identity::Identity;
use crate::state::record::{EndedHow, Provenance};

use super::world::{World, globs, name};

fn item<'a>(plan: &'a Plan, session: &str) -> &'a Item {
    plan.items.iter().find(|item| item.session.as_str() == session).unwrap()
}

#[test]
fn c1_without_differences_text_code_and_json_agree() {
    let mut world = World::new();
    world.running("api", "claude").running("job", "generic").ended("job", EndedHow::Exited(0));
    let plan = world.plan();
    assert_eq!(plan.counters.detailed_exit_code(), EXIT_NONE);
    assert!(render(&plan, Style::default()).ends_with("\nPlan: no changes; 2 unchanged.\n"));
    let json = serde_json::to_value(&plan).unwrap();
    assert_eq!((json["counters"]["unchanged"].as_u64(), json["counters"]["launch"].as_u64()), (Some(2), Some(0)));
}

#[test]
fn the_exit_code_is_the_highest_that_holds() {
    let mut world = World::new();
    world.want("new", "claude");
    assert_eq!(world.plan().counters.detailed_exit_code(), EXIT_CHANGES);
    world.running("old", "claude").unwant("old");
    assert_eq!(world.plan().counters.detailed_exit_code(), EXIT_DESTRUCTIVE);
    world.running("odd", "claude");
    world.observed.sessions.remove(&super::world::id("odd"));
    assert_eq!(world.plan().counters.detailed_exit_code(), EXIT_UNKNOWN);
}

#[test]
fn what_only_waits_or_is_blocked_is_no_change() {
    let mut world = World::new();
    world.running("old", "claude").unwant("old");
    world.record("old").protect = true;
    assert_eq!(world.plan().counters.detailed_exit_code(), EXIT_NONE);
}

#[test]
fn c4_deleting_the_block_of_a_protected_session_does_not_lift_its_protection() {
    let mut world = World::new();
    world.want("vault", "claude").protect = true;
    world.running("vault", "claude").unwant("vault");
    let plan = world.plan();
    assert_eq!(item(&plan, "vault").action, Action::Blocked(Box::new(Action::Reap)));
    assert_eq!(item(&plan, "vault").reasons.first(), Some(&Reason::Protected));
    world.unrecord("vault");
    assert_eq!(item(&world.plan(), "vault").action, Action::Blocked(Box::new(Action::Reap)));
}

#[test]
fn c6_reaps_among_hundreds_of_changes_are_listed_again_by_name() {
    let mut world = World::new();
    for number in 0..258 {
        let session = format!("worker-{number}");
        world.running(&session, "claude");
        world.wanted(&session).choices.model = Some("opus".to_owned());
    }
    for old in ["ada", "bob", "cyd"] {
        world.running(old, "claude").unwant(old);
    }
    let plan = world.plan();
    let text = render(&plan, Style::default());
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert_eq!(last[1], "Destroys: reap ada, reap bob, reap cyd");
    assert!(last[0].contains("258 to restart (258 resumes, 0 fresh), 3 to reap"), "{}", last[0]);
}

#[test]
fn c9_a_changed_token_is_said_to_have_changed_and_never_shown() {
    let mut world = World::new();
    world.want("api", "claude").env.insert("TOKEN".into(), EnvValue::Literal("hunter2".into()));
    world.running("api", "claude");
    world.wanted("api").env.insert("TOKEN".into(), EnvValue::Literal("hunter3".into()));
    let plan = world.plan();
    let text = render(&plan, Style::default());
    assert!(text.contains("because env.TOKEN changed (value hidden)"), "{text}");
    let saved = crate::plan::basis::Saved { basis: crate::plan::basis::basis(&world.inputs(), &plan), plan };
    let json = serde_json::to_string(&saved).unwrap();
    assert!(!text.contains("hunter") && !json.contains("hunter"), "{json}");
    assert!(!format!("{:?}", world.desired).contains("hunter"));
}

#[test]
fn c8_a_value_that_becomes_a_reference_is_a_change() {
    let mut world = World::new();
    world.want("api", "claude").env.insert("TOKEN".into(), EnvValue::Literal("hunter2".into()));
    world.running("api", "claude");
    let reference = SecretRef::File { path: "/run/token".into(), restart_on_change: false };
    world.wanted("api").env.insert("TOKEN".into(), EnvValue::Secret(reference));
    assert!(matches!(item(&world.plan(), "api").reasons.as_slice(), [Reason::Changed { old: None, new: None, .. }]));
}

#[test]
fn only_the_content_of_a_watched_file_counts_and_one_that_cannot_be_read_says_nothing() {
    let planned = |watched, before: Result<&str, &str>, now: Result<&str, &str>| {
        let contents = |seen: Result<&str, &str>| {
            [(PathBuf::from("/run/token"), seen.map(str::to_owned).map_err(str::to_owned))].into()
        };
        let mut world = World::new();
        let reference = SecretRef::File { path: "/run/token".into(), restart_on_change: watched };
        world.want("api", "claude").env.insert("TOKEN".into(), EnvValue::Secret(reference));
        world.recorded_alive("api", "claude");
        let (want, salt) = (world.wanted("api").clone(), world.record("api").salt.clone());
        world.record("api").fields = hashes(&want, &salt, &contents(before));
        world.observed.contents = contents(now);
        item(&world.plan(), "api").action.clone()
    };
    assert_eq!(planned(true, Ok("1"), Ok("1")), Action::Unchanged);
    assert_eq!(planned(false, Ok("1"), Ok("2")), Action::Unchanged);
    assert!(matches!(planned(true, Ok("1"), Ok("2")), Action::Restart(_)));
    assert_eq!(planned(true, Ok("1"), Err("cannot read it")), Action::Unknown);
    assert_eq!(planned(false, Ok("1"), Err("cannot read it")), Action::Unchanged);
}

#[test]
fn c11_what_is_not_asked_for_and_what_is_the_default_are_the_same() {
    let mut world = World::new();
    world.running("api", "claude");
    let session = world.wanted("api");
    session.choices.permissions = crate::config::desired::Permissions::Default;
    session.hooks = true;
    session.labels.insert("team".into(), "payments".into());
    session.priority = 7;
    assert_eq!(world.plan().counters.changes(), 0);
    world.request.selection.only = Some(globs("api"));
    assert_eq!(world.plan().counters.changes(), 0);
}

#[test]
fn c14_one_forbidden_reap_does_not_keep_the_others() {
    let mut world = World::new();
    for old in ["ada", "bob", "cyd"] {
        world.running(old, "claude").unwant(old);
    }
    world.record("bob").protect = true;
    world.desired.policy.max_reap = 2;
    let plan = world.plan();
    assert_eq!((plan.counters.reap, plan.counters.blocked), (2, 1));
    assert_eq!(item(&plan, "bob").action, Action::Blocked(Box::new(Action::Reap)));
}

#[test]
fn b20_a_selected_or_removed_a_1_is_not_a_10() {
    let mut world = World::new();
    world.running("a-1", "claude").running("a-10", "claude").unwant("a-1");
    let plan = world.plan();
    assert_eq!(item(&plan, "a-1").action, Action::Reap);
    assert_eq!(item(&plan, "a-10").action, Action::Unchanged);
    world.request.selection.only = Some(globs("a-1"));
    assert_eq!(world.plan().items.len(), 1);
}

#[test]
fn b28_what_was_stopped_stays_stopped() {
    let mut world = World::new();
    world.running("api", "claude").ended("api", EndedHow::Killed(15));
    world.wanted("api").running = false;
    world.trigger(crate::plan::Trigger::Watch);
    assert_eq!(world.plan().counters.changes(), 0);
}

#[test]
fn labels_select_and_a_removed_session_has_none() {
    let mut world = World::new();
    world.running("api", "claude").running("web", "claude").running("old", "claude").unwant("old");
    world.wanted("web").labels.insert("team".into(), "front".into());
    world.request.selection = Selection { labels: vec![("team".into(), "front".into())], ..Selection::default() };
    let names: Vec<String> = world.plan().items.iter().map(|item| item.session.to_string()).collect();
    assert_eq!(names, ["web"]);
}

#[test]
fn places_are_counted_over_the_whole_fleet_whatever_is_selected() {
    let mut world = World::new();
    world.running("a", "claude").want("b", "claude");
    world.desired.policy.max_running = Some(1);
    world.request.selection.only = Some(globs("b"));
    assert_eq!(item(&world.plan(), "b").reasons.first(), Some(&Reason::MaxRunning { limit: 1 }));
    world.unwant("a");
    world.request.selection.only = None;
    assert!(matches!(item(&world.plan(), "b").action, Action::Launch(_)));
}

#[test]
fn a_prompt_is_not_delivered_again_when_only_a_stamp_tells_of_its_session() {
    let mut world = World::new();
    world.want("api", "generic").prompt = Some("Fix it.".into());
    world.running("api", "generic").ended("api", EndedHow::Killed(9));
    let fresh = Action::Launch(Mode::Fresh { prompt: false });
    assert_eq!(item(&world.plan(), "api").action, fresh);
    // As a record rebuilt from a stamp has it.
    world.record("api").prompt_delivered = None;
    world.record("api").shown.clear();
    assert_eq!(item(&world.plan(), "api").action, fresh);
    world.unrecord("api");
    assert_eq!(world.plan().items[1].action, fresh);
}

#[test]
fn a_prompt_is_delivered_again_only_where_the_conversation_that_was_to_get_it_is_still_empty() {
    let mut world = World::new();
    world.want("api", "claude").prompt = Some("Fix it.".into());
    world.running("api", "claude").ended("api", EndedHow::Killed(9));
    let launch = world.launch("api").clone();
    let prompt = Some(crate::plan::prompt_hash(&world.record("api").salt, "Fix it."));
    world.record("api").prompt_delivered = prompt.clone();
    world.launch("api").prompt = prompt;
    world.seen("api").conversation = Evidence::NeverPrompted;
    let mut identity = Identity {
        id: "4bfc71d6-0000-4000-8000-000000000001".into(),
        reported: "4bfc71d6-0000-4000-8000-000000000001".into(),
        transcripts: Vec::new(),
        source: Some("startup".into()),
        generation: launch.generation,
        boot: launch.boot.clone(),
        at: launch.at,
        reporter: ProcessKey { pid: 7, start: 7 },
        seen: false,
        prompted: false,
    };
    let mut given = |identity: &Identity, launched: Option<&str>| {
        world.record("api").identity = Some(identity.clone());
        world.launch("api").prompt = launched.map(Into::into);
        match &item(&world.plan(), "api").action {
            Action::Launch(Mode::SameId { prompt, .. } | Mode::Fresh { prompt }) => *prompt,
            other => panic!("{other:?}"),
        }
    };
    assert!(given(&identity, Some("hash")), "its prompt never reached it");
    assert!(!given(&identity, None), "an earlier launch's did");
    identity.source = Some("clear".into());
    assert!(!given(&identity, Some("hash")), "the conversation before it got the prompt");
}

#[test]
fn a_prompt_is_not_delivered_again_where_nothing_was_written_of_the_assigned_conversation_that_was_to_get_it() {
    let mut world = World::new();
    world.want("api", "claude").prompt = Some("Fix it.".into());
    world.running("api", "claude").ended("api", EndedHow::Killed(9));
    let prompt = Some(crate::plan::prompt_hash(&world.record("api").salt, "Fix it."));
    world.record("api").conversation.as_mut().unwrap().provenance = Provenance::Assigned;
    world.record("api").prompt_delivered = prompt.clone();
    world.seen("api").conversation = Evidence::NeverPrompted;
    world.launch("api").prompt = prompt;
    assert!(matches!(&item(&world.plan(), "api").action, Action::Launch(Mode::SameId { prompt: false, .. })));
    let text = render(&world.plan(), Style::default());
    assert!(text.contains("nothing was written of its conversation, whose id is used again"), "{text}");
}

#[test]
fn a_conversation_that_was_reported_last_and_is_not_there_is_told_with_the_one_before_it_and_the_ways_out() {
    let mut world = World::new();
    world.running("api", "codex").ended("api", EndedHow::Killed(9));
    let old = world.record("api").conversation.as_ref().unwrap().id.clone();
    let words = "/r/x.jsonl is not there, which /s/1-2.start.json names".to_owned();
    world.seen("api").conversation = Evidence::Unproven { conversation: "01a22c4d-31cd".into(), words };
    let text = render(&world.plan(), Style::default());
    for words in ["01a22c4d-31cd was reported last", "/s/1-2.start.json", old.as_str(), "--allow-fresh api"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    world.seen("api").conversation = Evidence::Verified(old);
    world.launch("api").contradicted = Some("conversation 01a22c4d was reported after it, and refused: so".into());
    let text = render(&world.plan(), Style::default());
    assert!(text.contains("launch, resume") && text.contains("01a22c4d was reported after it, and refused"), "{text}");
}

#[test]
fn a_posture_that_the_conversation_keeps_is_not_taken_back_by_a_resume() {
    let mut world = World::new();
    world.want("api", "claude").choices.permissions = Permissions::Yolo;
    world.recorded_alive("api", "claude");
    world.wanted("api").choices.permissions = Permissions::Default;
    assert_eq!(world.plan().counters.blocked, 0);
    let kind = world.desired.kinds.get_mut("claude").unwrap();
    kind.choices.yolo = Some(ChoiceForm { sticky: true, ..ChoiceForm::args(["--auto"]) });
    let kept = "keeps `permissions: yolo`";
    for bury in [false, true] {
        if bury {
            world.bury("api");
        }
        let plan = world.plan();
        assert_eq!(plan.counters.blocked, 1);
        assert!(render(&plan, Style::default()).contains(kept));
    }
    world.request.allow_fresh = Some(globs("api"));
    assert_eq!(world.plan().counters.blocked, 0);
}

#[test]
fn only_unprotect_lifts_a_protection() {
    let mut world = World::new();
    world.running("vault", "claude");
    world.record("vault").protect = true;
    assert_eq!(world.plan().counters.changes(), 0);
}

#[test]
fn a_renamed_session_is_compared_under_its_new_name() {
    let mut world = World::new();
    world.recorded_alive("site", "codex").want("web", "codex").moved_from = Some(name("site"));
    let plan = world.plan();
    let actions: Vec<&Action> = plan.items.iter().map(|item| &item.action).collect();
    assert!(matches!(actions.as_slice(), [Action::Move { .. }, Action::Restart(_)]), "{actions:?}");
    assert_eq!(plan.items[1].id, Some(super::world::id("site")));
}

#[test]
fn a_directory_read_with_more_files_is_no_other_source_and_one_with_fewer_is() {
    let mut world = World::new();
    world.running("api", "claude").unwant("api");
    world.desired.sources.push("/fleets/more.yaml".into());
    assert_eq!(world.plan().counters.reap, 1);
    world.recorded.fleet.sources.push("/fleets/gone.yaml".into());
    let plan = world.plan();
    assert_eq!((plan.counters.reap, plan.header.sources_stand), (0, false));
}

#[test]
fn thousands_of_sessions_are_planned_in_an_instant() {
    let mut world = World::new();
    for number in 0..5_000 {
        world.running(&format!("s-{number}"), "claude");
    }
    for number in (0..5_000).step_by(3) {
        world.wanted(&format!("s-{number}")).choices.model = Some("opus".to_owned());
    }
    world.request.again = world.desired.sessions.keys().cloned().collect();
    let begun = Instant::now();
    let plan = world.plan();
    let text = render(&plan, Style::default());
    // A quadratic planner takes minutes here; a loaded machine does not take seconds.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!((plan.items.len(), plan.counters.restart), (5_000, 5_000));
    assert!(text.len() > 5_000);
}
