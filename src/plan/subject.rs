//! Joins the three inputs session by session: everything the truth table looks at, in one place.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agents::kind::Kind;
use crate::config::desired::Session;
use crate::host::tmux::Socket;
use crate::observe::observed::{AgentSeen, DirSeen, ForeignPane, PaneSeen, Seen, ServerSeen};
use crate::spec::name::Name;
use crate::state::fields::{self, Fields, Shown};
use crate::state::record::{Ended, EndedHow, Hold, Phase, Provenance, Record, SessionId, TOMBSTONE_DAYS, Tombstone};
use crate::state::stamp::Stamp;

use super::Inputs;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// One session, as wanted, as remembered and as seen.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    /// Its name; of a removed one, the name in its memory.
    pub name: &'a Name,
    /// Its block, while it has one.
    pub want: Option<&'a Session>,
    /// Its kind, as far as the files have it.
    pub kind: Option<&'a Kind>,
    /// What is remembered of it.
    pub memory: Option<Memory<'a>>,
    /// Its tombstone, where nothing else is remembered.
    pub tombstone: Option<&'a Tombstone>,
    /// What was seen of it (with a tombstone: of the buried session).
    pub seen: Option<&'a Seen>,
    /// Live panes of ours that claim its name beside the one remembered, in words.
    pub rivals: Vec<String>,
    /// Its wanted directory.
    pub dir: Option<&'a DirSeen>,
    /// Panes of it that another owner made.
    pub foreign: &'a [ForeignPane],
    /// `restart` names it: launch it again, whatever its state.
    pub again: bool,
    /// `start` names it: launch it unless it runs.
    pub start: bool,
}

/// What is remembered of a session: its record or, where that is lost, its stamp.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    pub id: SessionId,
    pub fleet: &'a Name,
    pub name: &'a Name,
    /// The record; none when this was read from a stamp.
    pub record: Option<&'a Record>,
    /// Directory, resolved.
    pub canonical: Option<&'a Path>,
    pub salt: &'a str,
    /// Field hashes; none when they are of another version and cannot be compared.
    pub fields: Option<&'a Fields>,
    pub protect: bool,
    pub sources: &'a [PathBuf],
    /// The conversation's id.
    pub conversation: Option<&'a str>,
    /// How it is known, and since when (milliseconds since 1970) where a record says.
    pub known: Option<(Provenance, Option<i64>)>,
    pub prompt_delivered: Option<&'a str>,
}

/// Whether a session's agent lives.
#[derive(Debug)]
pub(super) enum Life<'a> {
    /// It was never launched.
    Never,
    /// It runs.
    Alive(&'a PaneSeen),
    /// It is being launched, for so long.
    Launching(&'a PaneSeen, Duration),
    /// It ended.
    Ended(Cow<'a, Ended>),
    /// There is more than one.
    Several,
}

impl<'a> Memory<'a> {
    pub(super) fn of_record(record: &'a Record) -> Self {
        Self {
            id: record.id,
            fleet: &record.fleet,
            name: &record.name,
            record: Some(record),
            canonical: Some(&record.dir.canonical),
            salt: &record.salt,
            fields: (record.fields_version == fields::VERSION).then_some(&record.fields),
            protect: record.protect,
            sources: &record.sources,
            conversation: record.conversation.as_ref().map(|c| c.id.as_str()),
            known: record.conversation.as_ref().map(|c| (c.provenance, Some(c.at.wall_ms))),
            prompt_delivered: record.prompt_delivered.as_deref(),
        }
    }

    fn of_stamp(stamp: &'a Stamp) -> Self {
        Self {
            id: stamp.id,
            fleet: &stamp.fleet,
            name: &stamp.session,
            record: None,
            canonical: stamp.dir.as_deref(),
            salt: &stamp.salt,
            fields: (stamp.fields_version == fields::VERSION).then_some(&stamp.fields),
            protect: stamp.protect,
            sources: &stamp.sources,
            conversation: stamp.conversation.as_deref(),
            known: stamp.provenance.map(|provenance| (provenance, None)),
            prompt_delivered: None,
        }
    }

    /// The hold in force at `now_ms`.
    pub(super) fn hold(&self, now_ms: i64) -> Option<&'a Hold> {
        let hold = self.record?.hold.as_ref()?;
        hold.until_ms.is_none_or(|until| until > now_ms).then_some(hold)
    }

    /// The values of the last launch that may be shown.
    pub(super) fn shown(&self) -> Option<&'a Shown> {
        self.record.map(|record| &record.shown)
    }

    /// The sockets of the servers it has panes on.
    fn sockets(&self) -> impl Iterator<Item = &'a Socket> {
        let launch = self.record.and_then(Record::launch).map(|launch| &launch.socket);
        let tabs = self.record.into_iter().flat_map(|record| record.tabs.values());
        launch.into_iter().chain(tabs.filter_map(|tab| tab.socket.as_ref()))
    }
}

