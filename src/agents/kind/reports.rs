//! What an agent tells of itself by its own hooks, and what farhelm makes of it: the `reports` part of a kind.
//!
//! Two names mean the same for every kind, and an extension of ours uses them too: [`START`] says which conversation is
//! begun or taken up, and [`PROMPTS`] say that it was given a prompt.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The event that names a conversation.
pub const START: &str = "SessionStart";

/// The events of a prompt that was given.
pub const PROMPTS: [&str; 2] = ["UserPromptSubmit", "BeforeAgent"];

/// The source of the conversation that an agent begins as it starts. Of all others something came before in that launch.
pub const STARTUP: &str = "startup";

/// The sources of a conversation that begins: nothing was said in it before. Of any other something may have been.
pub const NEW: [&str; 3] = [STARTUP, "clear", "new"];

/// How an agent's reports are asked for and judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reports {
    /// How the hook gets into a launch.
    pub inject: Injection,
    /// Commands into which nothing is injected.
    #[serde(default)]
    pub skip: Skips,
    /// Seconds the agent is told to give the hook.
    #[serde(default = "default_timeout")]
    pub timeout: u32,
    /// Seconds for single events, where the agent allows less.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts: BTreeMap<String, u32>,
    /// The sources a report may name; empty accepts any, and none at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Where in the terminal's process tree the reporter must be.
    pub chain: ChainRule,
    /// What a conversation is verified by.
    pub evidence: EvidenceRule,
    /// Sources whose conversation replaces the former one before there is any evidence of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// What the agent does after an event: `Event`, or `Event:detail` where one event means several things.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub activity: BTreeMap<String, Doing>,
}

fn default_timeout() -> u32 {
    5
}

/// The ways a hook gets into a launch. None writes to a file of the agent or of its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Injection {
    /// `--settings` with JSON. Claude Code adds hooks given so to the user's own (seen on 2.1.332).
    ClaudeSettings,
    /// `-c` with TOML, and the hash by which Codex trusts exactly these hooks for one run (seen on 0.171.0).
    CodexConfig,
    /// `-e` with an extension file of ours (seen on Pi 1.6.0 and 0.73.1, omp 18.2.3).
    PiExtension,
    /// A plugin file of ours named in `OPENCODE_CONFIG_CONTENT` (seen on `OpenCode` 1.18.33).
    OpencodePlugin,
    /// A settings file of ours named by `GEMINI_CLI_SYSTEM_SETTINGS_PATH`: only where that file and every directory above
    /// it are root's and nobody else's to write (seen on Gemini CLI 0.61.0).
    GeminiSettings,
}

/// Commands into which nothing is injected: what is there already would be lost, or no conversation comes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skips {
    /// An argument `--` anywhere: what is appended behind it would be no option.
    #[serde(default)]
    pub double_dash: bool,
    /// Options that configure hooks by themselves: the word, or `--word=…`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Configuration keys given by `-c` or `--config` that configure hooks by themselves, each with all below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_keys: Vec<String>,
    /// Options of runs that are no conversation in a terminal: print, help, version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Subcommands, right behind the program, that are no conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// Where in the terminal's process tree the reporter must be. All of them guard against accidents by inherited
/// credentials; none is a boundary against the same user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChainRule {
    /// The terminal's own process or its direct child: one resident wrapper at most.
    NearTerminal,
    /// The same, and a child with the terminal's own program is a nested run. For hooks that a nested run inherits.
    NearTerminalOutermost,
    /// Exactly one native executable named as the kind's, and nothing else that stayed but the terminal's own process.
    OneNative,
}

/// What a conversation is verified by before it is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceRule {
    /// The transcript that Claude Code named is there: `<config>/projects/<directory>/<id>.jsonl`.
    ClaudeTranscript,
    /// The head of the rollout that Codex named is of this thread, and of a foreground one.
    CodexRollout,
    /// The head of the session file is of this id (Pi, omp); the file is what is resumed.
    SessionFile,
    /// The head of the chat file is of this id (Gemini CLI).
    GeminiChat,
    /// Nothing on the disk can be looked at: the reported id is all there is.
    ReportedId,
}

/// What an agent does, as far as an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Doing {
    /// In a turn.
    Working,
    /// Waiting for a prompt.
    Idle,
    /// Asks something.
    NeedsInput,
    /// The agent is about to end.
    Ended,
}

/// Why a `reports` part cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportsFault {
    /// An event's name would need quoting where it is injected.
    #[error("`reports.activity`: {0:?} is no event (`Event` or `Event:detail`, of letters, digits and `_`)")]
    Event(String),
    /// A pending source that is never accepted.
    #[error("`reports.pending`: {0:?} is not among `reports.sources`")]
    Pending(String),
}

impl ReportsFault {
    /// The field that is at fault, as a path within the kind.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Event(_) => "reports.activity",
            Self::Pending(_) => "reports.pending",
        }
    }
}

