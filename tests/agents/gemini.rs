//! Gemini CLI.

use serde_json::json;

use crate::agent::{Agent, Home, Shown, by_choice};

pub static AGENT: Agent = Agent {
    name: "gemini",
    model: "gemini-2.5-flash",
    model_in_requests: "gemini-2.5-flash",
    arguments: &[
        "-m",
        "gemini-2.5-flash",
        "--approval-mode",
        "yolo",
        "--session-id",
        "{uuid}",
        "--prompt-interactive={prompt}",
    ],
    hook: None,
    effort_in_requests: None,
    takes_prompt: true,
    configure,
    trust: by_choice,
    environment,
    comm: "node",
    shown: Shown::All,
    idle: &["Type your message or @path/to/file"],
    busy: &["esc to cancel"],
};

common_tests!();
tests_of!(kept: comes_back_after_a_kill_a_change_and_a_removal);

fn configure(home: &Home) {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "general": {
            "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false,
            // Its clean-up takes conversations that have been resumed for broken ones, and deletes them.
            "sessionRetention": {"enabled": false},
        },
    });
    home.write(".gemini/settings.json", &settings.to_string());
}

fn environment(home: &Home) -> Vec<(&'static str, String)> {
    vec![("GEMINI_API_KEY", "dummy".to_owned()), ("GOOGLE_GEMINI_BASE_URL", home.model.clone())]
}
