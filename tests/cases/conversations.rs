//! Conversations: kept across everything, lost only when told to, never mixed up.
//!
//! The kind is made up: the scriptable agent takes an id at launch (`--session-id`) and resumes one (`--resume`).

use std::fs;

use crate::support::fleet::{Agent, Fleet, Start, agent};
use crate::support::watching::Watching;

const KIND: &str = r#"policy: {launch: {parallel: 8, stagger: 1ms}}
kinds:
  fake:
    name: fake
    about: A test's agent.
    executables: [fake-agent]
    prompt: positional
    choices: {model: [--model, "{value}"], yolo: [--yolo]}
    conversation:
      assign: [--session-id, "{conversation}"]
      resume: [--resume, "{conversation}"]
defaults: {resume_assigned: true}"#;

fn talker(name: &str) -> Agent {
    agent(name).with("kind: fake")
}

/// The value behind a flag.
fn value<'a>(start: &'a Start, flag: &str) -> Option<&'a str> {
    let at = start.argv.iter().position(|word| word == flag)?;
    start.argv.get(at + 1).map(String::as_str)
}

/// The conversation a start began.
#[track_caller]
fn began(start: &Start) -> String {
    assert_eq!(value(start, "--resume"), None, "{start:?}");
    value(start, "--session-id").unwrap_or_else(|| panic!("no id was assigned: {start:?}")).to_owned()
}

#[test]
fn b3_a_crash_a_server_death_and_a_restart_keep_each_its_own_conversation() {
    let names = ["a", "b", "c"];
    let fleet = Fleet::new();
    fleet.agents_under(KIND, names.map(talker));
    fleet.apply();
    let ids: Vec<String> = names.iter().map(|name| began(&fleet.started(name, 1))).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");

    fleet.tmux().kill_server();
    fleet.farhelm(["plan"]).ok().says("launch, resume").says(&ids[0][..8]);
    fleet.apply();
    fleet.crash("b");
    fleet.apply();
    fleet.farhelm(["restart", "c"]).ok();
    for (name, (id, times)) in names.iter().zip(ids.iter().zip([2, 3, 3])) {
        let start = fleet.started(name, times);
        assert_eq!(value(&start, "--resume"), Some(id.as_str()), "{name}: {start:?}");
        assert_eq!(value(&start, "--session-id"), None, "{name}: {start:?}");
    }
    fleet.is_settled();
    fleet.down();
}

#[test]
fn b13_a_changed_model_restarts_with_the_conversation_and_every_choice() {
    let fleet = Fleet::new();
    let with = |model: &str| talker("a").with(&format!("model: {model}")).with("permissions: yolo");
    fleet.agents_under(KIND, [with("small"), talker("b")]);
    fleet.apply();
    let id = began(&fleet.started("a", 1));
    let b = fleet.pid("b");
    fleet.agents_under(KIND, [with("big"), talker("b")]);
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(2).says("restart, resume").says("small -> big").says("kept");
    fleet.apply();
    let start = fleet.started("a", 2);
    assert_eq!((value(&start, "--resume"), value(&start, "--model")), (Some(id.as_str()), Some("big")));
    assert!(start.argv.iter().any(|word| word == "--yolo"), "{start:?}");
    assert_eq!(fleet.pid("b"), b);
    fleet.down();
}

