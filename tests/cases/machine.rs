//! A first fleet file, and whether this machine is fit for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::fleet::Fleet;
use crate::support::ran::Ran;

/// A fleet whose `PATH` has no agents but those that a test puts there.
fn machine() -> Fleet {
    let fleet = Fleet::new();
    let path = [fleet.path("bin").to_str().expect("text"), "/usr/bin", "/bin"].join(":");
    fleet.set("PATH", path);
    for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "OPENAI_API_KEY"] {
        fleet.set(name, "");
    }
    fleet
}

/// A program that says this version, and is seen to have been asked in a home that is not the account's.
fn agent(fleet: &Fleet, name: &str, version: &str) {
    let text = format!("#!/bin/sh\n[ \"$*\" = --version ] || exit 9\necho x > \"$HOME/.touched\"\necho '{version}'\n");
    fleet.program(name, &text);
}

/// The findings of one area, each as `level: words`.
fn findings(ran: &Ran, area: &str) -> Vec<String> {
    let document: serde_json::Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran}"));
    let all = document["findings"].as_array().expect("a list").clone();
    let of = all.iter().filter(|finding| finding["area"] == area);
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    of.map(|finding| format!("{}: {}", text(&finding["level"]), text(&finding["words"]))).collect()
}

fn has(found: &[String], words: &str) -> bool {
    found.iter().any(|finding| finding.contains(words))
}

