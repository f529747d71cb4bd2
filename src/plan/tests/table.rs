//! The truth table: every row of it, every action and every reason code, each as a world and the lines expected of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;

use crate::config::desired::{Departure, EnvValue, OnLost, RestartWhen, UpdateWhen};
use crate::host::process::ProcessKey;
use crate::host::tmux::{PaneId, Socket};
use crate::observe::observed::{Activity, AgentSeen, DirSeen, Evidence, ForeignPane, Seen, ServerSeen, TabSeen};
use crate::plan::action::{Action, Item, Mode};
use crate::plan::reason::Reason;
use crate::plan::{Trigger, tabs};
use crate::state::record::{EndedHow, HoldKind, Phase, Provenance};

use super::world::{World, absent, ago, globs, id, name, session, shell_tab};

mod absent;
mod alive;
mod ended;
mod leaving;
mod rollout;

use absent::{ABSENT, CONFLICTS, UNKNOWN};
use alive::ALIVE;
use ended::{ENDED, HOLDS};
use leaving::{REMOVED, TABS};
use rollout::ROLLOUT;

/// One row: what it shows, the world, and the lines of its plan, `session: action because codes`.
struct Row {
    what: &'static str,
    lines: &'static str,
    world: fn(&mut World),
}

const fn row(what: &'static str, lines: &'static str, world: fn(&mut World)) -> Row {
    Row { what, lines, world }
}

fn lines(items: &[Item]) -> String {
    let line = |item: &Item| {
        let codes: Vec<String> = item.reasons.iter().map(code).collect();
        format!("{}: {} because {}", item.session, action(&item.action), codes.join(" "))
    };
    items
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
        .replace(" because \n", "\n")
        .trim_end_matches(" because ")
        .to_owned()
}

fn code(reason: &Reason) -> String {
    serde_json::to_value(reason).unwrap()["code"].as_str().unwrap().to_owned()
}

fn action(action: &Action) -> String {
    match action {
        Action::Blocked(inner) => format!("blocked({})", self::action(inner)),
        Action::Waiting(inner) => format!("waiting({})", self::action(inner)),
        Action::Launch(mode) => format!("launch {}", self::mode(mode)),
        Action::Restart(mode) => format!("restart {}", self::mode(mode)),
        Action::OpenTab(tab) => format!("open-tab {tab}"),
        Action::CloseTab(tab) => format!("close-tab {tab}"),
        Action::Move { from } => format!("move from {from}"),
        Action::Unchanged => "unchanged".to_owned(),
        Action::Adjust => "adjust".to_owned(),
        Action::Stop => "stop".to_owned(),
        Action::Reap => "reap".to_owned(),
        Action::Adopt => "adopt".to_owned(),
        Action::Unknown => "unknown".to_owned(),
    }
}

fn mode(mode: &Mode) -> &'static str {
    match mode {
        Mode::Fresh { prompt: true } => "fresh+prompt",
        Mode::Fresh { prompt: false } => "fresh",
        Mode::SameId { .. } => "same-id",
        Mode::Resume { .. } => "resume",
        Mode::Verbatim => "verbatim",
    }
}

fn change_model(w: &mut World, text: &str) {
    w.wanted(text).choices.model = Some("opus".to_owned());
}

fn working(w: &mut World, text: &str, activity: Activity) {
    change_model(w, text);
    w.seen(text).activity = activity;
}

fn failing(w: &mut World, failures: u32) {
    w.running("api", "claude").ended("api", EndedHow::Exited(1)).trigger(Trigger::Watch);
    w.record("api").failures = failures;
    w.launch("api").at.wall_ms = ago(20);
}

fn rows() -> impl Iterator<Item = &'static Row> {
    [UNKNOWN, ABSENT, CONFLICTS, ALIVE, ENDED, HOLDS, REMOVED, TABS, ROLLOUT].into_iter().flatten()
}

fn planned(row: &Row) -> Vec<Item> {
    let mut world = World::new();
    (row.world)(&mut world);
    world.plan().items
}

#[test]
fn every_row_of_the_truth_table_gives_its_lines() {
    let wrong: Vec<String> = rows()
        .map(|row| (row, lines(&planned(row))))
        .filter(|(row, lines)| row.lines != lines)
        .map(|(row, lines)| format!("{}\n  wanted: {}\n  got:    {lines}", row.what, row.lines))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_reason_code_has_a_row_and_words() {
    let schema = Reason::json_schema(&mut schemars::SchemaGenerator::default());
    let variants = schema.get("oneOf").unwrap().as_array().unwrap().clone();
    let codes: BTreeSet<String> =
        variants.iter().map(|variant| variant["properties"]["code"]["const"].as_str().unwrap().to_owned()).collect();
    let reasons: Vec<Reason> = rows().flat_map(planned).flat_map(|item| item.reasons).collect();
    let used: BTreeSet<String> = reasons.iter().map(code).collect();
    assert_eq!(codes, used);
    for reason in &reasons {
        assert!(!reason.words().is_empty(), "{reason:?}");
    }
}

#[test]
fn every_action_has_a_row() {
    let all = rows().flat_map(planned).map(|item| action(&item.action)).collect::<Vec<_>>().join(" ");
    for word in [
        "unchanged",
        "launch",
        "adjust",
        "open-tab",
        "restart",
        "stop",
        "reap",
        "close-tab",
        "adopt",
        "move",
        "waiting",
        "blocked",
        "unknown",
    ] {
        assert!(all.contains(word), "{word}");
    }
    for word in ["fresh+prompt", "same-id", "resume", "verbatim"] {
        assert!(all.contains(word), "{word}");
    }
}

#[test]
fn what_hinders_comes_first_and_only_where_something_is_held_back() {
    for item in rows().flat_map(planned) {
        let held = matches!(item.action, Action::Blocked(_) | Action::Waiting(_) | Action::Unknown);
        let first = item.reasons.first().is_some_and(Reason::hinders);
        assert_eq!(held, first && item.action != Action::Unchanged, "{item:?}");
        assert!(item.reasons.is_sorted_by_key(|reason| !reason.hinders()), "{item:?}");
    }
}

#[test]
fn a_tab_of_a_lost_record_is_never_taken_for_changed() {
    let mut world = World::new();
    world.running("api", "claude").open_tab("api", "logs", "x".into());
    world.wanted("api").tabs.insert(name("logs"), shell_tab());
    world.unrecord("api");
    assert_eq!(lines(&world.plan().items), "api: adopt because no-record");
}

#[test]
fn a_pane_of_another_fleet_is_not_adopted() {
    let mut world = World::new();
    world.running("api", "claude").unrecord("api").unwant("api");
    world.seen("api").stamp.as_mut().unwrap().fleet = name("other");
    assert!(world.plan().items.is_empty());
}

#[test]
fn seen_but_absent_sessions_without_memory_are_nobodys() {
    let mut world = World::new();
    world.observed.sessions.insert(id("ghost"), Seen { ..absent() });
    assert!(world.plan().items.is_empty());
}
