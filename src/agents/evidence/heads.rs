//! The heads of conversations' files, as their agents write them.

use serde_json::Value;

use super::{Said, Sought};

/// The first line when it is whole, and what follows it.
fn line(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    // What is no JSON is a whole line nonetheless: of something else.
    Some((serde_json::from_slice(&bytes[..end]).unwrap_or_default(), &bytes[end + 1..]))
}

fn other<T: AsRef<str>>(words: T) -> Said {
    Said::Other(words.as_ref().to_owned())
}

/// Whether a Claude transcript holds a message, by which it is a conversation (seen on 2.1.332, 2026-11-30): one has a
/// `uuid`, and what comes before the first, such as the mode and snapshots of files, has none.
pub(super) fn has_claude_message(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((entry, after)) = line(rest) {
        if entry["uuid"].is_string() {
            return true;
        }
        rest = after;
    }
    false
}

/// Codex's rollout (seen on 0.171.0, 2026-11-30): `session_meta` of a thread of the foreground. A delegated agent's has an
/// object for its source. The thread is `id`; the runtime's id is in `session_id`, where there is one.
pub(super) fn codex(bytes: &[u8], sought: &Sought<'_>) -> Said {
    let Some((head, _)) = line(bytes) else { return Said::Unfinished };
    if head["type"] != "session_meta" {
        return other("it does not begin with a session's header");
    }
    let payload = &head["payload"];
    if !matches!(payload["source"].as_str(), Some("cli" | "exec")) {
        return other("it is of a delegated agent, or not of a terminal");
    }
    if !payload["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')) {
        return other("its header names no directory");
    }
    let Some(thread) = payload["id"].as_str() else { return other("its header has no id") };
    let runtime = match &payload["session_id"] {
        Value::Null => thread,
        Value::String(id) => id,
        _ => return other("its header's session id is no text"),
    };
    if runtime != sought.reported {
        return other("it is another conversation's");
    }
    match crate::agents::slots::plausible(thread) {
        Ok(thread) => Said::Id(thread.to_owned()),
        Err(error) => other(error.to_string()),
    }
}

/// Pi's and omp's session file (seen on Pi 1.6.0 and 0.73.1, omp 18.2.3, 2026-11-30): a `session` record of version 3;
/// omp has one title record before it.
pub(super) fn session(bytes: &[u8], sought: &Sought<'_>) -> Said {
    let Some((mut head, rest)) = line(bytes) else { return Said::Unfinished };
    if head["type"] == "title" {
        let Some((second, _)) = line(rest) else { return Said::Unfinished };
        head = second;
    }
    if head["type"] != "session" {
        return other("it does not begin with a session's record");
    }
    if head["version"] != 3 {
        return other(format!("its format is of version {}, not 3", head["version"]));
    }
    if head["id"] == sought.reported { Said::File } else { other("it is another conversation's") }
}

/// Gemini CLI's chat file (seen on 0.61.0, 2026-11-30).
pub(super) fn gemini(bytes: &[u8], sought: &Sought<'_>) -> Said {
    let Some((head, _)) = line(bytes) else { return Said::Unfinished };
    if head["kind"] != "main" {
        return other("it is not of the agent itself");
    }
    if head["sessionId"] == sought.reported {
        Said::Id(sought.reported.to_owned())
    } else {
        other("it is another conversation's")
    }
}
