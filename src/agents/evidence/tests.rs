use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::host::real::{Machine, Settings};

const ID: &str = "01a22c4d-31cd-7c31-ab52-83301718de21";
/// What Claude writes before a message, and one.
const BEFORE: &[u8] =
    b"{\"type\":\"mode\",\"mode\":\"normal\"}\n{\"type\":\"file-history-snapshot\",\"snapshot\":{}}\n";
const MESSAGE: &[u8] = b"{\"type\":\"mode\"}\n{\"type\":\"user\",\"message\":{},\"uuid\":\"58127860\"}\n";
const HEADER: &str = include_str!("tests/codex-rollout.jsonl");

struct World {
    dir: tempfile::TempDir,
    prompted: bool,
    seen: bool,
    bound: Option<&'static str>,
    root: Option<PathBuf>,
}

fn world() -> World {
    World { dir: tempfile::tempdir().unwrap(), prompted: false, seen: false, bound: None, root: None }
}

impl World {
    fn path(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn verify(&self, rule: EvidenceRule, transcripts: &[PathBuf]) -> Finding {
        let sought = Sought {
            reported: ID,
            bound: self.bound,
            transcripts,
            root: self.root.as_deref(),
            prompted: self.prompted,
            seen: self.seen,
        };
        verify(rule, &sought, &Machine::new(Settings::default()).unwrap())
    }

    fn word(&self, rule: EvidenceRule, transcripts: &[PathBuf]) -> &'static str {
        match self.verify(rule, transcripts) {
            Finding::Verified { .. } => "verified",
            Finding::NeverPrompted => "never prompted",
            Finding::Empty => "empty",
            Finding::Pending(_) => "pending",
            Finding::Missing(_) => "missing",
            Finding::Changed(_) => "changed",
            Finding::Unreadable(_) => "unreadable",
        }
    }
}

/// The header with one piece of its text replaced.
fn header(from: &str, to: &str) -> Vec<u8> {
    assert!(HEADER.contains(from), "{from}");
    HEADER.replacen(from, to, 1).into_bytes()
}

#[test]
fn a_claude_conversation_is_verified_by_the_transcript_it_named() {
    let world = world();
    let path = world.write(&format!("projects/-tmp-demo/{ID}.jsonl"), MESSAGE);
    assert_eq!(world.verify(EvidenceRule::ClaudeTranscript, &[path]), same(ID));
}

#[test]
fn a_claude_transcript_that_is_not_there_means_what_was_seen_before() {
    let mut world = world();
    let path = [world.path(&format!("projects/-tmp-demo/{ID}.jsonl"))];
    for (prompted, seen, expected) in
        [(false, false, "never prompted"), (true, false, "missing"), (false, true, "missing"), (true, true, "missing")]
    {
        (world.prompted, world.seen) = (prompted, seen);
        assert_eq!(world.word(EvidenceRule::ClaudeTranscript, &path), expected);
        // Claude resumes none without a message, and takes none of their ids again.
        let expected = if expected == "missing" { expected } else { "empty" };
        for (bytes, what) in [(&b""[..], "empty"), (BEFORE, "no message"), (&MESSAGE[..40], "half a message")] {
            fs::write(&path[0], bytes).unwrap();
            assert_eq!(world.word(EvidenceRule::ClaudeTranscript, &path), expected, "{what}");
        }
        fs::remove_file(&path[0]).unwrap();
    }
}

#[test]
fn a_claude_transcript_of_another_conversation_or_behind_a_link_is_changed() {
    let world = world();
    let other = world.write("projects/-tmp-demo/other.jsonl", b"{}\n");
    let link = world.path(&format!("projects/-tmp-demo/{ID}.jsonl"));
    symlink(&other, &link).unwrap();
    assert_eq!(world.word(EvidenceRule::ClaudeTranscript, &[other]), "changed");
    assert_eq!(world.word(EvidenceRule::ClaudeTranscript, std::slice::from_ref(&link)), "changed");
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    assert_eq!(world.word(EvidenceRule::ClaudeTranscript, &[link]), "changed");
}

#[test]
fn a_later_report_names_the_right_file_where_the_first_named_a_wrong_one() {
    let world = world();
    let wrong = world.path(&format!("projects/-elsewhere/{ID}.jsonl"));
    let right = world.write(&format!("projects/-tmp-demo/{ID}.jsonl"), MESSAGE);
    assert_eq!(world.word(EvidenceRule::ClaudeTranscript, &[wrong, right]), "verified");
}

