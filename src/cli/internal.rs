//! `internal`: what farhelm runs itself as.

use std::path::Path;
use std::process::ExitCode;

use crate::host::shim;

/// Becomes the program of a launch file; returns only when that failed.
#[must_use]
pub fn launch(spec: &Path) -> ExitCode {
    shim::run(spec)
}
