//! What can be said of a session: in `defaults`, in a profile, in the session itself.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::duration::Period;
use super::fleet::Moved;
use super::name::Name;
use super::words::{Argv, OneOrMore, Text};

mod choices;

pub use choices::{AgentView, HookTrust, Hooks, Permissions, Trust, Wanted};

/// All settings; which of them may stand where is said by [`Defaults`], [`Profile`] and [`Session`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    /// The profile that says how to run the agent. Instead of it, `invocation` gives a command of the session's own.
    #[schemars(extend("x-change" = "restart"))]
    pub profile: Option<Name>,
    /// The profile this one builds on. A profile named like a known kind builds on that kind's.
    #[schemars(extend("x-change" = "restart"))]
    pub extends: Option<Name>,
    /// One session per combination (a map of lists), or per row (a list of maps); the session's name and values use
    /// the names as `${name}`.
    pub each: Option<Each>,
    /// The session's former name, when it was renamed: it moves, nothing restarts.
    #[schemars(extend("x-change" = "rename in place"))]
    pub moved: Option<Moved>,
    /// What the agent is. A profile without one is `generic`; a session's own `invocation` gets it by the name of the
    /// program it starts.
    #[schemars(extend("x-change" = "restart"))]
    pub kind: Option<Name>,
    /// The command that starts the agent. `{cwd}` as a whole argument becomes the directory.
    #[schemars(extend("x-change" = "restart"))]
    pub invocation: Option<Argv>,
    /// The command that resumes its conversation, run as written. `{conversation}` and `{cwd}` as whole arguments are
    /// filled in. Derived where the invocation starts the kind's own program; otherwise required.
    #[schemars(extend("x-change" = "nothing now; used at the next resume"))]
    pub resume: Option<Argv>,
    /// The working directory: absolute, `~` or `~/x`. It must exist.
    #[schemars(length(min = 1), extend("x-change" = "restart; the conversation is kept where the kind can resume elsewhere"))]
    pub dir: Option<String>,
    /// The model, as the agent names it.
    #[schemars(length(min = 1), extend("x-change" = "restart"))]
    pub model: Option<String>,
    /// The effort level, as the agent names it.
    #[schemars(length(min = 1), extend("x-change" = "restart"))]
    pub effort: Option<String>,
    /// The permission posture.
    #[schemars(extend("x-change" = "restart", "default" = "default"))]
    pub permissions: Option<Permissions>,
    /// Whether the directory is trusted, where the agent asks. No choice is made by default.
    #[schemars(extend("x-change" = "restart"))]
    pub trust: Option<Trust>,
    /// Environment variables. Their values are never printed.
    #[schemars(with = "Option<BTreeMap<String, Text>>",
               extend("x-change" = "restart", "propertyNames" = {"$ref": "#/definitions/Variable"}))]
    pub env: Option<BTreeMap<String, Text>>,
    /// Files of `NAME=value` lines, relative to the fleet file; `env` beats them.
    #[schemars(extend("x-change" = "restart, when a value differs"))]
    pub env_file: Option<OneOrMore>,
    /// Secrets by reference, fetched when a launch needs them.
    #[schemars(with = "Option<BTreeMap<String, EnvFrom>>",
               extend("x-change" = "restart, when the reference differs",
                      "propertyNames" = {"$ref": "#/definitions/Variable"}))]
    pub env_from: Option<BTreeMap<String, EnvFrom>>,
    /// Whether farhelm's hooks are injected, where the kind has them.
    #[schemars(extend("x-change" = "restart", "default" = "on"))]
    pub hooks: Option<Hooks>,
    /// Which hooks an agent runs that asks before it runs any, where the kind knows of that. `bypass` is for versions that
    /// cannot trust farhelm's alone: they run the user's own hooks unasked, too.
    #[schemars(extend("x-change" = "restart", "default" = "own"))]
    pub hook_trust: Option<HookTrust>,
    /// Whether the agent keeps its own view of all its agents, where the kind has one. A keypress there can move the
    /// conversation out of the terminal, under another id.
    #[schemars(extend("x-change" = "restart", "default" = "off"))]
    pub agent_view: Option<AgentView>,
    /// Resume a conversation whose id was assigned at launch though no report ever confirmed it.
    #[schemars(extend("x-change" = "in place", "default" = false))]
    pub resume_assigned: Option<bool>,
    /// What the agent is told once, at its first fresh launch.
    #[schemars(length(min = 1), extend("x-change" = "nothing now; delivered at the next fresh launch"))]
    pub prompt: Option<String>,
    /// A file with the prompt, relative to the fleet file.
    #[schemars(length(min = 1), extend("x-change" = "nothing now; delivered at the next fresh launch"))]
    pub prompt_file: Option<String>,
    /// Whether the session is wanted running.
    #[schemars(extend("x-change" = "launch or stop", "default" = "running"))]
    pub desired: Option<Wanted>,
    /// The title shown.
    #[schemars(extend("x-change" = "in place"))]
    pub title: Option<String>,
    /// Labels to select sessions by (`-l NAME=VALUE`).
    #[schemars(extend("x-change" = "in place"))]
    pub labels: Option<BTreeMap<String, Text>>,
    /// Higher runs first, where `policy.max_running` leaves a choice.
    #[schemars(extend("x-change" = "in place", "default" = 0))]
    pub priority: Option<i64>,
    /// What to do when the agent ends.
    #[schemars(extend("x-change" = "in place"))]
    pub restart: Option<RestartPolicy>,
    /// When a change may restart a running agent.
    #[schemars(extend("x-change" = "in place"))]
    pub update: Option<Update>,
    /// How it is ended.
    #[schemars(extend("x-change" = "in place"))]
    pub stop: Option<Stop>,
    /// What to do when its conversation cannot be found. `block` where the kind can identify conversations, otherwise
    /// `fresh`.
    #[schemars(extend("x-change" = "in place"))]
    pub on_lost_conversation: Option<OnLost>,
    /// Never reaped, never restarted fresh, also after its block was deleted; `farhelm unprotect` lifts it.
    #[schemars(extend("x-change" = "in place", "default" = false))]
    pub protect: Option<bool>,
    /// Extra plain terminals, by name.
    #[schemars(with = "Option<BTreeMap<String, Tab>>",
               extend("x-change" = "new ones open; removed or changed ones close",
                      "propertyNames" = {"$ref": "#/definitions/Name"}))]
    pub tabs: Option<BTreeMap<Name, Tab>>,
    /// A command run in the pane before a fresh launch; when it fails, so does the launch.
    #[schemars(extend("x-change" = "nothing now; used at the next launch"))]
    pub before_launch: Option<BeforeLaunch>,
}

