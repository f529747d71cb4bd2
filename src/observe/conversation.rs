//! The evidence of each session's conversation: what the record says, and, where a decision may need it, the exact file
//! that its agent named.

use std::collections::{BTreeMap, BTreeSet};

use crate::agents::evidence::{self, Finding};
use crate::agents::kind::Kind;
use crate::config::desired::{Desired, EnvValue, Session};
use crate::host::Host;
use crate::host::disk::Disk;
use crate::spec::name::Name;
use crate::state::fields::{self, Field};
use crate::state::identity::Identity;
use crate::state::rebuild;
use crate::state::record::{Provenance, Record, Recorded, SessionId};
use crate::state::stamp::Stamp;

use super::held::{self, Whose};
use super::observed::{AgentSeen, Evidence, Observed, Seen};
use super::reports::{self, Unproven};

/// What is needed to look for evidence.
pub struct Ask<'a> {
    /// The fleet.
    pub desired: &'a Desired,
    /// Look at the conversations of running, unchanged sessions too.
    pub thorough: bool,
    /// The account's home directory, as this process has it.
    pub home: Option<&'a str>,
}

/// Adds the evidence of every recorded conversation, and of those that wanted sessions left in tombstones.
pub fn add<'k>(
    host: &dyn Host,
    ask: &Ask<'_>,
    observed: &mut Observed,
    recorded: &Recorded,
    kind_of: &dyn Fn(&Name) -> Option<&'k Kind>,
) {
    let taken = reports::taken(recorded);
    let contents = observed.contents.clone();
    let look = |record: &Record| match kind_of(&record.kind)
        .map(|kind| held::unless(host, ask, kind, Whose::of(record), evidence(host, (ask, &contents), kind, record)))
    {
        Some(evidence) => evidence,
        None => of_record(record),
    };
    for (name, record) in &recorded.records {
        let Some(seen) = observed.sessions.get(&record.id) else { continue };
        let evidence = match taken.get(name) {
            Some(owner) => Evidence::TakenBy(owner.clone()),
            None if ask.thorough || !plainly_running(ask, seen, record, &observed.contents) => look(record),
            None => Evidence::Unread,
        };
        if let Some(seen) = observed.sessions.get_mut(&record.id) {
            seen.conversation = evidence;
        }
    }
    let recorded_ids: BTreeSet<SessionId> = recorded.records.values().map(|record| record.id).collect();
    for (_, seen) in observed.sessions.iter_mut().filter(|(id, _)| !recorded_ids.contains(id)) {
        if let Some(stamp) = &seen.stamp {
            seen.conversation = of_stamp(host, ask, stamp, kind_of);
        }
    }
    for name in ask.desired.sessions.keys().filter(|name| !recorded.records.contains_key(*name)) {
        if let Some(tombstone) = recorded.tombstones.get(name) {
            let buried = &tombstone.record;
            let evidence = look(buried);
            let seen = observed.sessions.entry(buried.id).or_insert_with(|| Seen::without_pane(AgentSeen::Absent));
            seen.conversation = evidence;
        }
    }
}

/// Which conversation a session has is not known while a report of it cannot be read. One that no decision needs is not
/// asked for.
pub fn doubt(observed: &mut Observed, unread: &BTreeMap<SessionId, String>) {
    for (id, words) in unread {
        if let Some(seen) = observed.sessions.get_mut(id).filter(|seen| seen.conversation != Evidence::Unread) {
            seen.conversation = Evidence::Unreadable(format!("its reports: {words}"));
        }
    }
}

/// What was reported last and is not there is missing: no earlier conversation takes its place.
pub fn supersede(observed: &mut Observed, unproven: BTreeMap<SessionId, Unproven>) {
    for (id, Unproven { conversation, words, .. }) in unproven {
        if let Some(seen) = observed.sessions.get_mut(&id).filter(|seen| seen.conversation != Evidence::Unread) {
            seen.conversation = Evidence::Unproven { conversation, words };
        }
    }
}