impl<'a> Subject<'a> {
    /// Whether its agent lives, by what was seen and, for how it ended, by what is remembered.
    pub(super) fn life(&self) -> Life<'a> {
        let (Some(memory), Some(seen)) = (&self.memory, self.seen) else { return Life::Never };
        let launch = memory.record.and_then(Record::launch);
        let told = launch.and_then(|launch| launch.ended.as_ref());
        match &seen.agent {
            AgentSeen::Alive(pane) => Life::Alive(pane),
            AgentSeen::Launching { pane, since } => Life::Launching(pane, *since),
            AgentSeen::Several(_) => Life::Several,
            AgentSeen::Ended { how, .. } => Life::Ended(Cow::Borrowed(told.unwrap_or(how))),
            AgentSeen::Unknown(_) | AgentSeen::Absent => match (told, launch.map(|launch| launch.phase)) {
                (Some(told), _) => Life::Ended(Cow::Borrowed(told)),
                (None, None | Some(Phase::Intended)) => Life::Never,
                (None, Some(Phase::Stopping)) => Life::Ended(Cow::Owned(Ended { how: EndedHow::Stopped, at_ms: None })),
                (None, Some(_)) => Life::Ended(Cow::Owned(Ended { how: EndedHow::Lost, at_ms: None })),
            },
        }
    }

    /// Whether a process of its agent runs, or is being started.
    pub(super) fn runs(&self) -> bool {
        matches!(self.life(), Life::Alive(_) | Life::Launching(..) | Life::Several)
    }

    /// Protection, which its file asks for or its memory keeps.
    pub(super) fn protected(&self) -> bool {
        self.want.is_some_and(|want| want.protect) || self.memory.as_ref().is_some_and(|memory| memory.protect)
    }

    /// Why nothing may be done about it, when some part of it was not observed.
    pub(super) fn unknown(&self, inputs: &Inputs<'_>) -> Option<String> {
        let server = |socket: &Socket| match inputs.observed.servers.get(socket) {
            Some(ServerSeen::Unknown(words)) => Some(words.clone()),
            _ => None,
        };
        let new = || match inputs.observed.servers.get(&inputs.observed.socket) {
            Some(_) => server(&inputs.observed.socket),
            None => Some(format!("tmux on {} was not asked", inputs.observed.socket)),
        };
        if let Some(damaged) = inputs.recorded.damage(self.name) {
            return Some(damaged.to_string());
        }
        let Some(memory) = &self.memory else { return new() };
        let Some(seen) = self.seen else { return Some("it was not looked at".to_owned()) };
        match &seen.agent {
            AgentSeen::Unknown(words) => return Some(words.clone()),
            AgentSeen::Alive(pane) | AgentSeen::Launching { pane, .. } => server(&pane.socket),
            AgentSeen::Several(_) => None,
            AgentSeen::Ended { .. } | AgentSeen::Absent => self.want.and_then(|_| new()),
        }
        .or_else(|| memory.sockets().find_map(server))
    }

    /// The two or more that live under its name, in words.
    pub(super) fn several(&self) -> Option<Vec<String>> {
        let mut what = match self.seen.map(|seen| &seen.agent) {
            Some(AgentSeen::Several(words)) => words.clone(),
            Some(AgentSeen::Alive(pane) | AgentSeen::Launching { pane, .. }) if !self.rivals.is_empty() => {
                vec![format!("pane {}", pane.pane)]
            }
            _ if self.rivals.is_empty() => return None,
            _ => self.memory.iter().map(|memory| format!("the record of {}", memory.id)).collect(),
        };
        what.extend(self.rivals.iter().cloned());
        Some(what)
    }
}

/// All sessions of the fleet, by name: those of the files, those remembered, and those of which a stamped pane is left.
pub(super) fn all<'a>(inputs: &Inputs<'a>) -> Vec<Subject<'a>> {
    let stamped = stamped(inputs);
    let records = || inputs.recorded.records.iter().filter(|(_, record)| ours(inputs, &record.fleet));
    let mut memories: BTreeMap<&Name, Remembered<'a>> =
        records().map(|(name, record)| (name, Remembered { record: Some(record), stamped: Vec::new() })).collect();
    for (name, panes) in stamped {
        memories.entry(name).or_default().stamped = panes;
    }
    let former = former_names(inputs, &memories);
    let claimed: BTreeSet<&Name> = former.values().copied().collect();
    let names: BTreeSet<&Name> = inputs.desired.sessions.keys().chain(memories.keys().copied()).collect();
    let again: BTreeSet<&Name> = inputs.request.again.iter().collect();
    let start: BTreeSet<&Name> = inputs.request.start.iter().collect();
    let names = names.into_iter().filter(|name| !claimed.contains(name));
    names
        .map(|name| {
            let subject = subject(inputs, name, memories.get(former.get(name).unwrap_or(&name)));
            Subject { again: again.contains(name), start: start.contains(name), ..subject }
        })
        .collect()
}

