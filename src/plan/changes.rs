//! What differs between the files and the last launch.

use std::path::PathBuf;

use crate::config::desired::Session;
use crate::state::fields::{Field, hashes, shown};

use super::reason::Reason;
use super::subject::{Memory, Subject};

/// The launch-class fields that differ, each with the values that may be shown. Hashes of another version say nothing.
pub(super) fn changed(want: &Session, memory: &Memory<'_>) -> Vec<Reason> {
    let Some(old) = memory.fields else { return Vec::new() };
    let new = hashes(want, memory.salt);
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
/// they may also lift a protection and say where the session belongs. A record to be rebuilt from stamps gets its title
/// and grace from the files.
pub(super) fn adjusted(subject: &Subject<'_>, sources: &[PathBuf], standing: bool) -> Vec<Reason> {
    let (Some(want), Some(memory)) = (subject.want, &subject.memory) else { return Vec::new() };
    let grace = u64::try_from(want.stop_grace.as_millis()).unwrap_or(u64::MAX);
    let lifts = standing || want.protect;
    let differing = [
        ("title", memory.record.is_some_and(|record| record.title != want.title)),
        ("stop.grace", memory.record.is_some_and(|record| record.stop_grace_ms != Some(grace))),
        ("protect", lifts && want.protect != memory.protect),
        ("sources", standing && memory.sources != sources),
    ];
    let changed = differing.into_iter().filter(|(_, differs)| *differs);
    changed.map(|(field, _)| Reason::Adjusted { field: field.to_owned() }).collect()
}
