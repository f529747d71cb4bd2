//! `internal`: what farhelm runs itself as. Read before the command line of people is: every launch waits for it, and
//! every agent that runs its hook.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::host::{hook, shim};

/// Runs the inner verb that `args`, the whole command line, ask for; `None` when they ask for none. Nothing that is wrong
/// with a hook's command line may show.
#[must_use]
pub fn run(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    args.nth(1).filter(|verb| verb == "internal")?;
    let verb = args.next()?;
    if verb == "hook" {
        return Some(hook::run(args));
    }
    let spec = args.next().filter(|_| verb == "launch")?;
    args.next().is_none().then(|| shim::run(Path::new(&spec)))
}
