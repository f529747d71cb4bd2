//! opencode.

use serde_json::json;

use crate::agent::{Agent, Home, Shown, by_choice};

pub static AGENT: Agent = Agent {
    name: "opencode",
    model: "fake/fake-model",
    model_in_requests: "fake-model",
    arguments: &["-m", "fake/fake-model", "--auto", "--prompt={prompt}"],
    hook: None,
    effort_in_requests: None,
    takes_prompt: true,
    configure,
    trust: by_choice,
    environment,
    comm: "opencode",
    shown: Shown::All,
    idle: &["┃", "ctrl+p commands"],
    busy: &["esc interrupt"],
};

common_tests!();
tests_of!(
    kept: comes_back_after_a_kill_a_change_and_a_removal,
    comes_back_in_mid_turn_and_after_the_server_and_the_machine_died
);

fn configure(home: &Home) {
    // With a plugin of anybody's it asks npm for a package at its start, and without a network for a minute and more.
    home.write(".npmrc", "fetch-retries=0\n");
}

fn environment(home: &Home) -> Vec<(&'static str, String)> {
    let model = json!({"limit": {"context": 200_000, "output": 8000}});
    let config = json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "fake/other-model",
        "small_model": "fake/other-model",
        "enabled_providers": ["fake"],
        "provider": {"fake": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{}/v1", home.model), "apiKey": "dummy"},
            "models": {"other-model": &model, "fake-model": &model},
        }},
    });
    let off = [
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    ];
    let mut environment: Vec<_> = off.into_iter().map(|name| (name, "1".to_owned())).collect();
    environment.push(("OPENCODE_CONFIG_CONTENT", config.to_string()));
    environment
}
