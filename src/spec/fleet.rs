//! The whole fleet file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::Period;
use super::name::Name;
use super::settings::{Defaults, Profile, Session};
use super::words::{OneOrMore, Text};
use crate::agents::kind::Kind;

/// A fleet of terminal coding agents, as farhelm keeps it.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Fleet")]
pub struct Fleet {
    /// Version of the file format. Required, and the first key of every file.
    pub farhelm: Version,
    /// The fleet's name, its scope of ownership. Files of one fleet must agree on it; one of them must say it.
    #[schemars(extend("x-change" = "another fleet, unless `moved` names the former one"))]
    pub fleet: Option<Name>,
    /// The fleet's former name, when it was renamed: sessions move, nothing restarts.
    pub moved: Option<Moved>,
    /// Further files, relative to this one. A pattern (`*` and `?`) that matches nothing is an error.
    pub include: Option<OneOrMore>,
    /// Variables, filled in as `${name}`. `--var` and `--vars` override them.
    #[schemars(with = "Option<BTreeMap<String, Text>>",
               extend("propertyNames" = {"pattern": "^[A-Za-z_][A-Za-z0-9_-]*$",
                                         "x-expects": "a variable's name: letters, digits, `_` and `-`"}))]
    pub vars: Option<BTreeMap<String, Text>>,
    /// Policy of the whole fleet.
    pub policy: Option<Policy>,
    /// Settings of every session, unless its profile or the session itself says otherwise.
    pub defaults: Option<Defaults>,
    /// Ways to run an agent, by name. Every known kind gives a profile of its name; one of the same name refines it.
    #[schemars(with = "Option<BTreeMap<String, Profile>>", extend("propertyNames" = {"$ref": "#/definitions/Name"}))]
    pub profiles: Option<BTreeMap<Name, Profile>>,
    /// Further agent kinds, by name; or fields of known ones: what is left out of those stays.
    #[schemars(with = "Option<BTreeMap<String, Kind>>", extend("propertyNames" = {"$ref": "#/definitions/Name"}))]
    pub kinds: Option<BTreeMap<Name, Kind>>,
    /// The sessions, by name. A name with `${…}` and `each` stands for many.
    #[schemars(with = "Option<BTreeMap<String, Session>>", extend("propertyNames" = {"$ref": "#/definitions/Name"}))]
    pub sessions: Option<BTreeMap<String, Session>>,
}

/// Version of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// The only one so far.
    V1,
}

/// A former name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Moved {
    /// The name before it was renamed.
    pub from: Name,
}

/// Policy of the whole fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Policy {
    /// `apply` reaps what was removed from the files.
    #[schemars(extend("default" = true))]
    pub prune: Option<bool>,
    /// More reaps than this in one apply are blocked as a whole (`--max-reap N`).
    #[schemars(extend("default" = 5))]
    pub max_reap: Option<u32>,
    /// At most this many sessions run, by priority, then name. No limit by default.
    pub max_running: Option<u32>,
    /// At most this many sessions are down at once because of a change. No limit by default.
    #[schemars(range(min = 1))]
    pub max_unavailable: Option<u32>,
    /// How launches are paced.
    pub launch: Option<Pacing>,
    /// What `watch` may do.
    pub watch: Option<WatchPolicy>,
    /// Which sessions agents may ask for (`farhelm spawn`). None by default.
    pub spawn: Option<SpawnPolicy>,
}

/// How launches are paced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Pacing {
    /// Launches in flight at once.
    #[schemars(range(min = 1), extend("default" = 4))]
    pub parallel: Option<u32>,
    /// Time between two launches.
    #[schemars(extend("default" = "250ms"))]
    pub stagger: Option<Period>,
}

/// What `watch` may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct WatchPolicy {
    /// `watch` reaps what was removed from the files. Otherwise it leaves reaps to an apply.
    #[schemars(extend("default" = false))]
    pub prune: Option<bool>,
}

/// Which sessions agents may ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SpawnPolicy {
    /// The profiles they may be made from. A session whose profile is no longer here leaves the fleet.
    pub allow: Option<Vec<Name>>,
    /// How many of them one session may have at once.
    #[schemars(extend("default" = 4))]
    pub max_children: Option<u32>,
    /// How deep: 1 is for sessions of the files alone, 2 for those that they asked for too.
    #[schemars(range(min = 1), extend("default" = 1))]
    pub max_depth: Option<u32>,
}
