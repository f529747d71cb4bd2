use std::fs;
use std::path::Path;

use super::*;
use crate::agents::catalogue::builtin;
use crate::agents::kind::reports::START;
use crate::host::process::{BootId, ProcessKey};
use crate::host::real::{Machine, Settings};
use crate::host::tmux::Socket;
use crate::state::record::Phase;
use crate::state::reports::{Link, VERSION, WalkEnd};

const ID: &str = "01a22c4d-31cd-7c31-ab52-83301718de21";
const OTHER: &str = "01a22c50-23e8-7a70-ba96-80cee1aeb781";
const PANE: ProcessKey = ProcessKey { pid: 50, start: 5 };

fn kind(name: &str) -> Kind {
    builtin()[name].clone()
}

fn disk() -> Machine {
    Machine::new(Settings::default()).unwrap()
}

fn at(boot_ms: u64) -> Moment {
    Moment { boot_ms, wall_ms: 0 }
}

fn launch(generation: u32) -> Launch {
    Launch {
        generation,
        phase: Phase::Running,
        at: at(0),
        boot: BootId("boot".to_owned()),
        socket: Socket("/s".into()),
        server: None,
        pane: None,
        process: Some(PANE),
        agent: None,
        scoped: false,
        resumed: false,
        prompt: None,
        hook: crate::state::record::HookState::None,
        ran: false,
        over: None,
        refused: None,
        contradicted: None,
        ended: None,
    }
}

/// A report from the terminal's own process.
fn report(vendor: &str, conversation: &str, source: Option<&str>) -> Report {
    let link = |process: ProcessKey, exe: &str, argv: &[&str]| Link {
        process,
        parent: process.pid - 1,
        comm: String::new(),
        exe: Some(exe.to_owned()),
        argv: Some(argv.iter().map(|arg| (*arg).to_owned()).collect()),
        cwd: None,
    };
    let hook = ["/opt/farhelm", "internal", "hook", "--vendor", vendor, "--launch", "2"];
    Report {
        version: VERSION,
        vendor: vendor.to_owned(),
        generation: 2,
        boot: BootId("boot".to_owned()),
        at: at(100),
        conversation: conversation.to_owned(),
        source: source.map(str::to_owned),
        transcript: None,
        event: Some(START.to_owned()),
        detail: None,
        agent_id: None,
        reporter: PANE,
        ancestry: vec![
            link(ProcessKey { pid: 51, start: 9 }, "/opt/farhelm", &hook),
            link(PANE, &format!("/opt/{vendor}"), &[vendor]),
        ],
        ended: WalkEnd::Pane,
    }
}

fn verdict(known: Option<&Identity>, report: &Report) -> Verdict {
    judge(&kind(&report.vendor), Some(&launch(2)), known, report, &disk())
}

