//! The installed agents.

use std::env;
use std::fs;
use std::path::PathBuf;

use crate::support::skipped;

fn folder() -> PathBuf {
    let cache = env::var_os("FARHELM_TEST_AGENTS_CACHE").map(PathBuf::from);
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let target = || env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    cache.unwrap_or_else(|| target().join("agents"))
}

/// The folder of an agent's programs.
pub fn programs(name: &str) -> PathBuf {
    folder().join(name).join("node_modules/.bin")
}

/// The installed version; `None` when it is not installed.
pub fn version(name: &str) -> Option<String> {
    let packages = fs::read_to_string(folder().join(name).join("installed")).ok()?;
    let first = packages.split_whitespace().next()?;
    Some(first.rsplit_once('@')?.1.to_owned())
}

/// Whether an agent is to be tested.
///
/// What `FARHELM_TEST_AGENTS` names must be there; without that variable, what is not installed is skipped.
#[track_caller]
pub fn chosen(name: &str) -> bool {
    let choice = env::var("FARHELM_TEST_AGENTS").ok();
    let names = choice.as_deref().map(|names| names.split([' ', ',']).collect::<Vec<_>>());
    if names.is_some_and(|names| !names.contains(&"all") && !names.contains(&name)) {
        skipped(&format!("`{name}` is not among FARHELM_TEST_AGENTS"));
        return false;
    }
    let installed = version(name).is_some();
    assert!(
        installed || choice.is_none(),
        "`{name}` is not installed in {}: run tests/agents/install",
        folder().display()
    );
    if !installed {
        skipped(&format!("`{name}` is not installed: tests/agents/install does it"));
    }
    installed
}
