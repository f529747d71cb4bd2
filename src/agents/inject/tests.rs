use serde_json::{Value, json};

use super::*;
use crate::agents::catalogue::builtin;

const FARHELM: &str = "/opt/far helm/farhelm";

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

struct Asked {
    kind: Kind,
    argv: Vec<String>,
    env: BTreeMap<String, String>,
    wanted: bool,
    choices: HookChoices,
    settings_refused: Option<&'static str>,
}

fn asked(name: &str, argv: &str) -> Asked {
    Asked {
        kind: builtin()[name].clone(),
        argv: words(argv),
        env: BTreeMap::new(),
        wanted: true,
        choices: HookChoices::default(),
        settings_refused: None,
    }
}

impl Asked {
    fn inject(&self) -> Result<Injected, Skip> {
        inject(&Launching {
            kind: &self.kind,
            wanted: self.wanted,
            choices: self.choices,
            farhelm: Path::new(FARHELM),
            session: SessionId(uuid::Uuid::from_u128(1)),
            generation: 3,
            argv: &self.argv,
            env: &self.env,
            extensions: Path::new("/s/extensions"),
            settings_refused: self.settings_refused,
        })
    }

    fn skipped(&self) -> &'static str {
        self.inject().map_or_else(|skip| skip.code(), |_| "hooked")
    }
}

