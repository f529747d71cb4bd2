//! What differs between the files and the last launch.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::desired::Session;
use crate::state::fields::{Contents, Field, hashes, shown};

use super::reason::Reason;
use super::subject::{Memory, Subject};

/// The launch-class fields that differ, each with the values that may be shown. Hashes of another version say nothing.
pub(super) fn changed(want: &Session, memory: &Memory<'_>, contents: &Contents) -> Vec<Reason> {
    let Some(old) = memory.fields else { return Vec::new() };
    let new = hashes(want, memory.salt, contents);
    let gone = old.keys().filter(|field| !new.contains_key(field));
    let mut fields: Vec<&Field> = new.iter().filter(|(f, hash)| old.get(f) != Some(hash)).map(|(f, _)| f).collect();
    fields.extend(gone);
    if fields.is_empty() {
        return Vec::new();
    }
    fields.sort_unstable();
    let values = shown(want);
    let reason = |field: &Field| Reason::Changed {
        old: memory.shown().and_then(|shown| shown.get(field)).cloned(),
        new: values.get(field).cloned(),
        field: field.clone(),
    };
    fields.into_iter().map(reason).collect()
}

/// Whether one launch-class field differs.
pub(super) fn differs(reasons: &[Reason], which: &Field) -> bool {
    reasons.iter().any(|reason| matches!(reason, Reason::Changed { field, .. } if field == which))
}

/// The text and policy fields that differ and are written in place. `standing`: the files are the fleet's own, so that
/// they may say where the session belongs. A protection is only ever added: `unprotect` lifts it. A grace that is not
/// recorded is the files' anyway.
pub(super) fn adjusted(subject: &Subject<'_>, sources: &[PathBuf], standing: bool) -> Vec<Reason> {
    let (Some(want), Some(memory)) = (subject.want, &subject.memory) else { return Vec::new() };
    let title = memory.record.and_then(|record| record.title.as_ref());
    let grace = memory.record.and_then(|record| record.stop_grace_ms);
    let differing = [
        ("title", title != want.title.as_ref()),
        ("stop.grace", grace.is_some_and(|ms| Duration::from_millis(ms) != want.stop_grace)),
        ("protect", want.protect && !memory.protect),
        ("sources", standing && memory.sources != sources),
    ];
    let changed = differing.into_iter().filter(|(_, differs)| *differs);
    changed.map(|(field, _)| Reason::Adjusted { field: field.to_owned() }).collect()
}
