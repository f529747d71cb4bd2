//! Replaces what differs from run to run, so that output can be compared with a snapshot.

use std::path::Path;

/// `text` with temporary paths, UUIDs, pane ids, process numbers, times and sizes replaced by fixed words.
pub fn redact(text: &str, root: &Path) -> String {
    let text = text.replace(&root.display().to_string(), "[ROOT]");
    let lines = text.lines().map(|line| {
        let words = line.split(' ').map(redact_word).collect::<Vec<_>>().join(" ");
        words.trim_end().to_owned()
    });
    numbers_after(&lines.collect::<Vec<_>>().join("\n"), "pid ", "[PID]")
}

/// Replaces the digits that follow `label`.
fn numbers_after(text: &str, label: &str, word: &str) -> String {
    let mut parts = text.split(label);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        result += label;
        result += if rest.len() < part.len() { word } else { "" };
        result += rest;
    }
    result
}

fn redact_word(word: &str) -> String {
    let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '%');
    let class = match core {
        "" => return word.to_owned(),
        _ if is_uuid(core) => "[UUID]",
        _ if is_pane(core) => "[PANE]",
        _ if is_duration(core) => "[TIME]",
        _ if is_clock(core) => "[WHEN]",
        _ => return word.to_owned(),
    };
    word.replacen(core, class, 1)
}

fn is_uuid(word: &str) -> bool {
    let parts: Vec<usize> = word.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn is_pane(word: &str) -> bool {
    word.strip_prefix('%').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn is_duration(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    unit.len() < word.len() && matches!(unit, "ms" | "s" | "m" | "h" | "d")
}

fn is_clock(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits >= 4 && word.contains(':') && word.bytes().all(|b| b.is_ascii_digit() || b":-.TZ+".contains(&b))
}

#[test]
fn what_differs_from_run_to_run_is_replaced() {
    let line = "api %12 pid 4711 4bfc71d6-1111-2222-3333-444455556666, 12s ago at 10:42:07 in /tmp/x/work; 3 processes";
    assert_eq!(
        redact(line, Path::new("/tmp/x")),
        "api [PANE] pid [PID] [UUID], [TIME] ago at [WHEN] in [ROOT]/work; 3 processes"
    );
}