/// Declares where a subset of [`Settings`] may stand: a type of its own for the schema, without some fields.
macro_rules! settings {
    ($(#[doc = $doc:literal] $type:ident without $($field:literal),+;)+) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $type(pub Settings);

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let mut schema = Settings::json_schema(generator);
                schema.insert("description".to_owned(), $doc.trim().into());
                if let Some(serde_json::Value::Object(fields)) = schema.get_mut("properties") {
                    for field in [$($field),+] {
                        fields.remove(field);
                    }
                }
                schema
            }
        }
    )+};
}

settings! {
    /// Settings of every session, unless its profile or the session itself says otherwise.
    Defaults without "extends", "each", "moved";
    /// A way to run an agent.
    Profile without "profile", "each", "moved";
    /// One session, or with `each` one per combination or row.
    Session without "extends";
}

/// `each`: a map of lists, or a list of rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Each(pub serde_json::Value);

impl JsonSchema for Each {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Each".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = generator.subschema_for::<Text>();
        json_schema!({
            "type": ["object", "array"],
            "minProperties": 1,
            "minItems": 1,
            "additionalProperties": {"type": "array", "items": text, "minItems": 1,
                                     "x-expects": "a list of values"},
            "items": {"type": "object", "additionalProperties": text, "minProperties": 1,
                      "x-expects": "a map of values"},
            "x-expects": "a map of lists (all combinations), or a list of maps (rows)",
        })
    }
}

