//! Every built-in kind: fresh, assigned and resumed, with all it can express.

use super::*;
use crate::agents::choice::{can_express, environment};
use crate::config::desired::{Permissions, Trust};

const DIR: Slots<'static> = Slots { cwd: "/src/a b.c" };
const EFFORT: &str = "high";

/// What one kind's command lines are, words separated by ` | `; an id is `ID`, the prompt `do it`.
struct Row {
    kind: &'static str,
    fresh: &'static str,
    /// With the whole of what it can express, and a prompt where it takes one.
    full: &'static str,
    /// The same, resumed.
    resumed: &'static str,
    /// Environment of the full ones.
    env: &'static [(&'static str, &'static str)],
}

const ROWS: [Row; 13] = [
    Row {
        kind: "claude",
        fresh: "claude | --session-id | ID",
        full: "claude | --model | m | --effort | high | --dangerously-skip-permissions | --session-id | ID | do it",
        resumed: "claude | --model | m | --effort | high | --dangerously-skip-permissions | --resume | ID",
        env: &[("CLAUDE_CODE_DISABLE_AGENT_VIEW", "1")],
    },
    Row {
        kind: "codex",
        fresh: "codex | -c | features.daemon_auto_start=false",
        full: "codex | -c | features.daemon_auto_start=false | -m | m | -c | model_reasoning_effort=\"high\" | \
               --dangerously-bypass-approvals-and-sandbox | -c | \
               projects={\"/src/a b.c\"={trust_level=\"trusted\"}} | do it",
        resumed: "codex | resume | ID | -c | features.daemon_auto_start=false | -m | m | -c | \
                  model_reasoning_effort=\"high\" | --dangerously-bypass-approvals-and-sandbox | -c | \
                  projects={\"/src/a b.c\"={trust_level=\"trusted\"}}",
        env: &[],
    },
    Row {
        kind: "cursor",
        fresh: "cursor-agent",
        full: "cursor-agent | --model | m | --yolo | --trust | do it",
        resumed: "",
        env: &[],
    },
    Row {
        kind: "gemini",
        fresh: "gemini | --session-id | ID",
        full: "gemini | -m | m | --approval-mode | yolo | --session-id | ID | --prompt-interactive=do it",
        resumed: "gemini | -m | m | --approval-mode | yolo | --resume | ID",
        env: &[("GEMINI_CLI_NO_RELAUNCH", "1"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")],
    },
    Row { kind: "generic", fresh: "tool", full: "tool", resumed: "", env: &[] },
    Row {
        kind: "grok",
        fresh: "grok | -s | ID",
        full: "grok | -m | m | --reasoning-effort | high | --always-approve | -s | ID | do it",
        resumed: "grok | -m | m | --reasoning-effort | high | --always-approve | --no-leader | --resume | ID",
        env: &[("GROK_CLAUDE_HOOKS_ENABLED", "0"), ("GROK_FOLDER_TRUST", "0")],
    },
    Row {
        kind: "kimi",
        fresh: "kimi",
        full: "kimi | -m | m | --auto",
        resumed: "kimi | -m | m | --auto | -S | ID",
        env: &[("KIMI_MODEL_THINKING_EFFORT", "high")],
    },
    Row {
        kind: "muse",
        fresh: "muse",
        full: "muse | --model | m | --reasoning-effort | high | --yolo | do it",
        resumed: "muse | resume | ID | --model | m | --reasoning-effort | high | --yolo",
        env: &[],
    },
    Row {
        kind: "omp",
        fresh: "omp",
        full: "omp | --model | m | --thinking | high | --auto-approve | do it",
        resumed: "omp | --model | m | --thinking | high | --auto-approve | --resume | ID",
        env: &[],
    },
    Row {
        kind: "opencode",
        fresh: "opencode",
        full: "opencode | -m | m | --auto | --prompt=do it",
        resumed: "opencode | -m | m | --auto | -s | ID",
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
    },
    Row {
        kind: "pi",
        fresh: "pi | --session-id | ID",
        full: "pi | --model | m | --thinking | high | --approve | --session-id | ID | do it",
        resumed: "pi | --model | m | --thinking | high | --approve | --session | ID",
        env: &[],
    },
    Row {
        kind: "pi-signed",
        fresh: "pi-signed | --session-id | ID",
        full: "pi-signed | --model | m | --thinking | high | --approve | --session-id | ID | do it",
        resumed: "pi-signed | --model | m | --thinking | high | --approve | --session | ID",
        env: &[],
    },
    Row {
        kind: "rovo",
        fresh: "rovo | run",
        full: "rovo | run | --model | m | --config-override | {\"agent\":{\"efficiencyLevel\":\"high\"}} | --yolo",
        resumed: "rovo | run | --model | m | --config-override | {\"agent\":{\"efficiencyLevel\":\"high\"}} | --yolo | \
                  --restore | ID",
        env: &[],
    },
];

fn of(row: &Row) -> (&'static Kind, Session) {
    let kind = &builtin()[row.kind];
    let mut plain = session(["tool"]);
    plain.kind = kind.name.clone();
    plain.invocation = kind.invocation().unwrap_or(plain.invocation);
    (kind, plain)
}

/// Everything that the kind can express.
fn all(kind: &Kind) -> Choices {
    let can = |choice| can_express(kind, choice).is_ok();
    Choices {
        model: can(Choice::Model("m")).then(|| "m".to_owned()),
        effort: can(Choice::Effort(EFFORT)).then(|| EFFORT.to_owned()),
        permissions: if can(Choice::Yolo) { Permissions::Yolo } else { Permissions::Default },
        trust: can(Choice::Trust(Trust::Trusted)).then_some(Trust::Trusted),
        ..Choices::default()
    }
}

fn line(words: &[String]) -> String {
    words.iter().map(|word| if word == ID { "ID" } else { word }).collect::<Vec<_>>().join(" | ")
}

fn assign(kind: &Kind) -> Option<&'static str> {
    kind.conversation.as_ref().filter(|forms| !forms.assign.is_empty()).map(|_| ID)
}

#[test]
fn there_is_a_row_for_every_kind() {
    let rows: Vec<&str> = ROWS.iter().map(|row| row.kind).collect();
    assert_eq!(rows, builtin().keys().map(Name::as_str).collect::<Vec<_>>());
}

#[test]
fn a_fresh_launch_says_nothing_that_was_not_chosen() {
    for row in &ROWS {
        let (kind, session) = of(row);
        let start = Start::Fresh { prompt: None, assign: assign(kind) };
        assert_eq!(line(&compose(kind, &session, &start, &DIR).unwrap()), row.fresh, "{}", row.kind);
    }
}

#[test]
fn a_fresh_launch_says_every_choice_and_the_prompt() {
    for row in &ROWS {
        let (kind, mut session) = of(row);
        session.choices = all(kind);
        let prompt = kind.prompt.is_some().then_some("do it");
        let start = Start::Fresh { prompt, assign: assign(kind) };
        assert_eq!(line(&compose(kind, &session, &start, &DIR).unwrap()), row.full, "{}", row.kind);
    }
}

#[test]
fn a_resume_says_every_choice_again() {
    for row in &ROWS {
        let (kind, mut session) = of(row);
        session.choices = all(kind);
        let resumed = compose(kind, &session, &Start::Resume { conversation: ID }, &DIR);
        match row.resumed {
            "" => assert!(matches!(resumed, Err(ComposeError::NotDerivable(NotDerivable::NoForm(_)))), "{}", row.kind),
            words => assert_eq!(line(&resumed.unwrap()), words, "{}", row.kind),
        }
    }
}

#[test]
fn the_environment_is_the_kinds_and_that_of_the_choices() {
    for row in &ROWS {
        let (kind, _) = of(row);
        let env = environment(kind, &all(kind), DIR.cwd).unwrap();
        let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(env, row.env, "{}", row.kind);
    }
}

#[test]
fn each_choice_alone_is_composed_or_refused_with_what_there_is() {
    for row in &ROWS {
        let (kind, plain) = of(row);
        let none = Choices::default();
        let alone = [
            Choices { model: Some("m".to_owned()), ..none.clone() },
            Choices { effort: Some(EFFORT.to_owned()), ..none.clone() },
            Choices { permissions: Permissions::Yolo, ..none.clone() },
            Choices { trust: Some(Trust::Trusted), ..none.clone() },
            Choices { trust: Some(Trust::Untrusted), ..none.clone() },
        ];
        for choices in alone {
            let choice = choice::made(&choices).next().unwrap();
            let session = Session { choices: choices.clone(), ..plain.clone() };
            let composed = compose(kind, &session, &FRESH, &DIR);
            let env = environment(kind, &choices, DIR.cwd);
            match can_express(kind, choice) {
                Ok(()) => assert!(composed.is_ok() && env.is_ok(), "{} {choice}", row.kind),
                Err(error) => {
                    assert!(error.to_string().contains("it can express"), "{error}");
                    assert_eq!(composed, Err(error.into()));
                    assert!(env.is_err());
                }
            }
        }
    }
}

#[test]
fn what_forbids_a_derived_resume_forbids_it_for_each_kind() {
    for kind in builtin().values() {
        let Some(forms) = &kind.conversation else { continue };
        let own = kind.invocation().unwrap();
        assert!(derivable(kind, &own).is_ok(), "{}", kind.name);
        for word in forms.not_with.iter().chain([&"--".to_owned()]) {
            let invocation = [own.clone(), vec![word.clone()]].concat();
            assert!(derivable(kind, &invocation).is_err(), "{} {word}", kind.name);
        }
        let said = [&forms.resume, &forms.assign].into_iter().flatten().filter(|arg| *arg != CONVERSATION);
        for arg in said.filter(|arg| *arg != "--no-leader") {
            assert!(forms.excluded_by(arg).is_some(), "{} {arg} is not in not_with", kind.name);
        }
    }
}

#[test]
fn codex_trusts_a_directory_of_any_spelling_for_one_run() {
    let codex = &builtin()["codex"];
    let choices = Choices { trust: Some(Trust::Trusted), ..Choices::default() };
    for (dir, quoted) in [("/a.b/c d", r#""/a.b/c d""#), (r#"/q"\é"#, r#""/q\"\\é""#)] {
        let session = Session { choices: choices.clone(), ..session(["codex"]) };
        let argv = compose(codex, &session, &FRESH, &Slots { cwd: dir }).unwrap();
        assert_eq!(*argv.last().unwrap(), format!("projects={{{quoted}={{trust_level=\"trusted\"}}}}"));
    }
}