#[test]
fn b2_evidence_where_the_agent_will_no_longer_look_is_missing() {
    let mut world = world();
    let old = world.dir.path().join("old");
    let path = [world.write(&format!("old/projects/-tmp-demo/{ID}.jsonl"), MESSAGE)];
    for (root, expected) in [(Some(old.clone()), "verified"), (None, "verified"), (Some(old.join("new")), "missing")] {
        world.root = root;
        assert_eq!(world.word(EvidenceRule::ClaudeTranscript, &path), expected);
    }
    let rollout = [world.write("old/sessions/2026/rollout.jsonl", HEADER.as_bytes())];
    assert_eq!(world.word(EvidenceRule::CodexRollout, &rollout), "missing");
    world.root = Some(old);
    assert_eq!(world.word(EvidenceRule::CodexRollout, &rollout), "verified");
}

#[test]
fn an_agent_looks_where_its_environment_says() {
    for (rule, env, expected) in [
        (EvidenceRule::ClaudeTranscript, &[("HOME", "/h")][..], Some("/h/.claude")),
        (EvidenceRule::ClaudeTranscript, &[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c")], Some("/c")),
        (EvidenceRule::ClaudeTranscript, &[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "")], Some("/h/.claude")),
        (EvidenceRule::CodexRollout, &[("HOME", "/h")], Some("/h/.codex")),
        (EvidenceRule::CodexRollout, &[("CODEX_HOME", "/x")], Some("/x")),
        (EvidenceRule::GeminiChat, &[("GEMINI_CLI_HOME", "/g")], Some("/g/.gemini")),
        (EvidenceRule::ClaudeTranscript, &[], None),
        (EvidenceRule::SessionFile, &[("HOME", "/h")], None),
    ] {
        let get = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        assert_eq!(root(rule, get), expected.map(PathBuf::from), "{rule:?} {env:?}");
    }
}

#[test]
fn a_codex_conversation_is_verified_by_the_header_of_its_rollout() {
    let world = world();
    let path = world.write("rollout.jsonl", HEADER.as_bytes());
    assert_eq!(world.verify(EvidenceRule::CodexRollout, &[path]), same(ID));
}

#[test]
fn a_codex_header_of_anything_else_is_changed() {
    let world = world();
    for (from, to) in [
        ("\"type\":\"session_meta\"", "\"type\":\"event_msg\""),
        ("\"source\":\"cli\"", "\"source\":{\"subagent\":\"review\"}"),
        ("\"source\":\"cli\"", "\"source\":\"vscode\""),
        ("\"source\":\"cli\",", ""),
        ("\"cwd\":\"/tmp/demo\"", "\"cwd\":\"demo\""),
        ("\"id\":", "\"x\":"),
        ("\"session_id\":\"01a22c4d", "\"session_id\":\"99a22c4d"),
        ("\"session_id\":\"01a22c4d-31cd-7c31-ab52-83301718de21\"", "\"session_id\":7"),
        ("{\"timestamp\"", "\"timestamp\""),
    ] {
        let path = world.write("rollout.jsonl", &header(from, to));
        assert_eq!(world.word(EvidenceRule::CodexRollout, &[path]), "changed", "{to}");
    }
}

#[test]
fn a_codex_thread_need_not_be_named_as_its_runtime_but_stays_the_same() {
    let mut world = world();
    let path = [world.write("rollout.jsonl", &header("\"id\":\"01a22c4d", "\"id\":\"77a22c4d"))];
    let Finding::Verified { id, target } = world.verify(EvidenceRule::CodexRollout, &path) else { panic!() };
    assert!(id.starts_with("77a22c4d") && target == id);
    world.bound = Some(ID);
    assert_eq!(world.word(EvidenceRule::CodexRollout, &path), "changed");
}

#[test]
fn a_codex_header_without_a_runtime_id_must_be_of_the_reported_thread() {
    let world = world();
    let runtime = format!("\"session_id\":\"{ID}\",");
    let path = world.write("rollout.jsonl", &header(&runtime, ""));
    assert_eq!(world.word(EvidenceRule::CodexRollout, &[path]), "verified");
    let other = String::from_utf8(header(&runtime, "")).unwrap().replace("\"id\":\"01", "\"id\":\"02");
    let path = world.write("rollout.jsonl", other.as_bytes());
    assert_eq!(world.word(EvidenceRule::CodexRollout, &[path]), "changed");
}

#[test]
fn an_unfinished_head_is_pending_unless_it_was_whole_before_or_is_endless() {
    let mut world = world();
    let path = [world.write("rollout.jsonl", &HEADER.as_bytes()[..HEADER.len() / 2])];
    assert_eq!(world.word(EvidenceRule::CodexRollout, &path), "pending");
    world.seen = true;
    assert_eq!(world.word(EvidenceRule::CodexRollout, &path), "changed");
    world.seen = false;
    let path = [world.write("rollout.jsonl", &vec![b' '; usize::try_from(HEAD).unwrap()])];
    assert_eq!(world.word(EvidenceRule::CodexRollout, &path), "changed");
}

#[test]
fn a_head_is_enough_of_a_large_file() {
    let world = world();
    let mut bytes = HEADER.as_bytes().to_vec();
    bytes.resize(8 << 20, b'x');
    let path = world.write("rollout.jsonl", &bytes);
    assert_eq!(world.word(EvidenceRule::CodexRollout, &[path]), "verified");
}

#[test]
fn a_rollout_behind_a_link_or_a_pipe_is_not_opened() {
    let world = world();
    let real = world.write("real.jsonl", HEADER.as_bytes());
    let link = world.path("link.jsonl");
    symlink(real, &link).unwrap();
    assert_eq!(world.word(EvidenceRule::CodexRollout, &[link]), "changed");
    let pipe = world.path("pipe.jsonl");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(world.word(EvidenceRule::CodexRollout, &[pipe]), "changed");
}

#[test]
fn a_session_file_is_verified_by_its_record_and_resumed_by_its_path() {
    let world = world();
    let title = r#"{"type":"title","v":1,"title":"x"}"#;
    let record = format!(r#"{{"type":"session","version":3,"id":"{ID}","cwd":"/tmp/demo"}}"#);
    for (text, expected) in [
        (format!("{record}\n"), "verified"),
        (format!("{title}      \n{record}\n{{}}\n"), "verified"),
        (format!("{title}\n{title}\n{record}\n"), "changed"),
        (format!("{title}\n"), "pending"),
        (record.clone(), "pending"),
        (format!("{}\n", record.replace(ID, "other")), "changed"),
        (format!("{}\n", record.replace(":3", ":4")), "changed"),
        ("no json\n".to_owned(), "changed"),
    ] {
        let path = world.write("s.jsonl", text.as_bytes());
        assert_eq!(world.word(EvidenceRule::SessionFile, std::slice::from_ref(&path)), expected, "{text}");
        if expected == "verified" {
            let target = path.to_str().unwrap().to_owned();
            let found = world.verify(EvidenceRule::SessionFile, &[path]);
            assert_eq!(found, Finding::Verified { id: ID.to_owned(), target });
        }
    }
}

#[test]
fn a_session_file_may_come_some_time_after_the_first_prompt() {
    let mut world = world();
    let path = [world.path("s.jsonl")];
    for (prompted, seen, expected) in
        [(false, false, "never prompted"), (true, false, "pending"), (true, true, "missing")]
    {
        (world.prompted, world.seen) = (prompted, seen);
        assert_eq!(world.word(EvidenceRule::SessionFile, &path), expected);
    }
}

#[test]
fn a_gemini_conversation_is_verified_by_the_head_of_its_chat() {
    let world = world();
    for (text, expected) in [
        (format!(r#"{{"sessionId":"{ID}","projectHash":"x","kind":"main"}}"#), "verified"),
        (format!(r#"{{"sessionId":"{ID}","projectHash":"x","kind":"subagent"}}"#), "changed"),
        (r#"{"sessionId":"other","kind":"main"}"#.to_owned(), "changed"),
    ] {
        let path = world.write("chat.jsonl", format!("{text}\n").as_bytes());
        assert_eq!(world.word(EvidenceRule::GeminiChat, &[path]), expected, "{text}");
    }
}

#[test]
fn a_gemini_chat_that_was_there_before_any_prompt_proves_nothing() {
    let mut world = world();
    let path = [world.path("chat.jsonl")];
    for (prompted, expected) in [(false, "never prompted"), (true, "missing")] {
        (world.prompted, world.seen) = (prompted, true);
        assert_eq!(world.word(EvidenceRule::GeminiChat, &path), expected);
    }
}

#[test]
fn without_a_file_the_reported_id_is_all_there_is() {
    assert_eq!(world().verify(EvidenceRule::ReportedId, &[]), same(ID));
    assert_eq!(world().word(EvidenceRule::ClaudeTranscript, &[]), "missing");
    assert_eq!(world().word(EvidenceRule::CodexRollout, &["relative".into()]), "changed");
}
