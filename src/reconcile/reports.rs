//! Settles judged reports: the record first, then the stamps, then the files, so that a death in between leaves a report
//! to be judged again and never one that is lost.

use crate::host::Host;
use crate::observe::reports::{Judged, Outcome};
use crate::state::events;
use crate::state::reports::log;
use crate::state::reports::reading::{self, Taken};
use crate::state::store::Store;

use super::ledger::Ledger;

/// Removes the files of what was judged and says so in the hook logs. `saved`: the records hold what was accepted.
pub(super) fn settle(host: &dyn Host, store: &Store<'_>, judged: &[Judged], saved: bool, ledger: &Ledger<'_>) {
    for one in judged {
        let outcome = match &one.outcome {
            Outcome::Accepted if saved => log::Outcome::Accepted,
            Outcome::Refused(code, _) => log::Outcome::Refused(code),
            Outcome::Accepted | Outcome::Stays => continue,
        };
        // Somebody else's disk trouble: the report stays, and is judged again.
        let Ok(Some(taken)) = reading::take(host, &one.found) else { continue };
        if is_news(one, &taken) {
            let _ = reading::put_back(host, &taken);
            continue;
        }
        if reading::discard(host, &taken).is_err() {
            continue;
        }
        let report = one.found.report.as_ref().ok();
        let (conversation, source) =
            (report.map(|r| r.conversation.as_str()), report.and_then(|r| r.source.as_deref()));
        let line = log::line(host.now().wall_ms, outcome, conversation, source);
        let _ = log::append(host, &store.layout().report_dir(one.id), &line);
        if let Outcome::Refused(_, words) = &one.outcome {
            ledger.event(&one.session, "report", events::Outcome::Refused, Some(words));
        }
    }
}

/// The agent reported again while its report was judged.
fn is_news(judged: &Judged, taken: &Taken) -> bool {
    judged.found.report != taken.found.report
}
