//! Grok Build.

use crate::agent::{Agent, Home, Shown, by_choice};

pub static AGENT: Agent = Agent {
    name: "grok",
    model: "fake",
    model_in_requests: "fake-model",
    arguments: &["-m", "fake", "--reasoning-effort", "low", "--always-approve", "-s", "{uuid}", "{prompt}"],
    hook: None,
    effort_in_requests: None,
    takes_prompt: true,
    configure,
    trust: by_choice,
    environment,
    comm: "grok",
    shown: Shown::All,
    idle: &["│ ❯", "Fake Model"],
    busy: &["[stop]", "Ctrl+c:cancel"],
};

common_tests!();
tests_of!(
    kept: comes_back_after_a_kill_a_change_and_a_removal,
    comes_back_in_mid_turn_and_after_the_server_and_the_machine_died
);

fn configure(home: &Home) {
    let mut config =
        String::from("[cli]\nauto_update = false\n[models]\ndefault = \"other\"\n[features]\ntelemetry = false\n");
    for name in ["other", "fake"] {
        config += &format!(
            "[model.{name}]\nmodel = \"{name}-model\"\nbase_url = \"{}/v1\"\napi_key = \"dummy\"\n\
             name = \"Fake Model\"\ncontext_window = 200000\n",
            home.model
        );
    }
    home.write(".grok/config.toml", &config);
}

fn environment(_: &Home) -> Vec<(&'static str, String)> {
    [
        ("GROK_TELEMETRY_ENABLED", "0"),
        ("GROK_DISABLE_AUTOUPDATER", "1"),
        ("GROK_FEEDBACK_ENABLED", "0"),
        // A suggestion in the composer looks like a draft.
        ("GROK_PROMPT_SUGGESTIONS", "0"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}