#[test]
fn b1_of_two_in_one_directory_only_the_one_with_a_recorded_conversation_is_resumed() {
    let fleet = Fleet::new();
    let dir = fleet.dir("shared");
    let text = |fleet: &Fleet| {
        let text = fs::read_to_string(fleet.agents_under(KIND, [talker("a"), agent("b")])).expect("just written");
        let own = |name: &str| format!("dir: '{}'", fleet.path("work").join(name).display());
        let shared = format!("dir: '{}'", dir.display());
        text.replace(&own("a"), &shared).replace(&own("b"), &shared)
    };
    let text = text(&fleet).replace("  b:\n", "  b:\n    kind: generic\n");
    fleet.file("farhelm.yaml", text);
    fleet.apply();
    let id = began(&fleet.started("a", 1));
    fleet.started("b", 1);
    fleet.tmux().kill_server();
    fleet.apply();
    assert_eq!(value(&fleet.started("a", 2), "--resume"), Some(id.as_str()));
    let b = fleet.started("b", 2);
    assert!(b.argv.iter().all(|word| !word.contains("resume") && !word.contains("continue") && *word != id), "{b:?}");
    fleet.down();
}

#[test]
fn b15_ten_conversations_are_each_live_once_although_others_restore_them_too() {
    let fleet = Fleet::new();
    let names: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
    fleet.agents_under(KIND, names.iter().map(|name| talker(name)));
    fleet.apply();
    let ids: Vec<String> = names.iter().map(|name| began(&fleet.started(name, 1))).collect();
    fleet.tmux().kill_server();
    let watching = Watching::start(&fleet);
    let others: Vec<_> = (0..3).map(|_| fleet.start(["apply", "-y"])).collect();
    others.into_iter().for_each(|other| drop(other.wait()));
    for (name, id) in names.iter().zip(&ids) {
        assert_eq!(value(&fleet.started(name, 2), "--resume"), Some(id.as_str()));
        assert_eq!(fleet.agent_count(name), 1);
    }
    watching.stop();
    fleet.down();
}

#[test]
fn the_prompt_is_delivered_once() {
    let fleet = Fleet::new();
    fleet.agents_under(KIND, [talker("a").with("prompt: Mend the tests; 'all' of them.")]);
    fleet.apply();
    let first = fleet.started("a", 1);
    assert_eq!(first.argv.last().map(String::as_str), Some("Mend the tests; 'all' of them."));
    fleet.crash("a");
    fleet.apply();
    let second = fleet.started("a", 2);
    assert!(second.argv.iter().all(|word| !word.starts_with("Mend")), "delivered twice: {second:?}");
    fleet.farhelm(["restart", "--fresh", "a"]).ok();
    assert_eq!(fleet.started("a", 3).argv.last(), first.argv.last());
    fleet.down();
}

#[test]
fn a_removed_session_that_comes_back_goes_on_where_it_was_until_it_is_forgotten() {
    let fleet = Fleet::new();
    fleet.agents_under(KIND, [talker("a"), talker("b")]);
    fleet.apply();
    let id = began(&fleet.started("a", 1));
    fleet.agents_under(KIND, [talker("b")]);
    fleet.farhelm(["plan"]).ok().says("restorable until");
    fleet.apply();
    fleet.agents_under(KIND, [talker("a"), talker("b")]);
    fleet.farhelm(["plan"]).ok().says("launch, resume");
    fleet.apply();
    assert_eq!(value(&fleet.started("a", 2), "--resume"), Some(id.as_str()));

    fleet.agents_under(KIND, [talker("b")]);
    fleet.apply();
    fleet.farhelm(["forget", "a"]).ok();
    fleet.agents_under(KIND, [talker("a"), talker("b")]);
    fleet.apply();
    assert_ne!(began(&fleet.started("a", 3)), id);
    fleet.down();
}

#[test]
fn a_session_that_comes_back_in_another_directory_starts_afresh() {
    let fleet = Fleet::new();
    fleet.agents_under(KIND, [talker("a"), talker("b")]);
    fleet.apply();
    let id = began(&fleet.started("a", 1));
    fleet.agents_under(KIND, [talker("b")]);
    fleet.apply();
    let text = fs::read_to_string(fleet.agents_under(KIND, [talker("a"), talker("b")])).expect("just written");
    let (first, elsewhere) = (fleet.path("work").join("a"), fleet.dir("elsewhere"));
    fleet.file("farhelm.yaml", text.replace(&format!("{}'", first.display()), &format!("{}'", elsewhere.display())));
    fleet.apply();
    assert_ne!(began(&fleet.started("a", 2)), id);
    fleet.down();
}

