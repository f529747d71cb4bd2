//! Codex.

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
    is_held_when_its_transcript_is_gone,
    comes_back_in_the_conversation_that_a_clear_began,
    a_nested_run_changes_nothing,
);
tests_of!(same: two_in_one_directory_are_never_crossed, comes_back_with_its_posture_and_its_environment);
tests_of!(
    wrapped:
    behind_node_between_it_and_the_terminal_it_is_refused,
    behind_node_as_the_terminals_own_process_it_is_accepted,
    behind_a_wrapper_that_becomes_it_it_is_accepted,
    as_the_native_program_it_is_accepted,
);

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
