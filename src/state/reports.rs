//! What hooks leave for farhelm: `reports/<session>/`.
//!
//! `<pid>-<start>.<slot>.json`, one file for each reporting process and [`Slot`], the latest only: a nested agent that
//! inherited the session's credentials has slots of its own and cannot overwrite a good report. `log` is the hook log.
//! Hooks write here without the lock and without farhelm running; a pass that writes takes a report by renaming it
//! ([`reading`]), so that none is judged twice and none that comes meanwhile is lost.

pub mod log;
pub mod reading;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agents::kind::reports::{PROMPTS, START};
use crate::agents::slots;
use crate::host::clock::Moment;
use crate::host::process::{BootId, Pid, ProcessKey};

/// Version of the report format.
pub const VERSION: u32 = 1;

/// The largest report, in bytes.
pub const MAX_REPORT: u64 = 2 << 20;

/// The most reporting processes of one session.
pub const MAX_REPORTERS: usize = 16;

/// The most links of an ancestry.
pub const MAX_LINKS: usize = 64;

/// The longest id that is reported, in bytes.
pub const MAX_ID: usize = slots::MAX_ID;

/// The longest transcript path that is reported, in bytes.
pub const MAX_PATH: usize = slots::MAX_PATH;

/// The longest of a report's other words, in bytes.
pub const MAX_WORD: usize = 256;

/// What kind of news a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Which conversation is begun or taken up.
    Start,
    /// A prompt was given. Apart from other activity, since it proves that there is something to lose.
    Prompt,
    /// Anything else.
    Activity,
}

impl Slot {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Start, Self::Prompt, Self::Activity];

    /// The slot of an event. A report that names none is of a conversation.
    #[must_use]
    pub fn of(event: Option<&str>) -> Self {
        match event {
            None | Some(START) => Self::Start,
            Some(event) if PROMPTS.contains(&event) => Self::Prompt,
            Some(_) => Self::Activity,
        }
    }

    /// Its word in a file's name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Prompt => "prompt",
            Self::Activity => "activity",
        }
    }

    /// Whether it must outlive a power cut.
    #[must_use]
    pub fn durable(self) -> bool {
        self != Self::Activity
    }
}

/// One report, as a hook left it. Nothing in it is to be trusted before it is judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// The kind that the hook was injected for.
    pub vendor: String,
    /// The launch that it was injected into.
    pub generation: u32,
    /// The boot.
    pub boot: BootId,
    /// When the hook began.
    pub at: Moment,
    /// The agent's id of the conversation.
    pub conversation: String,
    /// Why the conversation is begun or taken up: `startup`, `resume`, `clear`, …
    #[serde(default)]
    pub source: Option<String>,
    /// The file that holds, or will hold, the conversation.
    #[serde(default)]
    pub transcript: Option<String>,
    /// The event.
    #[serde(default)]
    pub event: Option<String>,
    /// What sort of event, where it has sorts: the notification's type, the reason of an end.
    #[serde(default)]
    pub detail: Option<String>,
    /// The delegated agent that the event is of, as it was given.
    #[serde(default)]
    pub agent_id: Option<Value>,
    /// The nearest process above the hook that does more than run it.
    pub reporter: ProcessKey,
    /// The hook and its ancestors, nearest first.
    pub ancestry: Vec<Link>,
    /// Why the ancestry ends there.
    pub ended: WalkEnd,
}

/// One process of an ancestry. What is missing could not be read, or was too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Who it is.
    pub process: ProcessKey,
    /// Its parent's number.
    pub parent: Pid,
    /// Its `comm`.
    pub comm: String,
    /// Its program, as the kernel names it.
    #[serde(default)]
    pub exe: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub argv: Option<Vec<String>>,
    /// Its working directory.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// Why an ancestry ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WalkEnd {
    /// The next is the tmux server: the last one is a pane's process.
    Pane,
    /// The last one is the first process of all; no tmux server was met.
    Top,
    /// [`MAX_LINKS`] were walked.
    Limit,
    /// The next could not be read.
    Unreadable,
}

/// Where a session's reports are, in the directory `reports` of all.
#[must_use]
pub fn file(dir: &Path, reporter: ProcessKey, slot: Slot) -> PathBuf {
    dir.join(format!("{}-{}.{}.json", reporter.pid, reporter.start, slot.word()))
}

/// The ending of a report that a pass has taken.
const TAKEN: &str = ".taken";

/// Reporter and slot in a report file's name, and whether it is taken; `None` for any other file.
#[must_use]
pub fn parse_name(name: &str) -> Option<(ProcessKey, Slot, bool)> {
    let (name, taken) = name.strip_suffix(TAKEN).map_or((name, false), |name| (name, true));
    let (reporter, slot) = name.strip_suffix(".json")?.split_once('.')?;
    let (pid, start) = reporter.split_once('-')?;
    let slot = Slot::ALL.into_iter().find(|known| known.word() == slot)?;
    let process = ProcessKey { pid: pid.parse().ok()?, start: start.parse().ok()? };
    (file(Path::new(""), process, slot).to_str() == Some(name)).then_some((process, slot, taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_says_whose_report_it_is_and_of_what() {
        let process = ProcessKey { pid: 4711, start: 99 };
        for slot in Slot::ALL {
            let name = file(Path::new("/r"), process, slot).file_name().unwrap().to_str().unwrap().to_owned();
            assert_eq!(parse_name(&name), Some((process, slot, false)), "{name}");
            assert_eq!(parse_name(&format!("{name}.taken")), Some((process, slot, true)));
        }
        for other in ["log", "1.start.json", "1-2.json", "1-2.other.json", "01-2.start.json", "1-2.start.json.x", ""] {
            assert_eq!(parse_name(other), None, "{other}");
        }
    }

    #[test]
    fn an_event_without_a_name_is_of_a_conversation_and_a_prompt_is_kept_apart() {
        for (event, slot) in [
            (None, Slot::Start),
            (Some("SessionStart"), Slot::Start),
            (Some("UserPromptSubmit"), Slot::Prompt),
            (Some("BeforeAgent"), Slot::Prompt),
            (Some("Stop"), Slot::Activity),
            (Some("sessionstart"), Slot::Activity),
        ] {
            assert_eq!(Slot::of(event), slot, "{event:?}");
        }
    }
}
