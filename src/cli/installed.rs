//! Which agents' programs are on this machine.

use std::path::{Path, PathBuf};

use crate::agents::kind::Kind;

use super::context::{Context, is_executable};

/// The program of a kind in `PATH`: its name and where it is.
#[must_use]
pub fn program(context: &Context, kind: &Kind) -> Option<(String, PathBuf)> {
    kind.executables.iter().find_map(|name| Some((name.clone(), find(context, name)?)))
}

/// A program as a launch would find it: a path as it is, a name in `PATH`.
#[must_use]
pub fn find(context: &Context, word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|path| is_executable(path));
    }
    let path = context.var("PATH").unwrap_or_default();
    // A relative entry would mean another directory in each session.
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    dirs.map(|dir| dir.join(Path::new(word))).find(|path| is_executable(path))
}