/// What is remembered under one name.
#[derive(Debug, Default)]
struct Remembered<'a> {
    record: Option<&'a Record>,
    /// Stamped panes without a record.
    stamped: Vec<(&'a Stamp, &'a Seen)>,
}

/// Stamped panes of this fleet and owner that no record accounts for, by session name.
fn stamped<'a>(inputs: &Inputs<'a>) -> BTreeMap<&'a Name, Vec<(&'a Stamp, &'a Seen)>> {
    let recorded: BTreeSet<SessionId> = inputs.recorded.records.values().map(|record| record.id).collect();
    let mut found: BTreeMap<&Name, Vec<_>> = BTreeMap::new();
    for (id, seen) in &inputs.observed.sessions {
        let Some(stamp) = &seen.stamp else { continue };
        if !recorded.contains(id) && stamp.owner == inputs.recorded.owner && ours(inputs, &stamp.fleet) {
            found.entry(&stamp.session).or_default().push((stamp, seen));
        }
    }
    for panes in found.values_mut() {
        // The one to adopt comes first: a live one, then the latest.
        panes.sort_by_key(|(stamp, seen)| (!live(seen), std::cmp::Reverse(stamp.generation), stamp.id));
    }
    found
}

fn ours(inputs: &Inputs<'_>, fleet: &Name) -> bool {
    inputs.desired.fleet.as_ref() == Some(fleet) || inputs.desired.moved_from.as_ref() == Some(fleet)
}

fn live(seen: &Seen) -> bool {
    !matches!(seen.agent, AgentSeen::Ended { .. } | AgentSeen::Absent)
}

/// Present to former names, where `moved` still has something to move.
fn former_names<'a>(
    inputs: &Inputs<'a>,
    memories: &BTreeMap<&'a Name, Remembered<'a>>,
) -> BTreeMap<&'a Name, &'a Name> {
    let mut claimed = BTreeSet::new();
    let sessions = inputs.desired.sessions.iter().filter(|(name, _)| !memories.contains_key(name));
    sessions
        .filter_map(|(name, want)| Some((name, want.moved_from.as_ref()?)))
        .filter(|(_, old)| memories.contains_key(old) && !inputs.desired.sessions.contains_key(*old))
        .filter(|(_, old)| claimed.insert(*old))
        .collect()
}

fn subject<'a>(inputs: &Inputs<'a>, name: &'a Name, remembered: Option<&Remembered<'a>>) -> Subject<'a> {
    let want = inputs.desired.sessions.get(name);
    let record = remembered.and_then(|memory| memory.record);
    let stamped = remembered.map(|memory| memory.stamped.as_slice()).unwrap_or_default();
    let adopted = if record.is_none() { stamped.first() } else { None };
    let memory = record.map(Memory::of_record).or_else(|| adopted.map(|(stamp, _)| Memory::of_stamp(stamp)));
    let rivals = stamped.iter().skip(usize::from(adopted.is_some())).filter(|(_, seen)| live(seen)).map(rival);
    let tombstone = inputs.recorded.tombstones.get(name).filter(|grave| {
        memory.is_none()
            && ours(inputs, &grave.record.fleet)
            && grave.reaped_ms.saturating_add(TOMBSTONE_DAYS * DAY_MS) > inputs.now.wall_ms
    });
    let id = memory.as_ref().map(|memory| memory.id).or(tombstone.map(|grave| grave.record.id));
    Subject {
        name,
        want,
        kind: want.and_then(|want| inputs.desired.kinds.get(&want.kind)),
        rivals: rivals.collect(),
        seen: id.and_then(|id| inputs.observed.sessions.get(&id)),
        memory,
        tombstone,
        dir: inputs.observed.dirs.get(name),
        foreign: inputs.observed.foreign.get(name).map(Vec::as_slice).unwrap_or_default(),
        again: false,
        start: false,
    }
}

fn rival((stamp, seen): &(&Stamp, &Seen)) -> String {
    match &seen.agent {
        AgentSeen::Alive(pane) | AgentSeen::Launching { pane, .. } => format!("pane {} ({})", pane.pane, stamp.id),
        _ => format!("a pane of {}", stamp.id),
    }
}
