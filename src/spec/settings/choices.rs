//! What can be chosen of an agent, in words that mean the same for every kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Permission posture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    /// The agent's own default.
    #[default]
    Default,
    /// Nothing is asked.
    Yolo,
}

/// Trust in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Trusted for this launch.
    Trusted,
    /// Not trusted for this launch.
    Untrusted,
}

/// Whether hooks are injected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hooks {
    /// They are.
    #[default]
    On,
    /// They are not: the conversation is known only where its id is assigned.
    Off,
}

/// Which hooks an agent runs that asks before it runs any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookTrust {
    /// Exactly farhelm's, and those its user trusts.
    #[default]
    Own,
    /// All that it finds, unasked.
    Bypass,
}

/// Whether the agent keeps its own view of all its agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentView {
    /// It is switched off.
    #[default]
    Off,
    /// As the agent has it.
    On,
}

/// Whether a session is wanted running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// It is.
    #[default]
    Running,
    /// It is kept, and does not run.
    Stopped,
}
