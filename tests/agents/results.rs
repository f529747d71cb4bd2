//! What the tests have seen of each agent, in `results.json` beside this file: the table in the README is made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::cache;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/results.json");

/// What one version of an agent was seen to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub version: String,
    /// Names of tests.
    pub passed: BTreeSet<String>,
}

/// All of it, by kind.
pub fn read() -> BTreeMap<String, Seen> {
    let text = fs::read_to_string(FILE).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{FILE}: {error}"))
}

/// Holds a passed test against the file; `FARHELM_BLESS=1` writes it there.
#[track_caller]
pub fn passed(kind: &str, behaviour: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let version = cache::version(kind).expect("it was just tested");
    let _one_at_a_time = ONE_AT_A_TIME.lock();
    let mut all = read();
    let seen = all.entry(kind.to_owned()).or_default();
    if std::env::var_os("FARHELM_BLESS").is_some() {
        if seen.version != version {
            *seen = Seen { version: version.clone(), passed: BTreeSet::new() };
        }
        seen.passed.insert(behaviour.to_owned());
        let text = serde_json::to_string_pretty(&all).expect("plain texts") + "\n";
        fs::write(FILE, text).expect("a file of the project");
    }
    let seen = &read()[kind];
    let noted = seen.version == version && seen.passed.contains(behaviour);
    assert!(noted, "{kind} {version} passes `{behaviour}`, and {FILE} does not say so: run it with FARHELM_BLESS=1");
}
