//! `internal`: what farhelm runs itself as.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::host::{hook, shim};

/// Becomes the program of a launch file; returns only when that failed.
#[must_use]
pub fn launch(spec: &Path) -> ExitCode {
    shim::run(spec)
}

/// Runs the hook when that is what `args`, the whole command line, ask for. Before anything else is looked at: an agent
/// waits for it, and nothing that is wrong with its command line may show.
#[must_use]
pub fn hook(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let asked = args.nth(1).is_some_and(|verb| verb == "internal") && args.next().is_some_and(|verb| verb == "hook");
    asked.then(|| hook::run(args))
}
