//! pi.

use serde_json::json;

use crate::agent::{Agent, Home, Shown, by_choice};

pub static AGENT: Agent = Agent {
    name: "pi",
    model: "fake/fake-model",
    model_in_requests: "fake-model",
    arguments: &["--model", "fake/fake-model", "--thinking", "low", "--approve", "--session-id", "{uuid}", "{prompt}"],
    hook: Some("-e"),
    effort_in_requests: Some("low"),
    takes_prompt: true,
    configure,
    trust: by_choice,
    environment,
    comm: "pi",
    shown: Shown::Name,
    idle: &["/200k (auto)", "-model"],
    busy: &[" Working "],
};

common_tests!();
tests_of!(
    kept: comes_back_after_a_kill_a_change_and_a_removal,
    comes_back_in_mid_turn_and_after_the_server_and_the_machine_died
);

fn configure(home: &Home) {
    let model = |id| json!({"id": id, "reasoning": true, "contextWindow": 200_000, "maxTokens": 8000});
    let models = json!({"providers": {"fake": {
        "baseUrl": format!("{}/v1", home.model),
        "apiKey": "dummy",
        "api": "openai-completions",
        "models": [model("other-model"), model("fake-model")],
    }}});
    home.write(".pi/agent/models.json", &models.to_string());
}

fn environment(_: &Home) -> Vec<(&'static str, String)> {
    [("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0"), ("PI_SKIP_VERSION_CHECK", "1")]
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec()
}
