//! The conversations of a simulated world as they truly are: whose each is, what was said in it, which of them farhelm
//! was truthfully told of. farhelm sees only reports and files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::super::process::ProcessKey;
use super::World;
use super::agents;
use super::ledger::Origin;
use super::machine::Machine;

/// The agents of this world that say which conversation they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    /// Says it when it starts, and keeps a file of it from the first prompt on.
    Claude,
    /// Says it, and makes the file, at the first prompt.
    Codex,
}

impl Vendor {
    pub(super) fn of(kind: Option<&str>) -> Option<Self> {
        match kind? {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            _ => None,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

/// One conversation.
#[derive(Debug, Clone)]
pub(super) struct Talk {
    /// Whose it is; none of one that somebody made up.
    pub(super) session: Option<String>,
    pub(super) vendor: Vendor,
    /// Where its file is, or will be.
    pub(super) file: PathBuf,
    /// All that was written to that file.
    pub(super) text: Vec<u8>,
    /// A prompt was given.
    pub(super) prompted: bool,
    /// Something of it was lost outside of farhelm: a report, or its file.
    pub(super) maimed: bool,
}

/// A living agent that says which conversation it has.
#[derive(Debug, Clone)]
pub(super) struct Speaker {
    pub(super) vendor: Vendor,
    /// None: somebody else's, in a terminal of their own.
    pub(super) origin: Option<Origin>,
    /// Where its hook leaves reports; none without the hook.
    pub(super) reports: Option<PathBuf>,
    /// Its conversation; none before it has one.
    pub(super) talk: Option<String>,
    /// Why it has that, or the next, as it says it.
    pub(super) source: &'static str,
    /// It has said which conversation it has.
    pub(super) said: bool,
    /// The prompt on its command line.
    pub(super) prompt: Option<String>,
    /// What was said last is not written down yet.
    pub(super) unwritten: bool,
    pub(super) program: String,
    pub(super) dir: PathBuf,
}

/// A true report of a conversation that reached its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Of which.
    pub conversation: String,
    /// By which launch's agent.
    pub generation: u32,
    /// When the hook began, in milliseconds since the world did.
    pub at: u64,
    /// When the report was in its place.
    pub written: u64,
}

/// A prompt on a command line that reached the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The session.
    pub session: String,
    /// The prompt.
    pub prompt: String,
    /// The conversation it was said in.
    pub conversation: String,
}

/// A conversation, for whoever drives the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TalkSeen {
    /// A prompt was given.
    pub prompted: bool,
    /// Its file is there, unspoilt, and holds what was said.
    pub there: bool,
    /// Its agent would find it.
    pub found: bool,
    /// Something of it was lost outside of farhelm.
    pub maimed: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Talks {
    pub(super) all: BTreeMap<String, Talk>,
    pub(super) speakers: BTreeMap<ProcessKey, Speaker>,
    pub(super) told: BTreeMap<String, Vec<Told>>,
    /// Sessions of which a prompt in a conversation was truthfully reported.
    pub(super) hinted: BTreeSet<String>,
    pub(super) received: Vec<Received>,
    /// The latest launch that was opened, by session.
    pub(super) opened: BTreeMap<String, u32>,
    /// Reports that are on their way.
    pub(super) flying: Vec<Option<super::hooks::Flying>>,
    /// Report files written since the driver last asked.
    pub(super) news: BTreeSet<PathBuf>,
}

impl Machine {
    /// An id that no conversation has.
    pub(super) fn new_talk_id(&mut self) -> String {
        let (high, low) = (self.random.bits(), self.random.bits());
        uuid::Builder::from_random_bytes((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
            .into_uuid()
            .as_hyphenated()
            .to_string()
    }

    /// Where the agent of a kind keeps the conversation `id` of a session in `dir`.
    pub(super) fn talk_file(vendor: Vendor, dir: &std::path::Path, id: &str) -> PathBuf {
        match vendor {
            Vendor::Claude => {
                let dir: String =
                    dir.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
                PathBuf::from(format!("/home/u/.claude/projects/{dir}/{id}.jsonl"))
            }
            Vendor::Codex => PathBuf::from(format!("/home/u/.codex/sessions/2025/11/30/rollout-{id}.jsonl")),
        }
    }

    /// Whether the file of a conversation is there, unspoilt, with something in it that was said.
    pub(super) fn talk_is_there(&self, talk: &Talk) -> bool {
        // An agent that is killed before it writes has a prompt, and a file without a word of it.
        let said = talk.prompted && String::from_utf8_lossy(&talk.text).contains(agents::MESSAGE);
        said && self.files.read(&talk.file, u64::MAX).is_ok_and(|bytes| bytes == talk.text)
    }

    /// What was not synced may be gone.
    pub(super) fn maim_talks(&mut self) {
        let spoilt = |talk: &&Talk| {
            !talk.text.is_empty() && self.files.read(&talk.file, u64::MAX).map_or(true, |bytes| bytes != talk.text)
        };
        let maimed: Vec<PathBuf> = self.talks.all.values().filter(spoilt).map(|talk| talk.file.clone()).collect();
        let flying = std::mem::take(&mut self.talks.flying);
        let unheard: BTreeSet<String> = flying.into_iter().flatten().filter_map(|flying| flying.of).collect();
        for (id, talk) in &mut self.talks.all {
            talk.maimed |= maimed.contains(&talk.file) || unheard.contains(id);
        }
        self.talks.speakers.clear();
    }
}

/// What a driver may know of conversations.
impl World {
    /// Milliseconds since the world began.
    #[must_use]
    pub fn age(&self) -> u64 {
        self.machine.borrow().time
    }

    /// The latest that farhelm was truthfully told of a session's conversation.
    #[must_use]
    pub fn told(&self, session: &str) -> Option<Told> {
        self.machine.borrow().talks.told.get(session)?.iter().max_by_key(|told| told.at).cloned()
    }

    /// Whether farhelm was truthfully told of any conversation of a session, if only by a prompt in it.
    #[must_use]
    pub fn is_told(&self, session: &str) -> bool {
        let talks = &self.machine.borrow().talks;
        talks.told.contains_key(session) || talks.hinted.contains(session)
    }

    /// A conversation.
    #[must_use]
    pub fn talk(&self, id: &str) -> Option<TalkSeen> {
        let machine = self.machine.borrow();
        let talk = machine.talks.all.get(id)?;
        let (there, found) = (machine.talk_is_there(talk), machine.can_resume(talk.vendor, id));
        Some(TalkSeen { prompted: talk.prompted, there, found, maimed: talk.maimed })
    }

    /// Whether somebody made the conversation up.
    #[must_use]
    pub fn is_made_up(&self, id: &str) -> bool {
        self.machine.borrow().talks.all.get(id).is_some_and(|talk| talk.session.is_none())
    }

    /// Every prompt of a command line that reached its agent, in order.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.machine.borrow().talks.received.clone()
    }

    /// The report files that were written since this was last asked.
    #[must_use]
    pub fn reported(&self) -> BTreeSet<PathBuf> {
        self.peek(|machine| std::mem::take(&mut machine.talks.news))
    }
}
