//! What becomes of an id that was assigned at launch and that no report confirmed.

use std::fs;

use crate::config::desired::{Desired, Dir, EnvValue, Session};
use crate::host::real::{Machine, Settings};
use crate::observe::conversation::{self, Ask};
use crate::observe::observed::{AgentSeen, Evidence, Seen};
use crate::state::fields;
use crate::state::record::{Conversation, Provenance, Recorded};

use super::*;

const ID: &str = "4bfc71d6-0000-4000-8000-000000000001";
const MESSAGE: &str = "{\"type\":\"user\",\"uuid\":\"58127860\"}\n";

/// A session of Claude Code that ended, launched without the hook by a fleet that resumes assigned ids.
struct Bed {
    home: tempfile::TempDir,
    session: Session,
    record: Record,
}

impl Bed {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".claude")).unwrap();
        let dir = Dir { spelling: "~/api".to_owned(), path: "/home/op/api".into() };
        let bare = Session::bare(name("api"), name("claude"), vec!["claude".to_owned()], dir);
        let session = Session { resume_assigned: true, hooks: false, ..bare };
        let mut record = Record { kind: name("claude"), ..running() };
        let at = record.launches[0].at;
        record.conversation = Some(Conversation { id: ID.to_owned(), provenance: Provenance::Assigned, at });
        (record.identity, record.fields_version) = (None, fields::VERSION);
        let mut bed = Self { home, session, record };
        bed.launched();
        bed
    }

    /// What was launched last is what the file says now.
    fn launched(&mut self) {
        self.record.fields = fields::hashes(&self.session, &self.record.salt, &BTreeMap::new());
    }

    fn write(&self, below: &str, text: &str) {
        let file = self.home.path().join(below).join(format!("projects/-home-op-api/{ID}.jsonl"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn evidence(&self) -> Evidence {
        let desired = Desired { sessions: [(name("api"), self.session.clone())].into(), ..Desired::default() };
        let recorded = Recorded {
            owner: owner(),
            fleet: crate::state::record::FleetRecord::default(),
            records: [(name("api"), self.record.clone())].into(),
            tombstones: BTreeMap::new(),
            damaged: Vec::new(),
        };
        let mut observed = super::Machine::new(&[super::World::default()]).look(&[&self.record]);
        observed.sessions.insert(self.record.id, Seen::without_pane(AgentSeen::Absent));
        let home = self.home.path().to_str();
        let ask = Ask { desired: &desired, thorough: false, home };
        let machine = Machine::new(Settings::default()).unwrap();
        conversation::add(&machine, &ask, &mut observed, &recorded, &|kind| builtin().get(kind.as_str()));
        observed.sessions[&self.record.id].conversation.clone()
    }
}

#[test]
fn what_was_never_written_was_never_prompted_and_what_was_written_is_still_unconfirmed() {
    let bed = Bed::new();
    assert_eq!(bed.evidence(), Evidence::NeverPrompted);
    bed.write(".claude", "{\"type\":\"mode\"}\n");
    assert_eq!(bed.evidence(), Evidence::Empty);
    bed.write(".claude", MESSAGE);
    assert_eq!(bed.evidence(), Evidence::Assigned);
}

#[test]
fn without_the_operators_word_an_assigned_id_stays_unconfirmed() {
    let mut bed = Bed::new();
    bed.session.resume_assigned = false;
    assert_eq!(bed.evidence(), Evidence::Assigned);
}

#[test]
fn a_place_that_cannot_be_looked_at_is_never_taken_for_an_empty_one() {
    let bed = Bed::new();
    fs::remove_dir(bed.home.path().join(".claude")).unwrap();
    assert!(matches!(bed.evidence(), Evidence::Unreadable(words) if words.contains(".claude")));
    fs::write(bed.home.path().join(".claude"), "").unwrap();
    assert!(matches!(bed.evidence(), Evidence::Unreadable(_)));
}

#[test]
fn where_the_agent_will_look_elsewhere_what_is_not_there_is_missing() {
    let mut bed = Bed::new();
    bed.write(".claude", MESSAGE);
    let other = bed.home.path().join("other");
    fs::create_dir(&other).unwrap();
    let value = EnvValue::Literal(other.display().to_string());
    bed.session.env.insert("CLAUDE_CONFIG_DIR".to_owned(), value);
    assert!(matches!(bed.evidence(), Evidence::Missing(words) if words.contains("where the agent will look")));
    bed.launched();
    assert_eq!(bed.evidence(), Evidence::NeverPrompted);
    bed.write("other", MESSAGE);
    assert_eq!(bed.evidence(), Evidence::Assigned);
}