/// When an ended agent is launched again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestartWhen {
    /// Never.
    Never,
    /// Unless it ended with status 0.
    #[default]
    OnFailure,
    /// Always.
    Always,
}

/// When a change may restart a running agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpdateWhen {
    /// At once.
    #[default]
    Now,
    /// When it is idle.
    Idle,
    /// Only by `restart`.
    Manual,
}

/// What to do when a conversation is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnLost {
    /// Block the session.
    #[default]
    Block,
    /// Start anew.
    Fresh,
}

/// What to do when the agent ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct RestartPolicy {
    /// When it is launched again.
    #[schemars(extend("default" = "on-failure"))]
    pub when: Option<RestartWhen>,
    /// How long to wait. The first restart after health is immediate.
    pub backoff: Option<Backoff>,
    /// More failures than this in a row are a crash loop.
    #[schemars(extend("default" = 5))]
    pub max_restarts: Option<u32>,
}

/// How long to wait before a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Backoff {
    /// The first delay; each further one doubles.
    #[schemars(extend("default" = "1s"))]
    pub initial: Option<Period>,
    /// The longest delay.
    #[schemars(extend("default" = "5m"))]
    pub max: Option<Period>,
    /// Health of this length forgets earlier failures.
    #[schemars(extend("default" = "10m"))]
    pub reset_after: Option<Period>,
}

/// When a change may restart a running agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Update {
    /// `idle` where the kind reports activity, otherwise `now`.
    pub when: Option<UpdateWhen>,
}

/// How a session is ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Stop {
    /// Time between TERM and KILL, at most 60s.
    #[schemars(extend("default" = "5s"))]
    pub grace: Option<Period>,
}

/// A secret by reference: a file, or a command's output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct EnvFrom {
    /// A file whose content is the value, relative to the fleet file; one trailing newline is cut.
    #[schemars(length(min = 1))]
    pub file: Option<String>,
    /// A command whose output is the value; no shell sees it, it has no terminal; one trailing newline is cut.
    pub command: Option<Argv>,
    /// What a command's output is.
    #[schemars(extend("default" = "value"))]
    pub format: Option<Format>,
    /// What a change of the file's content does.
    #[schemars(extend("default" = "nothing"))]
    pub on_change: Option<OnChange>,
}

/// What a command's output is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The variable's value.
    #[default]
    Value,
    /// Lines of `NAME=value`, all of which are set.
    Dotenv,
}

/// What a change of a secret file's content does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnChange {
    /// Nothing: the next launch reads it.
    #[default]
    Nothing,
    /// The session restarts.
    Restart,
}

/// An extra terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Tab {
    /// What runs in it; the login shell by default.
    pub run: Option<Argv>,
    /// Its directory; the session's by default.
    #[schemars(length(min = 1))]
    pub dir: Option<String>,
    /// Further environment variables. Their values are never printed.
    #[schemars(with = "Option<BTreeMap<String, Text>>", extend("propertyNames" = {"$ref": "#/definitions/Variable"}))]
    pub env: Option<BTreeMap<String, Text>>,
}

/// A command before a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct BeforeLaunch {
    /// The command; no shell sees it.
    pub run: Option<Argv>,
    /// How long it may take.
    #[schemars(extend("default" = "10m"))]
    pub timeout: Option<Period>,
    /// Before which launches it runs.
    #[schemars(extend("default" = "fresh"))]
    pub on: Option<RunOn>,
}

/// Before which launches a command runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunOn {
    /// Fresh ones.
    #[default]
    Fresh,
    /// Resumes too.
    Always,
}
