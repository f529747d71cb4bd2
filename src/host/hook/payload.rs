//! What an agent tells its hook.

use serde::Deserialize;
use serde_json::Value;

use crate::agents::kind::reports::START;
use crate::state::reports::log::BadPayload;
use crate::state::reports::{MAX_ID, MAX_PATH, MAX_WORD};

/// The longest payload of a conversation's report, in bytes.
pub(super) const MAX_START: usize = 64 << 10;

/// The longest payload of any event, in bytes: some hold a whole prompt, or the whole of an answer, and the news that a
/// turn began must not be lost for that.
pub(super) const MAX_EVENT: u64 = 8 << 20;

/// The longest agent id that is kept as it is, in bytes of JSON.
const MAX_AGENT_ID: usize = 1024;

/// A payload, as far as it matters. Prompts and answers are read over.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Payload {
    pub(super) conversation: String,
    pub(super) source: Option<String>,
    pub(super) transcript: Option<String>,
    pub(super) event: Option<String>,
    pub(super) detail: Option<String>,
    pub(super) agent_id: Option<Value>,
}

#[derive(Deserialize)]
struct Raw {
    session_id: Option<Value>,
    source: Option<Value>,
    transcript_path: Option<Value>,
    hook_event_name: Option<Value>,
    notification_type: Option<Value>,
    reason: Option<Value>,
    agent_id: Option<Value>,
}

impl Payload {
    /// Reads one.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, BadPayload> {
        if bytes.len() as u64 > MAX_EVENT {
            return Err(BadPayload::Oversized);
        }
        let raw: Raw = serde_json::from_slice(bytes).map_err(|_| BadPayload::Unparsable)?;
        let event = word(raw.hook_event_name, MAX_WORD);
        if bytes.len() > MAX_START && event.as_deref().is_none_or(|event| event == START) {
            return Err(BadPayload::Oversized);
        }
        Ok(Self {
            conversation: session_id(raw.session_id)?,
            source: word(raw.source, MAX_WORD),
            transcript: word(raw.transcript_path, MAX_PATH),
            event,
            detail: word(raw.notification_type, MAX_WORD).or_else(|| word(raw.reason, MAX_WORD)),
            agent_id: raw.agent_id.map(|id| if fits(&id) { id } else { Value::from("too long to be kept") }),
        })
    }
}

fn session_id(value: Option<Value>) -> Result<String, BadPayload> {
    match value {
        None | Some(Value::Null) => Err(BadPayload::MissingSessionId),
        Some(Value::String(id)) if id.is_empty() => Err(BadPayload::EmptySessionId),
        Some(Value::String(id)) if id.len() > MAX_ID => Err(BadPayload::OversizedSessionId),
        Some(Value::String(id)) => Ok(id),
        Some(_) => Err(BadPayload::SessionIdNotAString),
    }
}

/// A text that is not too long; anything else is as good as nothing.
fn word(value: Option<Value>, limit: usize) -> Option<String> {
    match value {
        Some(Value::String(text)) if text.len() <= limit => Some(text),
        _ => None,
    }
}

fn fits(value: &Value) -> bool {
    value.to_string().len() <= MAX_AGENT_ID
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: &str = include_str!("../../../tests/data/hooks/claude-2.1.332.jsonl");
    const CODEX: &str = include_str!("../../../tests/data/hooks/codex-0.171.0.jsonl");

    fn events(lines: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let parsed = lines.lines().map(|line| Payload::parse(line.as_bytes()).unwrap());
        parsed.map(|payload| (payload.event.unwrap(), payload.source, payload.detail)).collect()
    }

    #[test]
    fn every_real_payload_of_claude_and_codex_is_understood() {
        let event = |event: &str, source: Option<&str>, detail: Option<&str>| {
            (event.to_owned(), source.map(str::to_owned), detail.map(str::to_owned))
        };
        let claude = events(CLAUDE);
        for expected in [
            event("SessionStart", Some("startup"), None),
            event("SessionStart", Some("clear"), None),
            event("SessionStart", Some("compact"), None),
            event("SessionStart", Some("fork"), None),
            event("SessionEnd", None, Some("clear")),
            event("Notification", None, Some("permission_prompt")),
            event("UserPromptSubmit", None, None),
        ] {
            assert!(claude.contains(&expected), "{expected:?}");
        }
        let codex = events(CODEX);
        for expected in [event("SessionStart", Some("resume"), None), event("Interrupt", None, None)] {
            assert!(codex.contains(&expected), "{expected:?}");
        }
    }

    #[test]
    fn of_claudes_own_helper_agents_the_id_is_kept() {
        let line = CLAUDE.lines().find(|line| line.contains("SubagentStop")).unwrap();
        assert!(matches!(Payload::parse(line.as_bytes()).unwrap().agent_id, Some(Value::String(id)) if !id.is_empty()));
    }

    #[test]
    fn what_is_no_report_is_said() {
        let long = format!(r#"{{"session_id":"{}"}}"#, "x".repeat(129));
        for (text, expected) in [
            ("", BadPayload::Unparsable),
            ("[]x", BadPayload::Unparsable),
            ("\"text\"", BadPayload::Unparsable),
            ("{}", BadPayload::MissingSessionId),
            (r#"{"session_id":null}"#, BadPayload::MissingSessionId),
            (r#"{"session_id":7}"#, BadPayload::SessionIdNotAString),
            (r#"{"session_id":""}"#, BadPayload::EmptySessionId),
            (long.as_str(), BadPayload::OversizedSessionId),
        ] {
            assert_eq!(Payload::parse(text.as_bytes()), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_long_prompt_is_no_reason_to_lose_the_news_of_it() {
        let payload = |event: &str, length: usize| {
            let text = format!(r#"{{"session_id":"a","hook_event_name":"{event}","prompt":"{}"}}"#, "x".repeat(length));
            Payload::parse(text.as_bytes()).map(|payload| payload.conversation)
        };
        assert_eq!(payload("UserPromptSubmit", 1 << 20), Ok("a".to_owned()));
        assert_eq!(payload("SessionStart", MAX_START), Err(BadPayload::Oversized));
        assert_eq!(payload("SessionStart", MAX_START - 100), Ok("a".to_owned()));
        assert_eq!(payload("Stop", usize::try_from(MAX_EVENT).unwrap()), Err(BadPayload::Oversized));
    }

    #[test]
    fn what_is_not_as_it_should_be_beside_the_id_is_left_out() {
        let text = r#"{"session_id":"a","source":7,"transcript_path":null,"reason":["x"],"unknown":{},"agent_id":[1]}"#;
        let payload = Payload::parse(text.as_bytes()).unwrap();
        assert_eq!((payload.source, payload.transcript, payload.detail), (None, None, None));
        assert_eq!(payload.agent_id, Some(serde_json::json!([1])));
    }
}
