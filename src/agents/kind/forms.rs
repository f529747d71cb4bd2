//! How what is wanted of an agent is said to it: prompt, choices, conversation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::setup::Place;
use crate::agents::slots::{VALUE, VALUE_TOML};

/// How a prompt is passed at a fresh launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PromptForm {
    /// As the last argument.
    Positional,
    /// As the value of a flag; one that ends in `=` is one argument with it.
    Flag(String),
}

/// How choices become arguments and environment. A choice without a form cannot be expressed by the kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChoiceForms {
    /// The form of `model`.
    #[serde(with = "written", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Written>")]
    pub model: Option<ChoiceForm>,
    /// The form of `effort`.
    #[serde(with = "written", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Written>")]
    pub effort: Option<ChoiceForm>,
    /// The levels `effort` accepts; empty accepts any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effort_values: Vec<String>,
    /// The form of `permissions: yolo`.
    #[serde(with = "written", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Written>")]
    pub yolo: Option<ChoiceForm>,
    /// The form of `trust: trusted`.
    #[serde(with = "written", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Written>")]
    pub trusted: Option<ChoiceForm>,
    /// The form of `trust: untrusted`.
    #[serde(with = "written", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Written>")]
    pub untrusted: Option<ChoiceForm>,
    /// Variables of the kind's `env` that switch the agent's own view of all its agents off; `agent_view: on` leaves them
    /// out. Empty where the agent has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub view_off: Vec<String>,
}

/// How one choice is said: a list is its arguments.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    /// Arguments, and nothing else.
    Args(Vec<String>),
    /// Anything.
    Form(ChoiceForm),
}

/// Reads and writes a form in either spelling.
mod written {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{ChoiceForm, Written};

    #[allow(clippy::ref_option, reason = "serde hands over the field as it is")]
    pub(super) fn serialize<S: Serializer>(form: &Option<ChoiceForm>, to: S) -> Result<S::Ok, S::Error> {
        let short = |form: &ChoiceForm| *form == ChoiceForm { args: form.args.clone(), ..ChoiceForm::default() };
        let written = form.clone().map(|form| match short(&form) {
            true => Written::Args(form.args),
            false => Written::Form(form),
        });
        written.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ChoiceForm>, D::Error> {
        Ok(Option::<Written>::deserialize(from)?.map(|written| match written {
            Written::Args(args) => ChoiceForm { args, ..ChoiceForm::default() },
            Written::Form(form) => form,
        }))
    }
}

/// How one choice is said. `{value}` is its value, `{cwd}` the directory, `{value:toml}` and `{cwd:toml}` the same as a
/// quoted TOML string; all of them also within a text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChoiceForm {
    /// Arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The agent is always so: nothing needs to be said.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// A conversation keeps it: a resume that does not say it has it all the same, so that it cannot be taken back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sticky: bool,
}

impl ChoiceForm {
    /// Only arguments.
    #[must_use]
    pub fn args<const N: usize>(args: [&str; N]) -> Self {
        Self { args: args.map(str::to_owned).to_vec(), ..Self::default() }
    }

    /// It can be said.
    #[must_use]
    pub fn is_sayable(&self) -> bool {
        self.always || !self.args.is_empty() || !self.env.is_empty()
    }

    /// The value is part of what is said.
    pub(super) fn says_value(&self) -> bool {
        let texts = self.args.iter().chain(self.env.values());
        !self.is_sayable() || texts.into_iter().any(|text| text.contains(VALUE) || text.contains(VALUE_TOML))
    }
}

/// How a conversation is identified and resumed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// How to read which process has a conversation open; absent where nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveMark>,
}

/// How to read which process has a conversation open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LiveMark {
    /// A JSON file for each process (`{pid}` in its path). It may outlive its process: compare the start time.
    PidFile {
        /// The file.
        file: Place,
        /// JSON pointer to the conversation's id.
        conversation: String,
        /// JSON pointer to the process's start time, as in field 22 of `/proc/PID/stat`.
        started: String,
    },
    /// A file (`{conversation}` in its path) that the process with the conversation holds open.
    OpenFile {
        /// The file.
        file: Place,
    },
}