/// Notes which conversations were found: one that was there once is missing when it is gone, not yet unwritten.
pub fn note_found(observed: &Observed, recorded: &mut Recorded) {
    for record in recorded.records.values_mut() {
        let found = observed.sessions.get(&record.id).is_some_and(|s| matches!(s.conversation, Evidence::Verified(_)));
        if let Some(identity) = record.identity.as_mut().filter(|_| found) {
            identity.seen = true;
        }
    }
}

/// A running session as the files want it: no decision needs its conversation.
fn plainly_running(ask: &Ask<'_>, seen: &Seen, record: &Record, contents: &fields::Contents) -> bool {
    let wanted = ask.desired.sessions.get(&record.name);
    matches!(seen.agent, AgentSeen::Alive(_) | AgentSeen::Launching { .. })
        && wanted.is_some_and(|session| {
            record.fields_version == fields::VERSION && record.fields == fields::hashes(session, &record.salt, contents)
        })
}

/// What is known without a look outside.
fn of_record(record: &Record) -> Evidence {
    match record.conversation.as_ref().map(|conversation| conversation.provenance) {
        None => Evidence::None,
        Some(Provenance::Assigned) if record.never_ran() => Evidence::NeverPrompted,
        Some(Provenance::Assigned) => Evidence::Assigned,
        Some(Provenance::Reported) => Evidence::Unreadable(format!("kind `{}` is not known any more", record.kind)),
    }
}

/// What a stamp says, where nothing else remembers.
fn of_stamp<'k>(
    host: &dyn Host,
    ask: &Ask<'_>,
    stamp: &Stamp,
    kind_of: &dyn Fn(&Name) -> Option<&'k Kind>,
) -> Evidence {
    let said = match (&stamp.conversation, stamp.provenance) {
        (Some(id), Some(Provenance::Reported)) => Evidence::Verified(id.clone()),
        (Some(_), Some(Provenance::Assigned)) => Evidence::Assigned,
        _ => return Evidence::None,
    };
    let wanted = || ask.desired.sessions.get(&stamp.session).map(|session| &session.kind);
    let kind = rebuild::kind_of(stamp, ask.desired.kinds.keys()).or_else(wanted).and_then(kind_of);
    let whose = Whose { name: &stamp.session, id: stamp.id, conversation: stamp.conversation.as_deref() };
    kind.map_or(said.clone(), |kind| held::unless(host, ask, kind, whose, said))
}

