//! What farhelm knows of one agent CLI. All of it is data: a file of `profiles/`, or `kinds:` of a fleet file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::name::Name;

use super::slots::{CONVERSATION, VALUE};

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
    /// How a fresh launch is given its prompt; absent when it cannot be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptForm>,
    /// How choices become arguments.
    #[serde(default)]
    pub choices: ChoiceForms,
    /// How a conversation is identified and resumed; absent when it cannot be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationForms>,
    /// Environment to set at launch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Environment variables that must not reach a launch: the agent's own marks, set for its children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scrub: Vec<String>,
    /// `comm` names of the running agent, for liveness behind a wrapper.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub process_names: Vec<String>,
    /// The kind reports activity, so that `update.when: idle` is its default.
    #[serde(default)]
    pub reports_activity: bool,
    /// Dialogs by name: texts of one screen, all of which it shows. Data for a look at an agent that does not report.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dialogs: BTreeMap<Name, Vec<String>>,
}

/// What makes a kind unusable as data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KindFault {
    /// An argument form names nothing to fill in.
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
}

impl Kind {
    /// Checks what the types cannot say. A resume form without its slot would resume some other conversation.
    ///
    /// # Errors
    /// The first [`KindFault`].
    pub fn check(&self) -> Result<(), KindFault> {
        let needs = |form: &'static str, args: &[String], slot: &'static str, within: bool| {
            let filled = args.iter().any(|arg| arg == slot || (within && arg.contains(slot)));
            let fault = || KindFault::NoSlot { kind: self.name.clone(), form, slot };
            if filled || (args.is_empty() && form != "conversation.resume") { Ok(()) } else { Err(fault()) }
        };
        needs("choices.model", &self.choices.model, VALUE, true)?;
        needs("choices.effort", &self.choices.effort, VALUE, true)?;
        let Some(conversation) = &self.conversation else { return Ok(()) };
        needs("conversation.resume", &conversation.resume, CONVERSATION, false)?;
        needs("conversation.assign", &conversation.assign, CONVERSATION, false)?;
        if self.executables.is_empty() { Err(KindFault::NoExecutable(self.name.clone())) } else { Ok(()) }
    }

    /// Whether `word`, a path or a plain name, is this agent's own program.
    #[must_use]
    pub fn is_program(&self, word: &str) -> bool {
        let name = base_name(word);
        self.executables.iter().any(|executable| executable == name)
    }
}

/// What follows the last `/`.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
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

/// How a prompt is passed at a fresh launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PromptForm {
    /// As the last argument.
    Positional,
    /// As the value of a flag.
    Flag(String),
}

/// How choices become arguments. A choice without a form cannot be expressed by the kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChoiceForms {
    /// Arguments for `model`; `{value}` is the model, also inside an argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<String>,
    /// Arguments for `effort`; `{value}` is the level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effort: Vec<String>,
    /// The levels `effort` accepts; empty accepts any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effort_values: Vec<String>,
    /// Arguments for `permissions: yolo`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yolo: Vec<String>,
    /// Arguments for `trust: trusted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<String>,
    /// Arguments for `trust: untrusted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untrusted: Vec<String>,
}

/// How a conversation is identified and resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationForms {
    /// Arguments that resume one; `{conversation}` is a whole argument.
    pub resume: Vec<String>,
    /// The resume arguments go right behind the executable (a subcommand), not at the end.
    #[serde(default)]
    pub resume_first: bool,
    /// Words in an invocation that make a derived resume impossible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_with: Vec<String>,
    /// Arguments that assign an id at a fresh launch; `{conversation}` is a whole argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assign: Vec<String>,
    /// It can be resumed from another directory.
    #[serde(default)]
    pub from_other_dir: bool,
    /// Variables that say where conversations are stored: when they change, the conversation must be found there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub home_env: Vec<String>,
}