fn refused(report: &Report) -> &'static str {
    match verdict(None, report) {
        Verdict::Refused(refusal) => refusal.code(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn accepted(known: Option<&Identity>, report: &Report) -> Identity {
    match verdict(known, report) {
        Verdict::Accepted(identity) => identity,
        other => panic!("{other:?}"),
    }
}

/// A rollout of codex for `id`.
fn rollout(dir: &Path, id: &str) -> String {
    let text = format!(
        "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"session_id\":\"{id}\",\"cwd\":\"/w\",\"source\":\"cli\"}}}}\n"
    );
    let path = dir.join(format!("rollout-{id}.jsonl"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_report_of_the_terminals_agent_is_accepted() {
    let report = report("claude", ID, Some("startup"));
    let identity = accepted(None, &report);
    assert_eq!((identity.id.as_str(), identity.reported.as_str(), identity.reporter), (ID, ID, PANE));
    assert_eq!((identity.generation, identity.seen, identity.prompted), (2, false, false));
}

#[test]
fn whatever_is_not_the_terminals_own_agents_is_refused() {
    type Change = fn(&mut Report);
    let changes: [(&str, Change); 16] = [
        ("other-kind", |r| r.vendor = "codex".to_owned()),
        ("oversized", |r| r.source = Some("x".repeat(MAX_WORD + 1))),
        ("oversized", |r| r.transcript = Some("x".repeat(MAX_PATH + 1))),
        ("oversized", |r| r.ancestry = vec![r.ancestry[0].clone(); MAX_LINKS + 1]),
        ("implausible-id", |r| r.conversation = "--last".to_owned()),
        ("implausible-id", |r| r.conversation = "{cwd}".to_owned()),
        ("delegated", |r| r.agent_id = Some("a258".into())),
        ("malformed-agent-id", |r| r.agent_id = Some(7.into())),
        ("malformed-agent-id", |r| r.agent_id = Some(serde_json::json!({}))),
        ("other-launch", |r| r.generation = 1),
        ("other-launch", |r| r.generation = 3),
        ("other-boot", |r| r.boot = BootId("earlier".to_owned())),
        ("not-below-terminal", |r| r.ancestry[1].process.start = 6),
        ("not-below-terminal", |r| drop(r.ancestry.pop())),
        ("ancestry-gap", |r| r.ancestry[0].parent = 7),
        ("no-hook", |r| r.ancestry[0].argv = None),
    ];
    for (code, change) in changes {
        let mut report = report("claude", ID, Some("startup"));
        change(&mut report);
        let refused = match judge(&kind("claude"), Some(&launch(2)), None, &report, &disk()) {
            Verdict::Refused(refusal) => refusal.code(),
            other => panic!("{code}: {other:?}"),
        };
        assert_eq!(refused, code);
    }
}

#[test]
fn a_kind_without_reports_and_a_session_without_a_launch_accept_none() {
    let report = report("claude", ID, None);
    for (name, launch, code) in [("generic", Some(launch(2)), "no-reports"), ("claude", None, "never-launched")] {
        let Verdict::Refused(refusal) = judge(&kind(name), launch.as_ref(), None, &report, &disk()) else { panic!() };
        assert_eq!(refusal.code(), code);
    }
}

#[test]
fn a_launch_whose_process_is_not_recorded_yet_is_waited_for() {
    let mut launch = launch(2);
    launch.process = None;
    let verdict = judge(&kind("claude"), Some(&launch), None, &report("claude", ID, None), &disk());
    assert!(matches!(verdict, Verdict::NotYet(_)), "{verdict:?}");
}

#[test]
fn an_absent_a_null_and_an_empty_agent_id_are_the_agents_own() {
    for id in [None, Some(Value::Null), Some(Value::from(""))] {
        accepted(None, &Report { agent_id: id, ..report("claude", ID, None) });
    }
}

#[test]
fn sources_are_limited_where_the_kind_limits_them() {
    for source in [Some("anything"), None] {
        accepted(None, &report("claude", ID, source));
    }
    for source in [Some("fork"), None] {
        assert_eq!(refused(&report("codex", ID, source)), "unknown-source");
    }
    // Other events have no source.
    let prompt = Report { event: Some("UserPromptSubmit".to_owned()), ..report("codex", ID, None) };
    assert_eq!(comes_from(&kind("codex"), Some(&launch(2)), &prompt), Ok(true));
}

#[test]
fn the_newest_report_wins_in_whatever_order_they_are_judged() {
    let first = accepted(None, &report("claude", ID, Some("startup")));
    let cleared = Report { at: at(200), ..report("claude", OTHER, Some("clear")) };
    let second = accepted(Some(&first), &cleared);
    assert_eq!(second.id, OTHER);
    let Verdict::Refused(refusal) = verdict(Some(&second), &report("claude", ID, Some("startup"))) else { panic!() };
    assert_eq!(refusal, Refusal::Older);
    assert_eq!(accepted(Some(&second), &cleared), second, "judged again after a crash, it changes nothing");
}

#[test]
fn a_report_of_a_new_launch_counts_after_a_reboot_whatever_the_clocks_say() {
    let before =
        Identity { boot: BootId("earlier".to_owned()), at: at(9000), ..accepted(None, &report("claude", ID, None)) };
    assert_eq!(accepted(Some(&before), &report("claude", OTHER, Some("resume"))).id, OTHER);
}

#[test]
fn a_compaction_keeps_what_is_known_and_a_new_conversation_knows_nothing() {
    let mut known = accepted(None, &report("claude", ID, Some("startup")));
    (known.prompted, known.seen) = (true, true);
    let compact = accepted(Some(&known), &report("claude", ID, Some("compact")));
    assert_eq!((compact.prompted, compact.seen), (true, true));
    let clear = accepted(Some(&known), &report("claude", OTHER, Some("clear")));
    assert_eq!((clear.prompted, clear.seen), (false, false));
}

#[test]
fn a_conversation_that_was_taken_up_is_never_taken_for_an_empty_one() {
    for (source, prompted) in [
        (Some("startup"), false),
        (Some("clear"), false),
        (Some("resume"), true),
        (Some("fork"), true),
        (Some("compact"), true),
        (None, true),
    ] {
        assert_eq!(accepted(None, &report("claude", ID, source)).prompted, prompted, "{source:?}");
    }
}

#[test]
fn a_prompts_report_is_noted_of_its_own_conversation_only() {
    let mut identity = accepted(None, &report("claude", ID, Some("startup")));
    let mut prompt = Report { transcript: Some("/t/b.jsonl".to_owned()), ..report("claude", OTHER, None) };
    identity.prompted_by(&prompt);
    assert!(!identity.prompted && identity.transcripts.is_empty());
    prompt.conversation = ID.to_owned();
    identity.transcripts = vec!["/t/a.jsonl".into()];
    identity.prompted_by(&prompt);
    assert!(identity.prompted);
    assert_eq!(identity.transcripts, [PathBuf::from("/t/b.jsonl"), "/t/a.jsonl".into()]);
}

#[test]
fn claude_is_accepted_before_its_transcript_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let transcript = dir.path().join(format!("projects/-w/{ID}.jsonl"));
    let report = Report { transcript: transcript.to_str().map(str::to_owned), ..report("claude", ID, Some("startup")) };
    let identity = accepted(None, &report);
    assert_eq!(identity.verify(EvidenceRule::ClaudeTranscript, None, &disk()), Finding::NeverPrompted);
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    fs::write(&transcript, "{\"type\":\"user\",\"uuid\":\"58127860\"}\n").unwrap();
    assert!(accepted(None, &report).seen);
}

#[test]
fn codex_is_accepted_by_its_rollout_and_waited_for_until_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut report = report("codex", ID, Some("startup"));
    report.transcript = Some(dir.path().join(format!("rollout-{ID}.jsonl")).to_str().unwrap().to_owned());
    assert!(matches!(verdict(None, &report), Verdict::Unproven(_)));
    rollout(dir.path(), ID);
    let identity = accepted(None, &report);
    assert!(identity.seen);
    report.transcript = Some(rollout(dir.path(), OTHER));
    assert_eq!(refused(&report), "contradicted");
}

#[test]
fn clearing_codex_withdraws_the_old_conversation_until_the_new_one_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let first = Report { transcript: Some(rollout(dir.path(), ID)), ..report("codex", ID, Some("startup")) };
    let known = accepted(None, &first);
    let path = dir.path().join(format!("rollout-{OTHER}.jsonl")).to_str().unwrap().to_owned();
    let clear = Report { at: at(200), transcript: Some(path), ..report("codex", OTHER, Some("clear")) };
    let Verdict::Withdrawn(pending) = verdict(Some(&known), &clear) else { panic!() };
    assert_eq!((pending.id.as_str(), pending.seen), (OTHER, false));
    let finding = pending.verify(EvidenceRule::CodexRollout, None, &disk());
    assert!(matches!(finding, Finding::Pending(_)), "{finding:?}");
    rollout(dir.path(), OTHER);
    assert_eq!(
        pending.verify(EvidenceRule::CodexRollout, None, &disk()),
        Finding::Verified { id: OTHER.to_owned(), target: OTHER.to_owned() }
    );
    assert!(accepted(Some(&known), &clear).seen);
    // The old one was left, whatever is there in the place of the new one.
    fs::write(clear.transcript.as_deref().unwrap(), "garbage\n").unwrap();
    let Verdict::Withdrawn(spoilt) = verdict(Some(&known), &clear) else { panic!() };
    assert!(matches!(spoilt.verify(EvidenceRule::CodexRollout, None, &disk()), Finding::Changed(_)));
}

#[test]
fn a_new_conversation_of_pi_withdraws_the_old_one_until_its_file_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let report =
        |source: &str| Report { transcript: path.to_str().map(str::to_owned), ..report("pi", ID, Some(source)) };
    assert!(matches!(verdict(None, &report("new")), Verdict::Withdrawn(identity) if !identity.seen));
    let started = accepted(None, &report("startup"));
    assert_eq!(started.verify(EvidenceRule::SessionFile, None, &disk()), Finding::NeverPrompted);
    fs::write(&path, format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{ID}\"}}\n")).unwrap();
    assert!(accepted(None, &report("new")).seen);
    fs::write(&path, "{\"type\":\"session\",\"version\":3,\"id\":\"other\"}\n").unwrap();
    assert_eq!(refused(&report("new")), "contradicted");
}

#[test]
fn what_the_agent_does_is_what_its_newest_telling_event_says() {
    let event = |event: &str, detail: Option<&str>, source: Option<&str>, boot_ms: u64| Report {
        event: Some(event.to_owned()),
        detail: detail.map(str::to_owned),
        at: at(boot_ms),
        ..report("claude", ID, source)
    };
    let start = event(START, None, Some("startup"), 1);
    let prompt = event("UserPromptSubmit", None, None, 2);
    let compact = event(START, None, Some("compact"), 3);
    let asks = event("Notification", Some("permission_prompt"), None, 4);
    let cleared = event("SessionEnd", Some("clear"), None, 5);
    let claude = kind("claude");
    for (reports, expected) in [
        (&[&start][..], Some(Doing::Idle)),
        (&[&prompt, &start], Some(Doing::Working)),
        (&[&prompt, &compact], Some(Doing::Working)),
        (&[&asks, &prompt], Some(Doing::NeedsInput)),
        (&[&asks, &cleared], Some(Doing::Idle)),
        (&[&compact], None),
        (&[], None),
    ] {
        assert_eq!(doing(&claude, reports.iter().copied()).map(|(doing, _)| doing), expected);
    }
}
