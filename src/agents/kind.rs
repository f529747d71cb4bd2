//! What farhelm knows of one agent CLI. All of it is data: a file of `profiles/`, or `kinds:` of a fleet file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::name::Name;

use super::slots;

pub mod forms;
pub mod reports;
pub mod setup;
pub mod terminal;

pub use forms::{ChoiceForm, ChoiceForms, ConversationForms, LiveMark, PromptForm};
pub use setup::{Login, Place, Setting, Setup, TrustStore};
pub use terminal::{Interrupt, Keys};

use reports::{Reports, ReportsFault};

/// One agent kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// The kind's name: the file's name, and what `kind:` says.
    pub name: Name,
    /// One line about the agent, for `explain kind`.
    pub about: String,
    /// On which version and day these facts were seen to hold; absent where the CLI could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// What of it was not verified, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
    /// Program names that are this agent, the usual one first. Empty for `generic`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executables: Vec<String>,
    /// Program names that are easily taken for this agent, and what they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_executables: BTreeMap<String, String>,
    /// What the program needs on its command line to start as a terminal agent: part of the profile that the kind
    /// gives, behind the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments of every launch, in front of those of the choices. An explicit `resume` is run without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// How a fresh launch is given its prompt; absent when it cannot be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptForm>,
    /// How choices become arguments and environment.
    #[serde(default)]
    pub choices: ChoiceForms,
    /// How a conversation is identified and resumed; absent when it cannot be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationForms>,
    /// How it reports its conversation and what it does; absent when it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports: Option<Reports>,
    /// Environment to set at launch. The session's own `env` beats it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Environment variables that must not reach a launch: the agent's own marks, set for its children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scrub: Vec<String>,
    /// `comm` names of the running agent, for liveness behind a wrapper.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub process_names: Vec<String>,
    /// Base names of its argument 0, where `comm` does not tell. A `*` at the end stands for anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv0_names: Vec<String>,
    /// Base names of the first argument behind an interpreter and its flags, where `comm` does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv1_names: Vec<String>,
    /// The keys that interrupt it and end it. Data for later: no keys are sent so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Keys>,
    /// Dialogs by name: texts of one screen, all of which it shows. Data for a look at an agent that does not report.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dialogs: BTreeMap<Name, Vec<String>>,
    /// Signs of a state on the screen, by the state's name: any one of them shows it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub screen: BTreeMap<Name, Vec<String>>,
    /// Signs of a state in the pane's title, by the state's name: any one of them shows it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub title: BTreeMap<Name, Vec<String>>,
    /// What must be there before it can work, for `doctor`.
    #[serde(default, skip_serializing_if = "Setup::is_empty")]
    pub setup: Setup,
}

/// Where facts were seen to hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// The CLI's version.
    pub version: String,
    /// The day, `YYYY-MM-DD`.
    pub date: String,
}

/// What makes a kind unusable as data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KindFault {
    /// A form names nothing to fill in.
    #[error("kind `{kind}`: `{form}` must contain `{slot}`, or it would always say the same")]
    NoSlot {
        /// The kind.
        kind: Name,
        /// The field.
        form: &'static str,
        /// What it lacks.
        slot: &'static str,
    },
    /// Conversations, but no program by which a resume could be derived.
    #[error("kind `{0}`: `executables` is empty, and `conversation` needs the agent's own program name")]
    NoExecutable(Name),
    /// Reports of conversations that the kind does not have.
    #[error("kind `{0}`: `reports` without `conversation`: what is reported could not be resumed")]
    ReportsOfNothing(Name),
    /// Reports that cannot work.
    #[error("kind `{0}`: {1}")]
    Reports(Name, ReportsFault),
}

impl KindFault {
    /// The field that is at fault, as a path within the kind.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::NoSlot { form, .. } => form,
            Self::NoExecutable(_) => "executables",
            Self::ReportsOfNothing(_) => "reports",
            Self::Reports(_, fault) => fault.field(),
        }
    }
}

impl Kind {
    /// A kind of which nothing is known.
    #[must_use]
    pub fn bare(name: Name) -> Self {
        Self {
            about: name.to_string(),
            name,
            verified: None,
            unverified: Vec::new(),
            executables: Vec::new(),
            not_executables: BTreeMap::new(),
            command: Vec::new(),
            args: Vec::new(),
            prompt: None,
            choices: ChoiceForms::default(),
            conversation: None,
            reports: None,
            env: BTreeMap::new(),
            scrub: Vec::new(),
            process_names: Vec::new(),
            argv0_names: Vec::new(),
            argv1_names: Vec::new(),
            keys: None,
            dialogs: BTreeMap::new(),
            screen: BTreeMap::new(),
            title: BTreeMap::new(),
            setup: Setup::default(),
        }
    }

    /// Checks what the types cannot say. A resume form without its slot would resume some other conversation.
    ///
    /// # Errors
    /// The first [`KindFault`].
    pub fn check(&self) -> Result<(), KindFault> {
        let no_slot = |form, slot| Err(KindFault::NoSlot { kind: self.name.clone(), form, slot });
        for (name, form) in [("choices.model", &self.choices.model), ("choices.effort", &self.choices.effort)] {
            if form.as_ref().is_some_and(|form| !form.says_value()) {
                return no_slot(name, slots::VALUE);
            }
        }
        if let Some(reports) = &self.reports {
            reports.check().map_err(|fault| KindFault::Reports(self.name.clone(), fault))?;
        }
        let Some(conversation) = &self.conversation else {
            let fault = || KindFault::ReportsOfNothing(self.name.clone());
            return if self.reports.is_none() { Ok(()) } else { Err(fault()) };
        };
        let names_it = |args: &[String]| args.iter().any(|arg| arg == slots::CONVERSATION);
        if !names_it(&conversation.resume) {
            return no_slot("conversation.resume", slots::CONVERSATION);
        }
        if !conversation.assign.is_empty() && !names_it(&conversation.assign) {
            return no_slot("conversation.assign", slots::CONVERSATION);
        }
        if self.executables.is_empty() { Err(KindFault::NoExecutable(self.name.clone())) } else { Ok(()) }
    }