#[test]
fn claude_gets_one_settings_object_with_every_event() {
    let injected = asked("claude", "claude --model opus").inject().unwrap();
    assert_eq!((injected.argv.len(), injected.argv[0].as_str()), (2, "--settings"));
    assert!(injected.env.is_empty() && injected.files.is_empty());
    let settings: Value = serde_json::from_str(&injected.argv[1]).unwrap();
    let command = "'/opt/far helm/farhelm' internal hook --vendor claude --launch 3";
    let hook = json!([{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]);
    let events =
        ["Notification", "PermissionRequest", "SessionEnd", "SessionStart", "Stop", "StopFailure", "UserPromptSubmit"];
    assert_eq!(settings["hooks"].as_object().unwrap().keys().collect::<Vec<_>>(), events);
    assert!(settings["hooks"].as_object().unwrap().values().all(|value| *value == hook), "{settings}");
    assert_eq!(settings["disableAgentView"], true);
}

#[test]
fn claudes_agent_view_stays_where_it_is_asked_for() {
    let mut asked = asked("claude", "claude");
    asked.choices.agent_view = true;
    let settings: Value = serde_json::from_str(&asked.inject().unwrap().argv[1]).unwrap();
    assert_eq!(settings.get("disableAgentView"), None);
}

#[test]
fn the_hook_is_what_the_chain_rule_takes_for_a_trampoline() {
    let injected = asked("claude", "claude").inject().unwrap();
    let settings: Value = serde_json::from_str(&injected.argv[1]).unwrap();
    let command = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
    let argv = ["/bin/sh", "-c", command].map(str::to_owned);
    assert!(crate::agents::chain::is_trampoline(&argv), "{command}");
}

#[test]
fn codex_gets_each_event_and_trusts_exactly_these() {
    let injected = asked("codex", "codex").inject().unwrap();
    assert!(injected.argv.iter().step_by(2).all(|flag| flag == "-c"), "{:?}", injected.argv);
    let values: Vec<&str> = injected.argv.iter().skip(1).step_by(2).map(String::as_str).collect();
    assert_eq!(values[0], "features.hooks=true");
    let command = "'/opt/far helm/farhelm' internal hook --vendor codex --launch 3";
    assert_eq!(
        values[1],
        format!(r#"hooks.SessionStart=[{{hooks=[{{type="command",command="{command}",timeout=10}}]}}]"#)
    );
    let events: Vec<&str> = values[1..values.len() - 1].iter().map(|value| value.split('=').next().unwrap()).collect();
    let expected = ["SessionStart", "Interrupt", "PermissionRequest", "SessionEnd", "Stop", "UserPromptSubmit"];
    assert_eq!(events, expected.map(|event| format!("hooks.{event}")));
    assert!(values[2].contains("timeout=3") && values[4].contains("timeout=3"), "{values:?}");
    let state = values.last().unwrap();
    assert!(
        state.starts_with(r#"hooks.state={"/<session-flags>/config.toml:session_start:0:0"={trusted_hash="sha256:"#)
    );
    assert_eq!(state.matches("trusted_hash=\"sha256:").count(), 6, "{state}");
}

#[test]
fn codex_can_be_told_to_bypass_trust_instead() {
    let mut asked = asked("codex", "codex");
    asked.choices.bypass_trust = true;
    let argv = asked.inject().unwrap().argv;
    assert_eq!(argv.last().unwrap(), "--dangerously-bypass-hook-trust");
    assert!(argv.iter().all(|arg| !arg.starts_with("hooks.state")), "{argv:?}");
}

#[test]
fn pi_and_omp_get_an_extension_and_the_hook_in_the_environment() {
    for name in ["pi", "omp"] {
        let injected = asked(name, name).inject().unwrap();
        assert_eq!(injected.argv, ["-e", "/s/extensions/pi.ts"]);
        let hook: Vec<String> = serde_json::from_str(&injected.env[HOOK_ENV]).unwrap();
        assert_eq!(hook, [FARHELM, "internal", "hook", "--vendor", name, "--launch", "3"]);
        assert_eq!(injected.files[0].0, Path::new("/s/extensions/pi.ts"));
    }
}

#[test]
fn opencode_gets_a_plugin_beside_what_the_fleet_file_configures() {
    let mut asked = asked("opencode", "opencode");
    asked.env.insert("OPENCODE_CONFIG_CONTENT".to_owned(), r#"{"model":"m"}"#.to_owned());
    let injected = asked.inject().unwrap();
    assert!(injected.argv.is_empty());
    let config = &injected.env["OPENCODE_CONFIG_CONTENT"];
    assert_eq!(config, r#"{"model":"m","plugin":["file:///s/extensions/opencode.js"]}"#);
    asked.env.insert("OPENCODE_CONFIG_CONTENT".to_owned(), "[".to_owned());
    assert_eq!(asked.skipped(), "not-mergeable");
}

#[test]
fn gemini_gets_a_settings_file_of_its_own_where_it_would_read_one() {
    let mut asked = asked("gemini", "gemini");
    let injected = asked.inject().unwrap();
    let (file, bytes) = &injected.files[0];
    assert_eq!(injected.env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"], file.to_str().unwrap());
    assert_eq!(file, Path::new("/s/extensions/gemini-00000000-0000-0000-0000-000000000001.json"));
    let settings: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(settings["general"]["sessionRetention"]["enabled"], false);
    assert_eq!(settings["hooks"]["SessionStart"][0]["hooks"][0]["timeout"], 5000);
    asked.settings_refused = Some("/tmp is writable by others");
    assert_eq!(asked.skipped(), "settings-refused");
    asked.settings_refused = None;
    asked.env.insert("GEMINI_CLI_SYSTEM_SETTINGS_PATH".to_owned(), "/etc/own.json".to_owned());
    assert_eq!(asked.skipped(), "not-mergeable");
}

#[test]
fn a_settings_file_below_what_others_may_write_is_not_tried() {
    use crate::host::real::{Machine, Settings};
    let machine = Machine::new(Settings::default()).unwrap();
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let refused = |name: &str| settings_refused(&builtin()[name], &machine, dir.path());
    assert!(refused("gemini").unwrap().contains("is not only root's to write"));
    assert_eq!(refused("claude"), None);
}

#[test]
fn a_kind_without_hooks_is_not_given_any() {
    assert_eq!(asked("generic", "claude").skipped(), "no-hooks");
}

#[test]
fn the_switch_is_looked_at_before_the_command() {
    for name in ["claude", "codex", "pi", "omp", "opencode", "gemini"] {
        let mut asked = asked(name, &format!("{name} -- --help"));
        assert_eq!(asked.skipped(), "options-ended");
        asked.wanted = false;
        assert_eq!(asked.skipped(), "off");
    }
}

#[test]
fn a_farhelm_whose_path_is_no_text_gives_no_hook() {
    use std::os::unix::ffi::OsStrExt;
    let asked = asked("claude", "claude");
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"/\xff/farhelm"));
    let skip = inject(&Launching {
        kind: &asked.kind,
        wanted: true,
        choices: asked.choices,
        farhelm: odd,
        session: SessionId(uuid::Uuid::from_u128(1)),
        generation: 1,
        argv: &asked.argv,
        env: &asked.env,
        extensions: Path::new("/s"),
        settings_refused: None,
    });
    assert_eq!(skip, Err(Skip::NotText));
}

#[test]
fn what_configures_hooks_by_itself_or_is_no_conversation_is_left_alone() {
    for (name, argv, expected) in [
        ("claude", "claude", "hooked"),
        ("claude", "claude --resume id", "hooked"),
        ("claude", "w run /d claude --model x", "hooked"),
        ("claude", "claude --settingsfile x", "hooked"),
        ("claude", "claude mcp", "utility"),
        ("claude", "claude fix mcp", "hooked"),
        ("claude", "/usr/bin/claude update", "utility"),
        ("claude", "w run /d claude --version", "utility"),
        ("claude", "claude -p hello", "utility"),
        ("claude", "claude --settings {}", "own-hooks"),
        ("claude", "claude --settings={}", "own-hooks"),
        ("claude", "w --settings x claude", "own-hooks"),
        ("claude", "w -- claude", "options-ended"),
        ("codex", "codex", "hooked"),
        ("codex", "codex resume id -c model=x", "hooked"),
        ("codex", "codex -c features.hooksx=1 --config model_hooks.x=1", "hooked"),
        ("codex", "codex -c hooks.Stop=[]", "own-hooks"),
        ("codex", "codex -chooks.Stop=[]", "own-hooks"),
        ("codex", "codex -c=hooks.Stop=[]", "own-hooks"),
        ("codex", "codex --config hooks.Stop=[]", "own-hooks"),
        ("codex", "codex --config=hooks.Stop=[]", "own-hooks"),
        ("codex", "codex --config=hooks={}", "own-hooks"),
        ("codex", "codex -c features.hooks=false", "own-hooks"),
        ("codex", "codex --dangerously-bypass-hook-trust", "own-hooks"),
        ("codex", "codex exec x", "utility"),
        ("codex", "codex -c", "hooked"),
        ("codex", "w codex -- x", "options-ended"),
        ("pi", "pi install x", "utility"),
        ("pi", "pi -p x", "utility"),
        ("opencode", "opencode run x", "utility"),
        ("opencode", "opencode --pure", "own-hooks"),
        ("gemini", "gemini --list-sessions", "utility"),
    ] {
        assert_eq!(asked(name, argv).skipped(), expected, "{argv}");
    }
}

#[test]
fn a_flag_that_is_only_the_programs_own_name_is_none() {
    let mut asked = asked("claude", "claude");
    asked.kind.reports.as_mut().unwrap().skip.flags.push("claude".to_owned());
    assert_eq!(asked.skipped(), "hooked");
}
