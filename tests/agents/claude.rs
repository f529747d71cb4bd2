//! Claude Code.

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::{Agent, Home, KEY, Shown};

pub static AGENT: Agent = Agent {
    name: "claude",
    model: "fake-model",
    model_in_requests: "fake-model",
    arguments: &[
        "--model",
        "fake-model",
        "--effort",
        "low",
        "--dangerously-skip-permissions",
        "--session-id",
        "{uuid}",
        "{prompt}",
    ],
    hook: Some("--settings"),
    effort_in_requests: Some("low"),
    takes_prompt: true,
    configure,
    trust,
    environment,
    comm: "claude",
    shown: Shown::All,
    idle: &["❯\u{a0}", "(shift+tab to cycle)"],
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
    starts_without_the_marks_of_an_agent_above_it,
    a_report_made_while_the_server_dies_counts,
    comes_back_in_an_empty_conversation_that_a_clear_began,
);
tests_of!(
    wrapped:
    behind_two_wrappers_that_stay_it_is_refused,
    behind_a_wrapper_that_becomes_it_it_is_accepted,
    is_missed_behind_a_wrapper_that_lives_on,
);

const STATE: &str = ".claude.json";

fn configure(home: &Home) {
    let state = json!({
        "hasCompletedOnboarding": true,
        "hasSeenAutoDefaultNotice": true,
        "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
        "projects": {},
    });
    home.write(STATE, &state.to_string());
    home.write(".claude/settings.json", &json!({"skipDangerousModePermissionPrompt": true}).to_string());
}

fn trust(home: &Home, dir: &Path) {
    let mut state: Value = serde_json::from_str(&home.read(STATE)).expect("written by `configure`");
    // The trust of a folder above does not hold for a repository.
    state["projects"][dir.display().to_string()] = json!({"hasTrustDialogAccepted": true});
    home.write(STATE, &state.to_string());
}

fn environment(home: &Home) -> Vec<(&'static str, String)> {
    vec![
        ("ANTHROPIC_BASE_URL", home.model.clone()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("DISABLE_TELEMETRY", "1".to_owned()),
        ("DISABLE_ERROR_REPORTING", "1".to_owned()),
        // Root may not skip permissions, except in what says it is a sandbox.
        ("IS_SANDBOX", "1".to_owned()),
        ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
        ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
    ]
}

#[test]
fn a_question_before_its_start_is_named() {
    let Some(bed) = AGENT.bed() else { return };
    bed.sessions(&[("api", "permissions: yolo")]);
    let file = bed.path("home").join(STATE);
    let mut state: Value = serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
    state["projects"] = json!({});
    std::fs::write(&file, state.to_string()).expect("our own file");
    bed.apply();
    bed.wait("api", "its question is named", || {
        let status = bed.status();
        let api = status.of("api");
        api.health == "needs-input" && api.reason.contains("`trust`")
    });
    bed.down();
}

/// Without the hook only what is written, or not, says whether anything was said.
#[test]
fn without_the_hook_an_assigned_id_is_used_again_until_something_was_said_and_then_resumed() {
    let Some(bed) = AGENT.bed() else { return };
    bed.sessions(&[("api", "permissions: yolo\nhooks: off\nresume_assigned: true")]);
    bed.apply();
    bed.wait_idle("api");
    let id = bed.conversation("api")["id"].as_str().expect("an assigned id").to_owned();
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("1 to launch").says("nothing to lose").says("whose id is used again");
    bed.apply();
    bed.wait_idle("api");
    bed.type_into("api", "remember the harbour");
    bed.wait_turns("api", 1);
    bed.wait_idle("api");
    // Its screen is idle before that.
    bed.wait("api", "its transcript is written", || bed.conversation("api")["state"] == "unconfirmed");
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("launch, resume").says("kept, unconfirmed").says(&id[..8]);
    bed.apply();
    bed.goes_on("api", &id, &["remember the harbour"], "and of its ships");
    bed.down();
}

#[test]
fn is_not_resumed_while_its_conversation_is_open_in_another_process() {
    let Some(bed) = AGENT.bed() else { return };
    let api = ("api", "permissions: yolo");
    bed.sessions(&[api]);
    let id = bed.prompted("api", "remember the harbour");
    let other = format!(
        "dir: '@WORK@/api'\nkind: generic\ninvocation: [claude, --dangerously-skip-permissions, --resume, '{id}']"
    );
    bed.sessions(&[api, ("by-hand", &other)]);
    bed.apply();
    bed.wait_idle("by-hand");
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("blocked").says("open in another process");
    bed.apply();
    assert_eq!(bed.status().of("api").pid, None);
    bed.farhelm(["stop", "by-hand"]).ok();
    bed.farhelm(["plan"]).ok().says("launch, resume").says(&id[..8]);
    bed.apply();
    bed.goes_on("api", &id, &["remember the harbour"], "and of its ships");
    bed.down();
}