    /// Whether `word`, a path or a plain name, is this agent's own program.
    #[must_use]
    pub fn is_program(&self, word: &str) -> bool {
        let name = base_name(word);
        self.executables.iter().any(|executable| executable == name)
    }

    /// What `word` is, when it is a program easily taken for this agent.
    #[must_use]
    pub fn mistaken(&self, word: &str) -> Option<&str> {
        self.not_executables.get(base_name(word)).map(String::as_str)
    }

    /// The command of the profile that the kind gives; none where no program is known.
    #[must_use]
    pub fn invocation(&self) -> Option<Vec<String>> {
        let program = self.executables.first()?;
        Some(std::iter::once(program).chain(&self.command).cloned().collect())
    }

    /// A conversation's id comes to be known: farhelm assigns it, or the agent reports it.
    #[must_use]
    pub fn identifies(&self) -> bool {
        self.conversation.as_ref().is_some_and(|forms| self.reports.is_some() || !forms.assign.is_empty())
    }

    /// How its conversations are known and whether they can be resumed, in words.
    #[must_use]
    pub fn lasts(&self) -> String {
        let Some(forms) = self.conversation.as_ref().filter(|_| self.identifies()) else { return self.unidentified() };
        let how = match (&self.reports, forms.assign.is_empty()) {
            (Some(_), true) => "reported by its hook",
            (Some(_), false) => "assigned at launch and confirmed by its hook",
            (None, _) => "assigned at launch, and never confirmed (`resume_assigned: true` resumes it)",
        };
        format!("{}: a conversation is {how}; resumed by `{}`", self.name, forms.resume.join(" "))
    }

    /// What becomes of a conversation of a kind that does not [identify](Self::identifies) it.
    #[must_use]
    pub fn unidentified(&self) -> String {
        format!("{} neither reports its conversation nor takes an id for it: none can be resumed", self.name)
    }

    /// It reports what it does, so that `update.when: idle` is its default where it has its hook.
    #[must_use]
    pub fn reports_activity(&self) -> bool {
        self.reports.as_ref().is_some_and(|reports| !reports.activity.is_empty())
    }

    /// Whether anything tells its processes.
    #[must_use]
    pub fn tells_processes(&self) -> bool {
        !(self.process_names.is_empty() && self.argv0_names.is_empty() && self.argv1_names.is_empty())
    }

    /// Whether a process is this agent, by its `comm` and, where the kind needs them, by the arguments that `argv` reads.
    /// `None` when they could not be read.
    #[must_use]
    pub fn is_process(&self, comm: &str, argv: impl FnOnce() -> Option<Vec<String>>) -> Option<bool> {
        let named = |names: &[String], word: &str| {
            names.iter().any(|name| match name.strip_suffix('*') {
                Some(prefix) => word.starts_with(prefix),
                None => name == word,
            })
        };
        if named(&self.process_names, comm) {
            return Some(true);
        }
        if self.argv0_names.is_empty() && self.argv1_names.is_empty() {
            return Some(false);
        }
        let argv = argv()?;
        let script = argv.iter().skip(1).find(|arg| !arg.starts_with('-'));
        let first = argv.first().is_some_and(|word| named(&self.argv0_names, base_name(word)));
        Some(first || script.is_some_and(|word| named(&self.argv1_names, base_name(word))))
    }
}

/// What follows the last `/`.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use crate::agents::catalogue::builtin;

    #[test]
    fn a_process_is_known_by_comm_or_by_its_first_arguments() {
        let is = |kind: &str, comm: &str, argv: &[&str]| {
            builtin()[kind].is_process(comm, || Some(argv.iter().map(|&word| word.to_owned()).collect()))
        };
        assert_eq!(is("gemini", "node", &["node", "--max-old-space-size=4", "/x/bin/gemini", "-y"]), Some(true));
        assert_eq!(is("gemini", "node", &["node", "/x/server.js", "gemini"]), Some(false));
        assert_eq!(is("cursor", "MainThread", &["/home/u/.local/bin/cursor-agent", "--trust"]), Some(true));
        assert_eq!(is("cursor", "cursor", &["cursor"]), Some(false));
        assert_eq!(is("muse", "muse-bin-1.0.3-", &[]), Some(true));
        assert_eq!(is("muse", "musescore", &["musescore"]), Some(false));
        assert_eq!(is("pi", "pip", &["pip"]), Some(false));
        assert_eq!(builtin()["gemini"].is_process("node", || None), None);
        for comm in ["claude", "bash"] {
            let known = builtin()["claude"].is_process(comm, || panic!("its arguments are not needed"));
            assert_eq!(known, Some(comm == "claude"));
        }
    }

    #[test]
    fn a_program_of_another_maker_is_told_apart() {
        let cursor = &builtin()["cursor"];
        assert!(cursor.is_program("/usr/bin/cursor-agent") && !cursor.is_program("cursor"));
        assert!(cursor.mistaken("/usr/bin/cursor").is_some() && cursor.mistaken("cursor-agent").is_none());
    }
}
