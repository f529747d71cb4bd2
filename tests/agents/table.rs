//! The README's table of agents, made from the kinds and the results of the tests.

use std::fmt::Write as _;
use std::fs;

use farhelm::agents::catalogue::builtin;
use farhelm::agents::kind::reports::Doing;
use farhelm::agents::kind::{ChoiceForm, Kind, PromptForm};

use crate::AGENTS;
use crate::results::{self, Seen};

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
const BEGIN: &str = "<!-- agents: made by `FARHELM_BLESS=1 cargo test --test agents table` -->\n";
const END: &str = "<!-- end of agents -->\n";

/// The test that proves how it is launched.
const LAUNCH: &str = "launched_with_its_choices_and_its_prompt_once";
/// The test that proves that its conversation survives.
const RESUME: &str = "comes_back_after_a_kill_a_change_and_a_removal";
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
        "| agent | verified | launch | choices | identity by | resume | activity | reap |\n|---|---|---|---|---|---|---|---|\n",
    );
    for kind in builtin().values().filter(|kind| kind.name.as_str() != "generic") {
        let seen = results.get(kind.name.as_str());
        let verified = kind.verified.as_ref().map(|verified| format!("{}, {}", verified.version, verified.date));
        let cells = [
            kind.name.to_string(),
            verified.unwrap_or_else(|| "not run".to_owned()),
            launch(kind, seen),
            choices(kind),
            identity(kind),
            resume(kind, seen),
            activity(kind),
            reap(seen).to_owned(),
        ];
        writeln!(text, "| {} |", cells.join(" | ")).expect("a text takes all");
    }
    text
}

/// How it starts.
fn launch(kind: &Kind, seen: Option<&Seen>) -> String {
    let mut words = vec![program(kind)];
    words.extend(kind.command.iter().chain(&kind.args).map(String::as_str));
    let prompt = match &kind.prompt {
        None => "",
        Some(PromptForm::Positional) => " PROMPT",
        Some(PromptForm::Flag(flag)) => &format!(" {flag}{}PROMPT", if flag.ends_with('=') { "" } else { " " }),
    };
    let untested = if seen.is_some_and(|seen| seen.passed.contains(LAUNCH)) { "" } else { " (not tested)" };
    let no_prompt = if kind.prompt.is_none() { ", without a prompt" } else { "" };
    format!("`{}{prompt}`{no_prompt}{untested}", words.join(" "))
}

fn program(kind: &Kind) -> &str {
    kind.executables.first().map_or("", String::as_str)
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
    let sayable =
        all.into_iter().filter_map(|(name, form)| Some((name, form.as_ref().filter(|form| form.is_sayable())?)));
    sayable.map(|(name, form)| format!("{name} {}", said(form))).collect::<Vec<_>>().join(", ")
}

fn said(form: &ChoiceForm) -> String {
    let variables = form.env.iter().map(|(name, value)| format!("{name}={value}"));
    let words: Vec<String> = variables.chain(form.args.iter().cloned()).collect();
    if words.is_empty() { "always".to_owned() } else { format!("`{}`", words.join(" ")) }
}

/// By what its conversation is known.
fn identity(kind: &Kind) -> String {
    let assigned = kind.conversation.as_ref().map(|forms| forms.assign.join(" ")).filter(|form| !form.is_empty());
    let reported = kind.reports.as_ref().map(|it| if it.at_start() { "its start" } else { "its first prompt" });
    match (assigned, reported) {
        (Some(form), Some(when)) => format!("`{form}`, and its hook at {when}"),
        (Some(form), None) => format!("`{form}`"),
        (None, Some(when)) => format!("its hook at {when}"),
        (None, None) => "nothing".to_owned(),
    }
}

/// How it is resumed, and whether that was seen.
fn resume(kind: &Kind, seen: Option<&Seen>) -> String {
    let forms = kind.conversation.as_ref().filter(|_| kind.identifies());
    let Some(forms) = forms else { return "never: each launch begins anew".to_owned() };
    let tested = seen.is_some_and(|seen| seen.passed.contains(RESUME));
    let unconfirmed = if kind.reports.is_none() { ", with `resume_assigned`" } else { "" };
    let untested = if tested { "" } else { " (not tested)" };
    format!("`{} {}`{unconfirmed}{untested}", program(kind), forms.resume.join(" "))
}

/// What it says of what it does.
fn activity(kind: &Kind) -> String {
    let Some(reports) = kind.reports.as_ref().filter(|reports| !reports.activity.is_empty()) else {
        return "unknown".to_owned();
    };
    let says = |doing| reports.activity.values().any(|said| *said == doing);
    let words = [(Doing::Working, "working"), (Doing::Idle, "idle"), (Doing::NeedsInput, "needs input")];
    words.into_iter().filter(|(doing, _)| says(*doing)).map(|(_, word)| word).collect::<Vec<_>>().join(", ")
}

fn reap(seen: Option<&Seen>) -> &'static str {
    let proved = |seen: &Seen| REAP.iter().all(|behaviour| seen.passed.contains(*behaviour));
    if seen.is_some_and(proved) { "nothing left in mid-turn" } else { "not tested" }
}