fn everything_below(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).expect("it can be read").flatten() {
            found.push(entry.path().display().to_string());
            if entry.file_type().expect("its type").is_dir() {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn doctor_says_what_is_installed_and_of_which_version() {
    let fleet = machine();
    agent(&fleet, "claude", "2.1.332 (Claude Code)");
    agent(&fleet, "codex", "codex-cli 0.99.0");
    agent(&fleet, "pi", "9.0.0");
    agent(&fleet, "cursor-agent", "2026.09.02-c22c1a3");
    fleet.program("grok", "#!/bin/sh\nexit 3\n");
    let ran = fleet.farhelm(["doctor", "--json"]).ok();
    let agents = findings(&ran, "agents");
    assert!(has(&agents, "version 2.1.332, as verified"), "{agents:#?}");
    assert!(has(&agents, "version 0.99.0, older than 0.171.0"), "{agents:#?}");
    assert!(has(&agents, "version 9.0.0, newer than 1.6.0"), "{agents:#?}");
    assert!(has(&agents, "version 2026.09.02-c22c1a3, which nobody could verify"), "{agents:#?}");
    assert!(has(&agents, "did not say its version: `--version` fails"), "{agents:#?}");
    assert!(has(&agents, "not installed: gemini, kimi, muse, omp, opencode, pi-signed, rovo"), "{agents:#?}");
    assert!(has(&agents, "warning: claude: no sign of a login or key"), "{agents:#?}");
    fleet.farhelm(["doctor"]).ok().says("tmux\n  ok       tmux 3").says("-> run `claude` once in a terminal");
}

#[test]
fn doctor_changes_nothing() {
    let fleet = machine();
    agent(&fleet, "claude", "2.1.332");
    fs::remove_dir(fleet.state()).expect("it is empty");
    let before = everything_below(fleet.root());
    fleet.farhelm(["doctor"]).ok().says("is not there yet");
    assert_eq!(everything_below(fleet.root()), before);
}

#[test]
fn doctor_fails_when_a_session_has_no_program() {
    let fleet = machine();
    fleet.program("cursor", "#!/bin/sh\n");
    fleet.file(
        "farhelm.yaml",
        "farhelm: v1\nfleet: t\nsessions: {edit: {profile: cursor, dir: /}, wrapped: {kind: cursor, invocation: [sh], dir: /}}\n",
    );
    let agents = findings(&fleet.farhelm(["doctor", "--json"]).code(1), "agents");
    let words = "problem: cursor: `cursor-agent` is not in PATH (`cursor` is there, and is the editor's launcher";
    assert!(has(&agents, words), "{agents:#?}");
}

#[test]
fn doctor_looks_at_trust_and_settings_without_touching_them() {
    let fleet = machine();
    agent(&fleet, "claude", "2.1.332");
    agent(&fleet, "gemini", "0.61.0");
    let (known, other) = (fleet.dir("known/below"), fleet.dir("other"));
    let home = fleet.path("home");
    let trusted = serde_json::json!({"projects": {known.parent().and_then(Path::to_str).expect("text"): {"hasTrustDialogAccepted": true}}});
    fs::write(home.join(".claude.json"), trusted.to_string()).expect("a file");
    fleet.set("ANTHROPIC_API_KEY", "k");
    let sessions = format!(
        "a: {{profile: claude, dir: '{}'}}, b: {{profile: claude, dir: '{}'}}",
        known.display(),
        other.display()
    );
    fleet.file("farhelm.yaml", format!("farhelm: v1\nfleet: t\nsessions: {{{sessions}}}\n"));
    let agents = findings(&fleet.farhelm(["doctor", "--json"]).ok(), "agents");
    let untrusted = format!("warning: claude: {} is not trusted", other.display());
    assert!(has(&agents, &untrusted) && !has(&agents, &format!("{} is not trusted", known.display())), "{agents:#?}");
    assert!(!has(&agents, "claude: no sign"), "{agents:#?}");
    assert!(has(&agents, "warning: gemini: a resumed conversation"), "{agents:#?}");
    fs::create_dir(home.join(".gemini")).expect("a directory");
    fs::write(home.join(".gemini/settings.json"), r#"{"general":{"sessionRetention":{"enabled":false}}}"#)
        .expect("a file");
    let agents = findings(&fleet.farhelm(["doctor", "--json"]).ok(), "agents");
    assert!(!has(&agents, "gemini: a resumed"), "{agents:#?}");
}

#[test]
fn doctor_finds_what_is_wrong_with_the_state() {
    let fleet = machine();
    fs::create_dir(fleet.state().join("sessions")).expect("a directory");
    let damaged = "00000000-0000-4000-8000-000000000001.json";
    fs::write(fleet.state().join("sessions").join(damaged), "{").expect("a file");
    fs::set_permissions(fleet.state(), fs::Permissions::from_mode(0o755)).expect("our own");
    let state = findings(&fleet.farhelm(["doctor", "--json"]).code(1), "state");
    assert!(
        state.iter().any(|it| it.starts_with("warning: ") && it.ends_with("open to others (mode 755)")),
        "{state:#?}"
    );
    assert!(has(&state, &format!("{damaged} cannot be understood")), "{state:#?}");
    fs::set_permissions(fleet.state(), fs::Permissions::from_mode(0o777)).expect("our own");
    let state = findings(&fleet.farhelm(["doctor", "--json"]).code(1), "state");
    assert!(
        state.iter().any(|it| it.starts_with("problem: ") && it.ends_with("open to others (mode 777)")),
        "{state:#?}"
    );
}

#[test]
fn doctor_says_that_tmux_is_missing() {
    let fleet = machine();
    fleet.set("PATH", fleet.path("bin").into_os_string());
    let tmux = findings(&fleet.farhelm(["doctor", "--json"]).code(1), "tmux");
    assert!(has(&tmux, "problem: `tmux` was not found"), "{tmux:#?}");
}

#[test]
fn init_writes_a_fleet_of_the_agents_that_are_here() {
    let fleet = machine();
    agent(&fleet, "claude", "2.1.332");
    agent(&fleet, "pi", "1.6.0");
    fleet.farhelm(["init", "--fleet", "mine"]).ok().mentions("agents found: claude, pi");
    let text = fs::read_to_string(fleet.path("work/farhelm.yaml")).expect("it was written");
    assert!(
        text.starts_with("# yaml-language-server: $schema=.farhelm.schema.json\nfarhelm: v1\nfleet: mine\n"),
        "{text}"
    );
    assert!(fleet.path("work/.farhelm.schema.json").exists());
    fleet.farhelm(["validate"]).ok().says("fleet mine: 1 sessions").never_says("warning");
    // What is commented out is as good.
    let all = text.replace("  # pi:", "  pi:").replace("  #   p", "    p").replace("  #   d", "    d");
    fleet.file("farhelm.yaml", all);
    fleet.farhelm(["validate"]).ok().says("2 sessions");
}

#[test]
fn init_never_replaces_a_file_unless_forced() {
    let fleet = machine();
    fleet.file("farhelm.yaml", "mine\n");
    fleet.farhelm(["init"]).code(1).mentions("farhelm.yaml is there already; --force replaces it");
    assert_eq!(fs::read_to_string(fleet.path("work/farhelm.yaml")).expect("it is there"), "mine\n");
    fleet.farhelm(["init", "--force"]).ok();
    fleet.farhelm(["validate"]).ok();
    assert_eq!(fs::metadata(fleet.path("work/farhelm.yaml")).expect("it is there").permissions().mode() & 0o777, 0o644);
}

#[test]
fn init_works_without_any_agent_and_in_an_odd_directory() {
    let fleet = machine();
    let dir = fleet.dir("Od'd \"$x${y}: #dir");
    let file = dir.join("farhelm.yaml");
    fleet.farhelm([Path::new("init"), &file]).ok().mentions("no agent found in PATH");
    fleet.farhelm([Path::new("validate"), &file]).ok().says("fleet od-d---x--y----dir");
    fleet.farhelm([Path::new("render"), &file]).ok().says("$x$${y}: #dir");
}
