//! The state directory, and what earlier launches left behind.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::cli::context::{Context, account};
use crate::host::real::Machine;
use crate::observe::strays;
use crate::reconcile::terminals;
use crate::state::store::Store;

use super::finding::{Finding, Level};

const AREA: &str = "state";

/// All of it. A state directory that is not there is not made.
pub fn all(context: &Context, host: &Machine, state_dir: &Path) -> Vec<Finding> {
    let shown = state_dir.display();
    let data = match std::fs::metadata(state_dir) {
        Ok(data) => data,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![Finding::ok(AREA, format!("{shown} is not there yet; the first verb that needs it makes it"))];
        }
        Err(error) => {
            let todo = "choose another one with --state-dir";
            return vec![Finding::new(AREA, Level::Problem, format!("{shown}: {error}"), todo)];
        }
    };
    let mode = data.permissions().mode() & 0o777;
    let mut findings = Vec::new();
    if !data.is_dir() || data.uid() != nix::unistd::getuid().as_raw() {
        let todo = "choose another one with --state-dir";
        return vec![Finding::new(AREA, Level::Problem, format!("{shown} is no directory of this account"), todo)];
    }
    if mode & 0o077 == 0 {
        findings.push(Finding::ok(AREA, format!("{shown}, mode {mode:o}")));
    } else {
        // What is in it is private by itself; only who may write here could put something else in its place.
        let level = if mode & 0o022 == 0 { Level::Warning } else { Level::Problem };
        let words = format!("{shown} is open to others (mode {mode:o})");
        findings.push(Finding::new(AREA, level, words, format!("chmod 700 {shown}")));
    }
    // A directory that no verb has written to has nothing to read, and is left as it is.
    if state_dir.join("sessions").is_dir() {
        findings.extend(records(context, host, state_dir));
    }
    findings
}

fn records(context: &Context, host: &Machine, state_dir: &Path) -> Vec<Finding> {
    let failed = |error: String| {
        let todo = "see what the message says; records are plain files, one a session";
        vec![Finding::new(AREA, Level::Problem, error, todo)]
    };
    let store = match Store::open(host, state_dir, &account()) {
        Ok(store) => store,
        Err(error) => return failed(error.to_string()),
    };
    let memory = match store.records() {
        Ok(memory) => memory,
        Err(error) => return failed(error.to_string()),
    };
    let (records, graves) = (memory.records.len(), memory.tombstones.len());
    let mut findings = vec![Finding::ok(AREA, format!("{records} sessions recorded, {graves} reaped ones remembered"))];
    for damaged in &memory.damaged {
        let words = format!("{} cannot be understood: {}", damaged.file.display(), damaged.words);
        let todo = "`farhelm adopt` rebuilds it from its pane; move the file away when the session is gone";
        findings.push(Finding::new(AREA, Level::Problem, words, todo));
    }
    let sockets = terminals::sockets(memory.records.values(), &context.socket());
    findings.push(match strays::find(host, &sockets, &memory.known(), state_dir) {
        Ok(found) if found.is_empty() => Finding::ok(AREA, "no process of a session that is no more"),
        Ok(found) => {
            let words = format!("{} processes belong to sessions that are no more", found.len());
            Finding::new(AREA, Level::Warning, words, "farhelm reap --strays")
        }
        Err(error) => Finding::new(AREA, Level::Warning, error.to_string(), "is /proc mounted?"),
    });
    findings
}