fn evidence(disk: &dyn Disk, (ask, contents): (&Ask<'_>, &fields::Contents), kind: &Kind, record: &Record) -> Evidence {
    let Some(conversation) = record.conversation.as_ref().filter(|known| known.provenance == Provenance::Reported)
    else {
        return assigned(disk, (ask, contents), kind, record);
    };
    let (Some(identity), Some(reports)) = (&record.identity, &kind.reports) else {
        // Rebuilt from a stamp, which holds the id alone. It was verified when it was reported, and an agent that does
        // not find an id says so and ends (seen of every kind that reports); it begins nothing new.
        return Evidence::Verified(conversation.id.clone());
    };
    let root = moved_root(ask, kind, record)
        .and_then(|env| evidence::root(reports.evidence, |name| env.get(name).map(String::as_str)));
    of_finding(identity, identity.verify(reports.evidence, root.as_deref(), disk))
}

/// An assigned id that is to be resumed on the operator's word: with nothing written of it there is nothing to resume, and
/// the id can be used again.
fn assigned(disk: &dyn Disk, (ask, contents): (&Ask<'_>, &fields::Contents), kind: &Kind, record: &Record) -> Evidence {
    let plain = of_record(record);
    // Variables that only a launch learns may say where the agent looks.
    let known_place = |session: &&Session| session.resume_assigned && session.env_bundles.is_empty();
    let wanted = ask.desired.sessions.get(&record.name).filter(known_place);
    let (Evidence::Assigned, Some(known), Some(session)) = (&plain, &record.conversation, wanted) else { return plain };
    let Some((rule, root)) = kind.reports.as_ref().map(|reports| reports.evidence).and_then(|rule| {
        let env = environment(ask, kind, session)?;
        Some((rule, evidence::root(rule, |name| env.get(name).map(String::as_str))?))
    }) else {
        return plain;
    };
    match evidence::written(rule, &known.id, &root, disk) {
        None | Some(Finding::Verified { .. }) => plain,
        Some(Finding::NeverPrompted | Finding::Empty) if !looks_where_it_wrote(kind, record, session, contents) => {
            Evidence::Missing(format!("nothing of it is below {}, where the agent will look", root.display()))
        }
        Some(Finding::NeverPrompted) => Evidence::NeverPrompted,
        Some(Finding::Empty) => Evidence::Empty,
        Some(Finding::Unreadable(words)) => Evidence::Unreadable(words),
        Some(Finding::Changed(words) | Finding::Missing(words) | Finding::Pending(words)) => Evidence::Changed(words),
    }
}

/// Whether the variables that say where the agent looks are those of its last launch.
fn looks_where_it_wrote(kind: &Kind, record: &Record, session: &Session, contents: &fields::Contents) -> bool {
    let now = fields::hashes(session, &record.salt, contents);
    let names = kind.conversation.iter().flat_map(|forms| &forms.home_env);
    let mut fields = names.map(|name| Field::Env(name.clone()));
    record.fields_version == fields::VERSION && fields.all(|field| record.fields.get(&field) == now.get(&field))
}

fn of_finding(identity: &Identity, finding: Finding) -> Evidence {
    match finding {
        Finding::Verified { target, .. } => Evidence::Verified(target),
        Finding::NeverPrompted => Evidence::NeverPrompted,
        Finding::Empty => Evidence::Empty,
        Finding::Pending(words) => Evidence::Pending(words),
        Finding::Missing(words) if identity.transcripts.is_empty() => {
            Evidence::Missing(format!("{words} (reported in launch {})", identity.generation))
        }
        Finding::Missing(words) => Evidence::Missing(words),
        Finding::Changed(words) => Evidence::Changed(words),
        Finding::Unreadable(words) => Evidence::Unreadable(words),
    }
}

/// The variables that say where the agent will look, when they may differ from those it was launched with.
fn moved_root(ask: &Ask<'_>, kind: &Kind, record: &Record) -> Option<BTreeMap<String, String>> {
    let session = ask.desired.sessions.get(&record.name)?;
    let names = &kind.conversation.as_ref()?.home_env;
    let set = names.iter().any(|name| session.env.contains_key(name));
    let was_set = names.iter().any(|name| record.fields.contains_key(&Field::Env(name.clone())));
    if !set && !was_set {
        return None;
    }
    environment(ask, kind, session)
}

/// The variables that say where the agent will look; none where a secret decides, whose value is not read for this.
fn environment(ask: &Ask<'_>, kind: &Kind, session: &Session) -> Option<BTreeMap<String, String>> {
    let names = &kind.conversation.as_ref()?.home_env;
    let mut env: BTreeMap<String, String> =
        names.iter().filter_map(|name| Some((name.clone(), literal(session, name)?.to_owned()))).collect();
    if names.iter().any(|name| session.env.contains_key(name) && !env.contains_key(name)) {
        return None;
    }
    if let Some(home) = ask.home {
        env.entry("HOME".to_owned()).or_insert_with(|| home.to_owned());
    }
    Some(env)
}

fn literal<'s>(session: &'s Session, name: &str) -> Option<&'s str> {
    match session.env.get(name)? {
        EnvValue::Literal(value) => Some(value),
        EnvValue::Secret(_) => None,
    }
}
