//! Strays: processes that farhelm started from this state directory and that no record and no pane accounts for.

use std::collections::BTreeSet;
use std::path::{Component, Path};
use std::time::Duration;

use crate::host::Host;
use crate::host::process::{Markers, ProcessError, ProcessKey};
use crate::host::tmux::Socket;
use crate::spec::visible::shortened;
use crate::state::record::SessionId;
use crate::state::stamp::Stamp;

use super::marks::Marks;

/// A process nobody accounts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The process.
    pub key: ProcessKey,
    /// The session in its marks.
    pub session: SessionId,
    /// Its command line, at most 200 characters, harmless on a terminal.
    pub words: String,
    /// How long it has run.
    pub age: Duration,
}

/// Finds marked processes whose `FARHELM_SUPERVISOR_SOCK` lies in `state_dir` (canonical), and whose session neither is
/// in `known` nor has a live stamped pane on any of `sockets` that answers.
///
/// # Errors
/// When the process table cannot be read.
pub fn find(
    host: &dyn Host,
    sockets: &BTreeSet<Socket>,
    known: &BTreeSet<SessionId>,
    state_dir: &Path,
) -> Result<Vec<Stray>, ProcessError> {
    let table = host.table()?;
    let now = host.now();
    let mut accounted = known.clone();
    for answer in sockets.iter().filter_map(|socket| host.panes(socket).ok()) {
        let live = answer.panes.iter().filter(|pane| pane.end.is_none());
        accounted.extend(live.filter_map(|pane| Stamp::read(&pane.stamp)).map(|stamp| stamp.id));
    }
    let marks = Marks::read(host, &table);
    let strays = marks.all().iter().filter_map(|(key, marks)| {
        let session = SessionId(uuid::Uuid::try_parse(marks.session.as_deref()?).ok()?);
        let accounted = accounted.contains(&session);
        (!accounted && is_of(marks, state_dir)).then(|| Stray {
            key: *key,
            session,
            words: shortened(&shell_words::join(host.argv(*key).unwrap_or_default()), 200),
            age: now.since(&host.started(key.start)),
        })
    });
    Ok(strays.collect())
}

/// Whether farhelm started it from this state directory: an agent or a tab, and the supervisor's socket lies there.
fn is_of(marks: &Markers, state_dir: &Path) -> bool {
    let inside =
        |path: &Path| path.starts_with(state_dir) && !path.components().any(|part| part == Component::ParentDir);
    (marks.agent.is_some() || marks.tab.is_some()) && marks.socket.as_deref().is_some_and(|at| inside(Path::new(at)))
}
