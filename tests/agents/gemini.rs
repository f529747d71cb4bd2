//! Gemini CLI.

use std::fs;

use serde_json::json;

use crate::agent::{Agent, Home, Shown, by_choice};
use crate::kept::fields;

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
tests_of!(
    kept: comes_back_after_a_kill_a_change_and_a_removal,
    comes_back_in_mid_turn_and_after_the_server_and_the_machine_died
);
tests_of!(wrapped: is_missed_behind_a_wrapper_that_lives_on);

#[test]
fn is_not_resumed_while_its_own_clean_up_would_delete_the_conversation() {
    let Some(bed) = AGENT.bed() else { return };
    bed.sessions(&[("api", &fields(&bed, ""))]);
    let id = bed.prompted("api", "remember the harbour");
    let file = bed.path("home/.gemini/settings.json");
    let settings = fs::read_to_string(&file).expect("written by `configure`");
    let endangered =
        settings.replace(r#""sessionRetention":{"enabled":false}"#, r#""sessionRetention":{"enabled":true}"#);
    assert_ne!(endangered, settings);
    fs::write(&file, endangered).expect("our own file");
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("blocked").says("set `general.sessionRetention.enabled` to false");
    bed.apply();
    assert_eq!(bed.status().of("api").pid, None);
    fs::write(&file, settings).expect("our own file");
    bed.farhelm(["plan"]).ok().says("launch, resume");
    bed.apply();
    bed.goes_on("api", &id, &["remember the harbour"], "and of its ships");
    bed.down();
}

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
