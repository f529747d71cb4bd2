//! The keys of an agent, as tmux names them. Data for later: farhelm sends none so far.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The keys that interrupt an agent and end it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// How a turn is interrupted.
    pub interrupt: Interrupt,
    /// The command that ends it, typed into an empty composer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// The keys that end it from an empty composer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exit_keys: Vec<String>,
    /// Keys that must never be sent, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<String>,
}

/// How a turn is interrupted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {
    /// The keys, in order.
    pub keys: Vec<String>,
    /// Time between two of them, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u32>,
    /// A key that clears what the interrupt put back into the composer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear: Option<String>,
    /// What else happens, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
