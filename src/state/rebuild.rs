//! Rebuilds a lost record from the stamp of its pane.

use std::collections::BTreeMap;

use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::{PaneId, Socket};
use crate::spec::name::Name;

use super::digest;
use super::fields::{self, Field, Shown};
use super::record::{Conversation, Ended, Launch, Phase, RECORD_VERSION, Record, RecordedDir, TabRecord};
use super::stamp::Stamp;

/// What was seen of the stamped pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneFacts {
    /// When it was seen.
    pub at: Moment,
    /// The boot.
    pub boot: BootId,
    /// Its server's socket.
    pub socket: Socket,
    /// Its server.
    pub server: Option<ProcessKey>,
    /// The pane.
    pub pane: PaneId,
    /// Its process, while it runs.
    pub process: Option<ProcessKey>,
    /// The agent's exec is proven.
    pub proven: bool,
    /// Scopes are in use here: its launch may have had one, and a stop must ask.
    pub scoped: bool,
    /// How it ended, when it did.
    pub ended: Option<Ended>,
    /// Panes of its tabs: name, stamp's tab id, pane and process.
    pub tabs: BTreeMap<Name, TabRecord>,
}

/// The record that `stamp` and its pane tell of. `kind` is the session's kind ([`kind_of`]).
///
/// Not told by a stamp, and so empty: values that may be shown, the prompt delivered, holds, titles and failures.
#[must_use]
pub fn record_from(stamp: &Stamp, kind: Name, facts: PaneFacts) -> Record {
    let dir = stamp.dir.clone().unwrap_or_default();
    let phase = match (&facts.ended, facts.proven) {
        (Some(_), _) => Phase::Ended,
        (None, true) => Phase::Running,
        (None, false) => Phase::Opened,
    };
    let launch = Launch {
        generation: stamp.generation,
        phase,
        at: facts.at,
        boot: facts.boot,
        socket: facts.socket,
        server: facts.server,
        pane: Some(facts.pane),
        process: facts.process,
        agent: None,
        scoped: facts.scoped,
        resumed: false,
        prompt: None,
        hook: crate::state::record::HookState::None,
        ran: false,
        over: None,
        refused: None,
        contradicted: None,
        ended: facts.ended,
    };
    // One that could not be read came with no hashes either.
    let salt = if stamp.salt.is_empty() { uuid::Uuid::new_v4().simple().to_string() } else { stamp.salt.clone() };
    let conversation = stamp.conversation.clone().zip(stamp.provenance);
    Record {
        version: RECORD_VERSION,
        id: stamp.id,
        fleet: stamp.fleet.clone(),
        name: stamp.session.clone(),
        kind,
        dir: RecordedDir { spelling: dir.to_string_lossy().into_owned(), canonical: dir },
        salt,
        fields_version: stamp.fields_version,
        fields: stamp.fields.clone(),
        shown: Shown::new(),
        protect: stamp.protect,
        hold: None,
        sources: stamp.sources.clone(),
        conversation: conversation.map(|(id, provenance)| Conversation { id, provenance, at: facts.at }),
        identity: None,
        activity: None,
        prompt_delivered: None,
        launches: vec![launch],
        tabs: facts.tabs,
        failures: 0,
        title: None,
        stop_grace_ms: None,
        ending: false,
        leaving: Vec::new(),
    }
}

/// The kind a stamp's hash stands for, of those that are known.
#[must_use]
pub fn kind_of<'a>(stamp: &Stamp, mut known: impl Iterator<Item = &'a Name>) -> Option<&'a Name> {
    let hash = stamp.fields.get(&Field::Kind).filter(|_| stamp.fields_version == fields::VERSION)?;
    known.find(|kind| digest::short(&stamp.salt, [kind.to_string()]) == *hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::record::{EndedHow, OwnerId, Provenance};
    use crate::state::tests::{launch, moment, name, record};

    fn facts() -> PaneFacts {
        let launch = launch(1);
        PaneFacts {
            at: moment(9000),
            boot: launch.boot,
            socket: launch.socket,
            server: launch.server,
            pane: PaneId("%1".into()),
            process: launch.process,
            proven: true,
            scoped: false,
            ended: None,
            tabs: BTreeMap::new(),
        }
    }

    #[test]
    fn a_record_rebuilt_from_its_stamp_keeps_conversation_protection_sources_and_hashes() {
        let known = Conversation { id: "4bfc".into(), provenance: Provenance::Reported, at: moment(1) };
        let before = Record { protect: true, conversation: Some(known), ..record(1, "web", "api") };
        let stamp = Stamp::read(&Stamp::of(&before, &OwnerId("0a".into())).write()).unwrap();
        let after = record_from(&stamp, name("claude"), facts());
        let kept = |record: &Record| {
            let known = record.conversation.as_ref().map(|known| (known.id.clone(), known.provenance));
            let hashes = (record.salt.clone(), record.fields_version, record.fields.clone());
            (record.id, known, record.protect, record.sources.clone(), hashes, record.dir.canonical.clone())
        };
        assert_eq!(kept(&after), kept(&before));
        let found = (after.launch().unwrap().process, after.launch().unwrap().phase);
        assert_eq!(found, (before.launch().unwrap().process, Phase::Running));
    }

    #[test]
    fn a_dead_pane_gives_a_record_that_has_ended() {
        let ended = Ended { how: EndedHow::Exited(1), at_ms: Some(5) };
        let stamp = Stamp::of(&record(1, "web", "api"), &OwnerId("0a".into()));
        let facts = PaneFacts { ended: Some(ended.clone()), process: None, ..facts() };
        let rebuilt = record_from(&stamp, name("claude"), facts);
        let launch = rebuilt.launch().unwrap();
        assert_eq!((launch.phase, launch.ended.as_ref()), (Phase::Ended, Some(&ended)));
    }

    #[test]
    fn the_kind_is_found_by_its_hash_among_those_known() {
        let kinds = [name("claude"), name("codex")];
        let fields = [(Field::Kind, digest::short("s4lt", ["codex"]))].into();
        let stamp = Stamp::of(&Record { fields, ..record(1, "web", "api") }, &OwnerId("0a".into()));
        assert_eq!(kind_of(&stamp, kinds.iter()), Some(&kinds[1]));
        assert_eq!(kind_of(&stamp, kinds[..1].iter()), None);
    }
}