#[test]
fn c27_a_lost_state_directory_does_not_lose_the_conversation() {
    let fleet = Fleet::new();
    fleet.agents_under(KIND, [talker("a")]);
    fleet.apply();
    let id = began(&fleet.started("a", 1));
    fs::remove_dir_all(fleet.state()).expect("our own directory");
    fleet.apply();
    fleet.crash("a");
    fleet.apply();
    assert_eq!(value(&fleet.started("a", 2), "--resume"), Some(id.as_str()));
    fleet.down();
}

#[test]
fn c27_a_lost_state_directory_and_a_dead_pane_still_lead_back_to_the_conversation() {
    let fleet = Fleet::new();
    fleet.agents_under(KIND, [talker("a")]);
    fleet.apply();
    let id = began(&fleet.started("a", 1));
    fleet.crash("a");
    fs::remove_dir_all(fleet.state()).expect("our own directory");
    let ran = fleet.apply();
    let start = fleet.started("a", 2);
    assert_eq!(value(&start, "--resume"), Some(id.as_str()), "{start:?}\n{ran}");
    fleet.down();
}

#[test]
fn an_unconfirmed_conversation_is_not_resumed_unless_the_file_says_so_nor_silently_lost() {
    let unsure = KIND.replace("resume_assigned: true", "resume_assigned: false");
    let fleet = Fleet::new();
    fleet.agents_under(&unsure, [talker("a").with("prompt: Begin.")]);
    fleet.apply();
    fleet.started("a", 1);
    fleet.crash("a");
    fleet.farhelm(["plan"]).ok().says("blocked").says("resume_assigned");
    fleet.apply();
    assert_eq!(fleet.starts("a").len(), 1);
    fleet.farhelm(["apply", "-y", "--allow-fresh", "a"]).ok();
    fleet.started("a", 2);
    fleet.down();
}

#[test]
fn a_protected_session_is_resumed_and_never_started_afresh() {
    let fleet = Fleet::new();
    fleet.agents_under(KIND, [talker("a").with("protect: true")]);
    fleet.apply();
    let id = began(&fleet.started("a", 1));
    let _ = fleet.farhelm(["restart", "--fresh", "a"]);
    assert_eq!(fleet.starts("a").len(), 1, "a protected conversation was thrown away");
    fleet.crash("a");
    fleet.apply();
    assert_eq!(value(&fleet.started("a", 2), "--resume"), Some(id.as_str()));
    fleet.agents_under(KIND, [talker("a")]);
    fleet.farhelm(["unprotect", "a"]).ok();
    fleet.down();
}

#[test]
fn b14_a_wrapper_without_a_resume_command_is_refused_for_a_kind_with_conversations() {
    let fleet = Fleet::new();
    fleet.agents_under(KIND, [talker("a").with("invocation: [env, '@AGENT@']")]);
    fleet.farhelm(["validate"]).code(1).mentions("resume");
}

#[test]
fn an_explicit_resume_command_is_run_as_written_with_its_slots_filled() {
    let fleet = Fleet::new();
    let invocation = "invocation: [env, '@AGENT@', --record, '@RECORDS@/a']";
    let resume = "resume: [env, '@AGENT@', --record, '@RECORDS@/a', --continue, '{conversation}', '{cwd}']";
    fleet.agents_under(KIND, [talker("a").with(invocation).with(resume)]);
    fleet.apply();
    let id = began(&fleet.started("a", 1));
    fleet.crash("a");
    fleet.apply();
    let start = fleet.started("a", 2);
    let dir = fleet.path("work/a").canonicalize().expect("it exists").display().to_string();
    assert_eq!(start.argv[3..], ["--continue", &id, &dir]);
    fleet.down();
}