impl Reports {
    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// The first [`ReportsFault`].
    pub fn check(&self) -> Result<(), ReportsFault> {
        let plain = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        for key in self.activity.keys() {
            let (event, detail) = key.split_once(':').unwrap_or((key, "x"));
            if !plain(event) || !plain(detail) {
                return Err(ReportsFault::Event(key.clone()));
            }
        }
        let strange = |source: &&String| !self.sources.is_empty() && !self.sources.contains(source);
        match self.pending.iter().find(strange) {
            Some(source) => Err(ReportsFault::Pending(source.clone())),
            None => Ok(()),
        }
    }

    /// The events a hook is wanted for: the one that names the conversation, then the others.
    #[must_use]
    pub fn events(&self) -> Vec<&str> {
        let named: BTreeSet<&str> =
            self.activity.keys().map(|key| key.split_once(':').map_or(key.as_str(), |(event, _)| event)).collect();
        std::iter::once(START).chain(named.into_iter().filter(|event| *event != START)).collect()
    }

    /// Whether the agent reports when it starts, prompted or not.
    #[must_use]
    pub fn at_start(&self) -> bool {
        matches!(self.evidence, EvidenceRule::ClaudeTranscript | EvidenceRule::SessionFile | EvidenceRule::GeminiChat)
    }

    /// The seconds the hook is given at `event`.
    #[must_use]
    pub fn timeout_of(&self, event: &str) -> u32 {
        self.timeouts.get(event).copied().unwrap_or(self.timeout)
    }

    /// What the agent does after `event`; `None` where it says nothing of that.
    #[must_use]
    pub fn doing(&self, event: &str, detail: Option<&str>) -> Option<Doing> {
        let exact = detail.and_then(|detail| self.activity.get(&format!("{event}:{detail}")));
        exact.or_else(|| self.activity.get(event)).copied()
    }

    /// Whether a report may name `source`.
    #[must_use]
    pub fn knows_source(&self, source: Option<&str>) -> bool {
        self.sources.is_empty() || source.is_some_and(|source| self.sources.iter().any(|known| known == source))
    }

    /// Whether a conversation begun by `source` replaces the former one before there is any evidence of it.
    #[must_use]
    pub fn may_pend(&self, source: Option<&str>) -> bool {
        source.is_some_and(|source| self.pending.iter().any(|pending| pending == source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(activity: &[(&str, Doing)]) -> Reports {
        Reports {
            inject: Injection::ClaudeSettings,
            skip: Skips::default(),
            timeout: 5,
            timeouts: BTreeMap::from([("SessionEnd".to_owned(), 3)]),
            sources: Vec::new(),
            chain: ChainRule::NearTerminal,
            evidence: EvidenceRule::ReportedId,
            pending: Vec::new(),
            activity: activity.iter().map(|(key, doing)| ((*key).to_owned(), *doing)).collect(),
        }
    }

    #[test]
    fn each_event_is_wanted_once_and_the_start_first() {
        let reports = reports(&[
            ("Notification:idle_prompt", Doing::Idle),
            ("Notification:permission_prompt", Doing::NeedsInput),
            ("SessionStart", Doing::Idle),
            ("Stop", Doing::Idle),
        ]);
        assert_eq!(reports.events(), ["SessionStart", "Notification", "Stop"]);
        assert_eq!((reports.timeout_of("Stop"), reports.timeout_of("SessionEnd")), (5, 3));
    }

    #[test]
    fn a_detail_counts_before_its_event_and_an_unknown_event_says_nothing() {
        let reports = reports(&[("SessionEnd", Doing::Ended), ("SessionEnd:clear", Doing::Idle)]);
        assert_eq!(reports.doing("SessionEnd", Some("clear")), Some(Doing::Idle));
        assert_eq!(reports.doing("SessionEnd", Some("other")), Some(Doing::Ended));
        assert_eq!(reports.doing("SessionEnd", None), Some(Doing::Ended));
        assert_eq!(reports.doing("PreCompact", None), None);
    }

    #[test]
    fn without_a_vocabulary_any_source_is_known_and_with_one_none_is_not() {
        let mut reports = reports(&[]);
        assert!(reports.knows_source(None) && reports.knows_source(Some("whatever")));
        reports.sources = vec!["startup".to_owned()];
        assert!(reports.knows_source(Some("startup")));
        assert!(!reports.knows_source(Some("Startup")) && !reports.knows_source(None));
    }

    #[test]
    fn names_that_would_need_quoting_are_refused() {
        for bad in ["", "a b", "a.b", "Stop:", "Stop:x=1", "Stop]"] {
            assert_eq!(reports(&[(bad, Doing::Idle)]).check(), Err(ReportsFault::Event(bad.to_owned())), "{bad}");
        }
        let mut bad = reports(&[]);
        bad.sources = vec!["startup".to_owned()];
        bad.pending = vec!["clear".to_owned()];
        assert_eq!(bad.check(), Err(ReportsFault::Pending("clear".to_owned())));
    }
}
