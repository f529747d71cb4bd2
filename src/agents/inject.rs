//! Getting the hook into a launch. Pure: a command line and an environment in, the same with the hook out.
//!
//! Last of all, behind every other argument, on fresh launches and on resumes alike. Nothing is ever written to a file
//! of the agent or of its user; what an agent must load from a file lies in farhelm's own state directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::host::disk::Disk;
use crate::spec::name::Name;
use crate::state::record::SessionId;

use super::kind::Kind;
use super::kind::reports::{Injection, Reports};

mod claude;
mod codex;
mod gemini;
mod opencode;
mod pi;
mod skip;

/// The variable by which an extension of ours knows the hook: its command line as a JSON array.
pub const HOOK_ENV: &str = "FARHELM_HOOK";

/// What the session or its profile chooses of the hooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookChoices {
    /// Codex runs every hook it finds unasked, the user's untrusted ones too; for versions that cannot trust one alone.
    pub bypass_trust: bool,
    /// Claude's agent view stays on: a keypress can then move the conversation out of the terminal.
    pub agent_view: bool,
}

/// A launch that is to get the hook.
#[derive(Debug, Clone, Copy)]
pub struct Launching<'a> {
    /// The agent's kind.
    pub kind: &'a Kind,
    /// Hooks are wanted: the switch of session and profile.
    pub wanted: bool,
    /// What else they choose.
    pub choices: HookChoices,
    /// The farhelm program, absolute.
    pub farhelm: &'a Path,
    /// The session.
    pub session: SessionId,
    /// The launch's number.
    pub generation: u32,
    /// The whole command line.
    pub argv: &'a [String],
    /// The variables that the launch sets.
    pub env: &'a BTreeMap<String, String>,
    /// Where files that agents load are kept, absolute.
    pub extensions: &'a Path,
    /// What [`settings_refused`] says.
    pub settings_refused: Option<&'a str>,
}

/// What to do, to have the hook in a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injected {
    /// Arguments to append.
    pub argv: Vec<String>,
    /// Variables to set besides.
    pub env: BTreeMap<String, String>,
    /// Files that must hold exactly these bytes when the agent starts.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

/// Why a launch goes without the hook. It still runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    /// Switched off.
    #[error("hooks are off")]
    Off,
    /// The kind has none.
    #[error("kind `{0}` has no hooks")]
    None(Name),
    /// Options end before the end of the command.
    #[error("the command has a `--`: what is appended behind it would be no option")]
    OptionsEnded,
    /// The command configures hooks by itself.
    #[error("the command has `{0}`, which hooks of ours would replace")]
    OwnHooks(String),
    /// The command is no conversation in a terminal.
    #[error("the command has `{0}`: it is no conversation in a terminal")]
    Utility(String),
    /// The command of the hook cannot be written.
    #[error("the path of farhelm or of its state directory is not UTF-8")]
    NotText,
    /// A variable that would have to be merged with cannot be.
    #[error("`{0}` is set, and hooks cannot be added to what it says")]
    NotMergeable(&'static str),
    /// The agent would not read the settings.
    #[error("the agent would not accept farhelm's settings file: {0}")]
    Refused(String),
}

impl Skip {
    /// Its code, for the record.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::None(_) => "no-hooks",
            Self::OptionsEnded => "options-ended",
            Self::OwnHooks(_) => "own-hooks",
            Self::Utility(_) => "utility",
            Self::NotText => "not-text",
            Self::NotMergeable(_) => "not-mergeable",
            Self::Refused(_) => "settings-refused",
        }
    }
}

/// The command line of the hook, as its own words.
struct Hook<'a> {
    words: [&'a str; 7],
}

impl Hook<'_> {
    /// As a command for a shell.
    fn command(&self) -> String {
        shell_words::join(self.words)
    }

    /// As a JSON array.
    fn json(&self) -> String {
        serde_json::Value::from(self.words.to_vec()).to_string()
    }
}

/// Gets the hook into a launch.
///
/// # Errors
/// [`Skip`]: the launch runs without it, and the reason is to be recorded and shown.
pub fn inject(launching: &Launching<'_>) -> Result<Injected, Skip> {
    if !launching.wanted {
        return Err(Skip::Off);
    }
    let Some(reports) = &launching.kind.reports else { return Err(Skip::None(launching.kind.name.clone())) };
    skip::check(launching.kind, &reports.skip, launching.argv)?;
    let farhelm = launching.farhelm.to_str().ok_or(Skip::NotText)?;
    let generation = launching.generation.to_string();
    let kind = launching.kind.name.as_str();
    let hook = Hook { words: [farhelm, "internal", "hook", "--vendor", kind, "--launch", &generation] };
    by_form(launching, reports, &hook)
}

/// Why an agent of `kind` would not accept a settings file in `extensions`, in words; `None` where it would, or needs none.
#[must_use]
pub fn settings_refused(kind: &Kind, disk: &dyn Disk, extensions: &Path) -> Option<String> {
    let reports = kind.reports.as_ref()?;
    if reports.inject == Injection::GeminiSettings { gemini::refused(disk, extensions) } else { None }
}

fn by_form(launching: &Launching<'_>, reports: &Reports, hook: &Hook<'_>) -> Result<Injected, Skip> {
    match reports.inject {
        Injection::ClaudeSettings => Ok(claude::inject(reports, hook, launching.choices.agent_view)),
        Injection::CodexConfig => Ok(codex::inject(reports, hook, launching.choices.bypass_trust)),
        Injection::PiExtension => pi::inject(hook, launching.extensions),
        Injection::OpencodePlugin => opencode::inject(hook, launching.extensions, launching.env),
        Injection::GeminiSettings => match launching.settings_refused {
            Some(words) => Err(Skip::Refused(words.to_owned())),
            None => gemini::inject(reports, hook, launching),
        },
    }
}

#[cfg(test)]
mod tests;
