//! `internal`: what farhelm runs itself as. Read before the command line of people is: every launch and every agent's hook waits for it.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::host::{hook, shim};

/// Runs the inner verb that `args`, the whole command line, ask for; `None` when they ask for none.
#[must_use]
pub fn run(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    args.nth(1).filter(|verb| verb == "internal")?;
    let verb = args.next()?;
    if verb == "hook" {
        // Whatever is wrong with the rest of its command line must not show: the agent would show it.
        return Some(hook::run(args));
    }
    match (verb.to_str()?, args.next(), args.next()) {
        ("launch", Some(spec), None) => Some(shim::run(Path::new(&spec))),
        _ => None,
    }
}
