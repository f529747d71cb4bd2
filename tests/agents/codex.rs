//! Codex.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agent::{Agent, Home, KEY, Shown, by_choice};

pub static AGENT: Agent = Agent {
    name: "codex",
    // One that Codex does not know: known ones bring dialogs and other tools.
    model: "fake-model",
    model_in_requests: "fake-model",
    arguments: &[
        "-c",
        "features.daemon_auto_start=false",
        "-m",
        "fake-model",
        "-c",
        "model_reasoning_effort=\"low\"",
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        "projects={\"{dir}\"={trust_level=\"trusted\"}}",
        "{prompt}",
    ],
    hook: Some("-c"),
    effort_in_requests: Some("low"),
    takes_prompt: true,
    configure,
    trust: by_choice,
    environment,
    comm: "codex",
    shown: Shown::All,
    // The composer is drawn before it is ready, its footer with the model is not.
    idle: &["› ", "-model "],
    busy: &["esc to interrupt"],
};

common_tests!();
tests_of!(
    kept:
    comes_back_after_a_kill_a_change_and_a_removal,
    comes_back_in_mid_turn_and_after_the_server_and_the_machine_died,
    starts_anew_when_nothing_was_said,
    is_held_when_its_transcript_is_gone,
    comes_back_in_the_conversation_that_a_clear_began,
    a_nested_run_changes_nothing,
);
tests_of!(
    same:
    two_in_one_directory_are_never_crossed,
    comes_back_with_its_posture_and_its_environment,
    a_first_report_made_while_the_server_dies_counts,
);
tests_of!(
    wrapped:
    behind_node_between_it_and_the_terminal_it_is_refused,
    behind_node_as_the_terminals_own_process_it_is_accepted,
    behind_a_wrapper_that_becomes_it_it_is_accepted,
    as_the_native_program_it_is_accepted,
);

#[test]
fn a_question_before_its_start_is_named() {
    let Some(bed) = AGENT.bed() else { return };
    // Without a choice of trust it asks in a repository that it does not know.
    bed.sessions(&[("api", "prompt: hello")]);
    let text = std::fs::read_to_string(bed.path("work/farhelm.yaml")).expect("it was written");
    bed.write(&text.replace("  trust: trusted\n", ""));
    bed.apply();
    bed.wait("api", "its question is named", || {
        let status = bed.status();
        let api = status.of("api");
        api.health == "needs-input" && api.reason.contains("`trust`")
    });
    bed.down();
}

#[test]
fn is_not_resumed_while_its_conversation_is_open_in_another_process() {
    let Some(bed) = AGENT.bed() else { return };
    let api = ("api", "permissions: yolo");
    bed.sessions(&[api]);
    let id = bed.prompted("api", "remember the harbour");
    bed.farhelm(["stop", "api"]).ok();
    let trusted = r#"-c, 'projects={"@WORK@/api"={trust_level="trusted"}}'"#;
    let command = format!("codex, -c, features.daemon_auto_start=false, {trusted}, resume, '{id}'");
    let other = format!("dir: '@WORK@/api'\nkind: generic\ninvocation: [{command}]");
    bed.sessions(&[api, ("by-hand", &other)]);
    bed.apply();
    bed.wait_idle("by-hand");
    bed.farhelm(["start", "api"]).code(0);
    bed.farhelm(["plan"]).ok().says("blocked").says("open in another process");
    assert_eq!(bed.status().of("api").pid, None);
    bed.farhelm(["stop", "by-hand"]).ok();
    bed.farhelm(["plan"]).ok().says("launch, resume").says(&id[..8]);
    bed.apply();
    bed.goes_on("api", &id, &["remember the harbour"], "and of its ships");
    bed.down();
}

/// The rollouts below a directory.
fn rollouts(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { rollouts(&path) } else { vec![path] }).collect()
}

/// Left for a new conversation that nobody has looked at yet when its rollout is spoilt.
#[test]
fn a_new_conversation_whose_rollout_is_gone_is_not_silently_passed_over() {
    let Some(bed) = AGENT.bed() else { return };
    bed.sessions(&[("api", "permissions: yolo")]);
    let old = bed.prompted("api", "remember the harbour");
    // The report of the new one takes the place of one that no pass has taken.
    bed.apply();
    bed.slash("api", "/new", "remember the harbour");
    bed.wait_idle("api");
    bed.type_into("api", "and of its ships");
    bed.wait_turns("api", 2);
    bed.wait_idle("api");
    bed.wait("api", "the new one is reported", || bed.conversation("api")["id"] != *old);
    let new = bed.conversation("api")["id"].as_str().expect("an id").to_owned();
    bed.kill_agent("api");
    let rollout =
        rollouts(&bed.path("home/.codex/sessions")).into_iter().find(|path| path.to_string_lossy().contains(&new));
    let rollout = rollout.expect("the rollout of the new one");
    let text = fs::read(&rollout).expect("a rollout");
    for spoilt in [None, Some(&text[..40])] {
        fs::remove_file(&rollout).expect("it was there");
        if let Some(text) = spoilt {
            fs::write(&rollout, text).expect("written");
        }
        bed.farhelm(["plan"]).ok().says("blocked").says("reported last").says(&new).says(&old);
        bed.farhelm(["describe", "api"]).ok().says("reported last").says(&new);
        bed.apply();
        assert!(bed.left().is_empty(), "{:?}", bed.left());
        fs::write(&rollout, "").expect("written");
    }
    // What is of something else is no rollout of it: its report is refused, and that is said.
    fs::write(&rollout, "garbage\n").expect("written");
    bed.farhelm(["plan"]).ok().says("launch, resume").says(&new).says("refused");
    bed.farhelm(["describe", "api"]).ok().says(&new).says("refused");
    fs::write(&rollout, &text).expect("written");
    bed.farhelm(["plan"]).ok().says("launch, resume");
    bed.apply();
    bed.goes_on("api", &new, &["and of its ships"], "and the tides");
    bed.down();
}

fn configure(home: &Home) {
    let model = &home.model;
    home.write(
        ".codex/config.toml",
        &format!(
            r#"model = "other-model"
model_provider = "fake"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
daemon_auto_start = false
plugins = false
apps = false

[model_providers.fake]
name = "Fake"
base_url = "{model}/v1"
wire_api = "responses"
env_key = "FAKE_API_KEY"
"#
        ),
    );
}

fn environment(_: &Home) -> Vec<(&'static str, String)> {
    vec![
        ("FAKE_API_KEY", KEY.to_owned()),
        // It looks one name up at every start.
        ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
        ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
    ]
}
