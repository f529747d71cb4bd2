//! omp.

use crate::agent::{Agent, Home, Shown, by_choice};

pub static AGENT: Agent = Agent {
    name: "omp",
    model: "fake/fake-model",
    model_in_requests: "fake-model",
    arguments: &["--model", "fake/fake-model", "--thinking", "low", "--auto-approve", "{prompt}"],
    hook: Some("-e"),
    effort_in_requests: Some("low"),
    takes_prompt: true,
    configure,
    trust: by_choice,
    environment,
    comm: "omp",
    shown: Shown::All,
    idle: &["π", " Fake Model > ", "╰─"],
    busy: &["Working…"],
};

common_tests!();
tests_of!(
    kept: comes_back_after_a_kill_a_change_and_a_removal,
    comes_back_in_mid_turn_and_after_the_server_and_the_machine_died
);

fn configure(home: &Home) {
    let mut models = format!(
        "providers:\n  fake:\n    baseUrl: {}/v1\n    apiKey: dummy\n    api: openai-completions\n    models:\n",
        home.model
    );
    for id in ["other-model", "fake-model"] {
        models += &format!(
            "      - {{id: {id}, name: Fake Model, reasoning: true, input: [text], contextWindow: 200000, maxTokens: 8000, \
             cost: {{input: 0, output: 0, cacheRead: 0, cacheWrite: 0}}}}\n"
        );
    }
    home.write(".omp/agent/models.yml", &models);
    home.write(".omp/agent/config.yml", "startup:\n  checkUpdate: false\n");
}

fn environment(_: &Home) -> Vec<(&'static str, String)> {
    [("OMP_SKIP_SETUP", "1"), ("PI_NO_TITLE", "1")].map(|(name, value)| (name, value.to_owned())).to_vec()
}
