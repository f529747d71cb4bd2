//! The README's table of agents, made from the kinds and the results of the tests.

use std::fmt::Write as _;
use std::fs;

use farhelm::agents::catalogue::builtin;
use farhelm::agents::kind::{Kind, PromptForm};

use crate::AGENTS;
use crate::results::{self, Seen};

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
const BEGIN: &str = "<!-- agents: made by `FARHELM_BLESS=1 cargo test --test agents table` -->\n";
const END: &str = "<!-- end of agents -->\n";

/// The tests that prove that nothing is left of an agent.
const REAP: [&str; 2] = ["stop_in_mid_turn_leaves_nothing", "down_leaves_nothing"];

#[test]
fn the_table_in_the_readme_says_what_kinds_and_tests_say() {
    let table = table();
    let readme = fs::read_to_string(README).expect("a file of the project");
    let (before, rest) = readme.split_once(BEGIN).expect("the README has a place for the table");
    let (published, after) = rest.split_once(END).expect("the place has an end");
    if std::env::var_os("FARHELM_BLESS").is_some() {
        fs::write(README, format!("{before}{BEGIN}{table}{END}{after}")).expect("a file of the project");
        return;
    }
    assert_eq!(published, table, "run this test once with FARHELM_BLESS=1");
}

#[test]
fn every_kind_says_the_version_that_is_tested() {
    let results = results::read();
    for agent in AGENTS {
        let verified = agent.kind().verified.as_ref().map(|verified| verified.version.clone());
        assert_eq!(results.get(agent.name).map(|seen| seen.version.clone()), verified, "{}", agent.name);
    }
}

fn table() -> String {
    let results = results::read();
    let mut text = String::from(
        "| agent | version | launch | choices | assigned id | resume form | reap |\n|---|---|---|---|---|---|---|\n",
    );
    for kind in builtin().values().filter(|kind| kind.name.as_str() != "generic") {
        let seen = results.get(kind.name.as_str());
        let version = kind.verified.as_ref().map_or("", |verified| &verified.version);
        let cells = [
            kind.name.to_string(),
            version.to_owned(),
            launch(kind, seen),
            choices(kind),
            forms(kind, |forms| &forms.assign),
            forms(kind, |forms| &forms.resume),
            reap(seen).to_owned(),
        ];
        writeln!(text, "| {} |", cells.join(" | ")).expect("a text takes all");
    }
    text
}

/// How it starts.
fn launch(kind: &Kind, seen: Option<&Seen>) -> String {
    let program = kind.executables.first().map_or("", String::as_str);
    let prompt = match &kind.prompt {
        None => String::new(),
        Some(PromptForm::Positional) => " PROMPT".to_owned(),
        Some(PromptForm::Flag(flag)) => format!(" {flag} PROMPT"),
    };
    let tested = seen.is_some_and(|seen| seen.passed.contains("launched_with_its_choices_and_its_prompt_once"));
    format!("`{program}{prompt}`{}", if tested { "" } else { " (not tested)" })
}

fn choices(kind: &Kind) -> String {
    let forms = &kind.choices;
    let all = [
        ("model", &forms.model),
        ("effort", &forms.effort),
        ("yolo", &forms.yolo),
        ("trusted", &forms.trusted),
        ("untrusted", &forms.untrusted),
    ];
    let given = all.iter().filter(|(_, form)| !form.is_empty());
    given.map(|(name, form)| format!("{name} `{}`", form.join(" "))).collect::<Vec<_>>().join(", ")
}

fn forms(kind: &Kind, of: fn(&farhelm::agents::kind::ConversationForms) -> &Vec<String>) -> String {
    match kind.conversation.as_ref().map(of) {
        Some(form) if !form.is_empty() => format!("`{}`", form.join(" ")),
        _ => "none".to_owned(),
    }
}

fn reap(seen: Option<&Seen>) -> &'static str {
    let proved = |seen: &Seen| REAP.iter().all(|behaviour| seen.passed.contains(*behaviour));
    if seen.is_some_and(proved) { "nothing left in mid-turn" } else { "not tested" }
}
