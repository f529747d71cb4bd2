//! One thing that was looked at.

use serde::Serialize;

use crate::spec::visible::visible;

/// How grave it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// It works, and may disappoint.
    Warning,
    /// It does not work.
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it belongs to: `tmux`, `systemd`, `agents`, `limits`, `socket`, `state`.
    pub area: &'static str,
    /// How grave it is.
    pub level: Level,
    /// What was found.
    pub words: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(area: &'static str, words: impl Into<String>) -> Self {
        Self { area, level: Level::Ok, words: words.into(), todo: None }
    }

    /// Something else, and what to do about it.
    pub fn new(area: &'static str, level: Level, words: impl Into<String>, todo: impl Into<String>) -> Self {
        let todo = Some(todo.into()).filter(|todo| !todo.is_empty());
        Self { area, level, words: words.into(), todo }
    }
}

/// All findings for people, an area after the other.
pub fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    let mut area = "";
    for finding in findings {
        if finding.area != area {
            area = finding.area;
            out.push_str(area);
            out.push('\n');
        }
        let level = match finding.level {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Problem => "PROBLEM",
        };
        out.push_str(&format!("  {level:<8} {}\n", visible(&finding.words)));
        if let Some(todo) = &finding.todo {
            out.push_str(&format!("           -> {}\n", visible(todo)));
        }
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    out.push_str(&format!("\n{} problems, {} warnings\n", count(Level::Problem), count(Level::Warning)));
    out
}
