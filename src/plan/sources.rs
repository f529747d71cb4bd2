//! Whether the files of this plan may destroy what was applied from the fleet's files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Inputs;
use super::reason::Reason;
use super::subject::Subject;

/// Why nothing may be destroyed, when these are not, or not all of, the files the fleet was last applied from.
///
/// Reading further files beside all of those known is no other source: what was removed is missing from all of them.
pub(super) fn others(inputs: &Inputs<'_>, subjects: &[Subject<'_>]) -> Option<Reason> {
    if inputs.request.take_over {
        return None;
    }
    let read: BTreeSet<&PathBuf> = inputs.desired.sources.iter().collect();
    let memories = || subjects.iter().filter_map(|subject| subject.memory.as_ref());
    let mut known: BTreeSet<&PathBuf> = inputs.recorded.fleet.sources.iter().collect();
    if known.is_empty() {
        known = memories().flat_map(|memory| memory.sources).collect();
    }
    let nothing_known = known.is_empty() && memories().next().is_some();
    (nothing_known || !known.is_subset(&read))
        .then(|| Reason::OtherSources { known: known.into_iter().map(|path| path.display().to_string()).collect() })
}
