//! Judges what agents reported, and brings the records up to it. Files are read and nothing is written: a plan counts
//! what is pending as a pass would, and a pass that writes settles the files afterwards.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::agents::admission::{self, Refusal, Verdict};
use crate::agents::kind::Kind;
use crate::agents::kind::reports::Doing;
use crate::host::clock::Moment;
use crate::host::disk::Disk;
use crate::spec::name::Name;
use crate::state::identity::Said;
use crate::state::launch_files::LaunchFiles;
use crate::state::layout::Layout;
use crate::state::record::{Conversation, Launch, Provenance, Record, Recorded, SessionId};
use crate::state::reports::reading::{self, Found};
use crate::state::reports::{Report, Slot, WalkEnd};

use super::observed::{Activity, Observed};

/// A turn that has said nothing for so long may have been interrupted, which fires no hook in some agents: then it is not
/// known what the agent does.
const SILENT: Duration = Duration::from_secs(15 * 60);

/// What came of one report.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The session.
    pub session: Name,
    /// Its id.
    pub id: SessionId,
    /// The report.
    pub found: Found,
    /// What came of it.
    pub outcome: Outcome,
}

/// What is to become of a report's file.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It counts, and is in the record now.
    Accepted,
    /// It counts for nothing: the code and the words.
    Refused(&'static str, String),
    /// It stays, to be judged again or to say what the agent does.
    Stays,
}

/// What the reports of all sessions came to.
#[derive(Debug, Default)]
pub struct Judgement {
    /// What came of each.
    pub judged: Vec<Judged>,
    /// Sessions some of whose reports could not be read, and why: which conversation they have is not known now.
    pub unread: BTreeMap<SessionId, String>,
    /// Sessions whose agents reported, last of all, a conversation that is not there: which, and why.
    pub unproven: BTreeMap<SessionId, Unproven>,
}

/// A conversation that was reported and is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproven {
    /// Its id, as reported.
    pub conversation: String,
    /// What was not found, and which file says that it should be there, in words.
    pub words: String,
    /// When it was reported, on the boot clock.
    pub at_ms: u64,
}

/// Judges all reports of the recorded sessions. Records are changed in memory.
pub fn judge<'k>(
    disk: &dyn Disk,
    layout: &Layout,
    recorded: &mut Recorded,
    observed: &mut Observed,
    kind_of: &dyn Fn(&Name) -> Option<&'k Kind>,
) -> Judgement {
    let with_reports = disk.list(&layout.reports()).map_err(|error| error.to_string());
    let mut judgement = Judgement::default();
    for (name, record) in &mut recorded.records {
        let Some(kind) = kind_of(&record.kind).filter(|kind| kind.reports.is_some()) else { continue };
        let mut aside = Aside::default();
        for found in reports_of(disk, layout, &with_reports, record.id).unwrap_or_else(|words| {
            judgement.unread.insert(record.id, words);
            Vec::new()
        }) {
            let outcome = match &found.report {
                Err(words) if found.unread => {
                    judgement.unread.insert(record.id, format!("{}: {words}", found.file.display()));
                    Outcome::Stays
                }
                _ => one(kind, record, &found, &mut aside, (disk, &layout.launch())),
            };
            judgement.judged.push(Judged { session: name.clone(), id: record.id, found, outcome });
        }
        if let Some(unproven) = aside.unproven.filter(|unproven| !is_overtaken(record, unproven)) {
            judgement.unproven.insert(record.id, unproven);
        }
        aside.doings.extend(record.activity);
        if let Some(seen) = observed.sessions.get_mut(&record.id) {
            seen.activity = activity(record, &aside.doings, &observed.at);
        }
    }
    judgement
}

/// The reports of one session; `with_reports` are the sessions that have any.
fn reports_of(
    disk: &dyn Disk,
    layout: &Layout,
    with_reports: &Result<Vec<String>, String>,
    id: SessionId,
) -> Result<Vec<Found>, String> {
    if with_reports.as_ref().map_err(Clone::clone)?.binary_search(&id.to_string()).is_err() {
        return Ok(Vec::new());
    }
    reading::all(disk, &layout.report_dir(id)).map_err(|error| error.to_string())
}

/// What judging one session's reports notes, beside what becomes of each.
#[derive(Default)]
struct Aside {
    doings: Vec<Said>,
    unproven: Option<Unproven>,
}

impl Aside {
    /// The newest counts.
    fn note(&mut self, report: &Report, file: &Path, words: &str) {
        let at_ms = report.at.boot_ms;
        if self.unproven.as_ref().is_none_or(|known| known.at_ms <= at_ms) {
            let words = format!("{words}, which {} names", file.display());
            self.unproven = Some(Unproven { conversation: report.conversation.clone(), words, at_ms });
        }
    }
}

/// Whether a report counted that came later, or was of the same conversation: it may have been judged later too.
fn is_overtaken(record: &Record, unproven: &Unproven) -> bool {
    let (Some(known), Some(launch)) = (&record.identity, record.launch()) else { return false };
    let later = known.boot == launch.boot && known.at.boot_ms >= unproven.at_ms;
    known.reported == unproven.conversation || later
}

fn one(
    kind: &Kind,
    record: &mut Record,
    found: &Found,
    aside: &mut Aside,
    (disk, files): (&dyn Disk, &Path),
) -> Outcome {
    let report = match &found.report {
        Ok(report) => report,
        Err(words) => return Outcome::Refused("unreadable", words.clone()),
    };
    let launch = record.launch().cloned().map(|launch| with_process(launch, record.id, report, (disk, files)));
    let starts = found.slot == Slot::Start || (found.slot == Slot::Prompt && is_news(record, report));
    let outcome = if starts {
        match admission::judge(kind, launch.as_ref(), record.identity.as_ref(), report, disk) {
            Verdict::Accepted(mut identity) | Verdict::Withdrawn(mut identity) => {
                // A prompt that was seen stays seen, whichever report of the two came first.
                identity.prompted |= found.slot == Slot::Prompt;
                record.conversation =
                    Some(Conversation { id: identity.id.clone(), provenance: Provenance::Reported, at: identity.at });
                record.identity = Some(identity);
                if let Some(last) = record.launches.last_mut() {
                    last.refused = None;
                    last.contradicted = None;
                    last.process = launch.and_then(|launch| launch.process);
                }
                Outcome::Accepted
            }
            Verdict::NotYet(_) => Outcome::Stays,
            Verdict::Unproven(words) => {
                aside.note(report, &found.file, &words);
                Outcome::Stays
            }
            Verdict::Refused(refusal) => {
                note_refusal(record, report, &refusal);
                refused(&refusal)
            }
        }
    } else {
        match admission::comes_from(kind, launch.as_ref(), report) {
            Ok(true) if found.slot == Slot::Prompt => prompted(record, report),
            Ok(_) => Outcome::Stays,
            Err(refusal) => refused(&refusal),
        }
    };
    if !matches!(outcome, Outcome::Refused(..))
        && let Some((doing, at)) = admission::doing(kind, std::iter::once(report))
    {
        let said = Said { doing, at, generation: report.generation };
        aside.doings.push(said);
        if outcome == Outcome::Accepted && record.activity.is_none_or(|known| known.at.boot_ms <= at.boot_ms) {
            record.activity = Some(said);
        }
    }
    outcome
}

/// The launch with the process of its terminal, where farhelm died before it recorded that: the shim noted its number
/// right before its exec, and the report says who had that number.
fn with_process(launch: Launch, id: SessionId, report: &Report, (disk, files): (&dyn Disk, &Path)) -> Launch {
    let of_it = report.generation == launch.generation && report.boot == launch.boot && report.ended == WalkEnd::Pane;
    let Some(top) = report.ancestry.last().filter(|_| of_it && launch.process.is_none()) else { return launch };
    let noted = LaunchFiles::new(files, id, launch.generation, None).exec_by(disk);
    let process = noted.ok().flatten().filter(|pid| *pid == top.process.pid).map(|_| top.process);
    Launch { process, ..launch }
}

/// Remembers why the latest launch has no conversation. A nested or delegated agent's report says nothing of it once one
/// counted, nor does one of another launch.
fn note_refusal(record: &mut Record, report: &Report, refusal: &Refusal) {
    let other = record.identity.as_ref().is_some_and(|known| known.reported != report.conversation);
    if let (Refusal::Contradicted(words), Some(launch)) = (refusal, record.launches.last_mut().filter(|_| other)) {
        launch.contradicted =
            Some(format!("conversation {} was reported after it, and refused: {words}", report.conversation));
    }
    let of_it = matches!(refusal, Refusal::Chain(_) | Refusal::Contradicted(_) | Refusal::UnknownSource(_));
    let identity = record.identity.as_ref().map(|identity| identity.generation);
    if let Some(launch) = record.launches.last_mut().filter(|launch| of_it && identity != Some(launch.generation)) {
        launch.refused = Some(refusal.to_string());
    }
}

/// A prompt in a conversation of which no start was reported to us: the memory of that report was lost.
fn is_news(record: &Record, report: &Report) -> bool {
    record.identity.is_none() && record.conversation.as_ref().is_none_or(|known| known.id == report.conversation)
}

fn prompted(record: &mut Record, report: &Report) -> Outcome {
    match &mut record.identity {
        Some(identity) if identity.reported == report.conversation => {
            identity.prompted_by(report);
            Outcome::Accepted
        }
        // Its start is still to come.
        _ => Outcome::Stays,
    }
}

fn refused(refusal: &Refusal) -> Outcome {
    Outcome::Refused(refusal.code(), refusal.to_string())
}

/// What the agent of the latest launch does, by the newest that it said. No signal is not idleness.
fn activity(record: &Record, said: &[Said], now: &Moment) -> Activity {
    let Some(launch) = record.launch().filter(|launch| launch.ended.is_none()) else { return Activity::Unknown };
    let of_it = said.iter().filter(|said| said.generation == launch.generation && said.at.boot_ms >= launch.at.boot_ms);
    match of_it.max_by_key(|said| said.at.boot_ms) {
        Some(said) if said.doing == Doing::Working && now.since(&said.at) >= SILENT => Activity::Unknown,
        Some(said) => match said.doing {
            Doing::Working => Activity::Working,
            Doing::Idle => Activity::Idle,
            Doing::NeedsInput => Activity::NeedsInput,
            Doing::Ended => Activity::Unknown,
        },
        None => Activity::Unknown,
    }
}

/// Of a conversation that two sessions have, the session whose report is newest owns it: the others and their owner.
#[must_use]
pub fn taken(recorded: &Recorded) -> BTreeMap<Name, Name> {
    let mut owners: BTreeMap<(&Name, &str), (&Name, Moment)> = BTreeMap::new();
    let known = || {
        recorded.records.iter().filter_map(|(name, record)| {
            let identity = record.identity.as_ref()?;
            Some((name, (&record.kind, identity.id.as_str()), identity.at))
        })
    };
    for (name, conversation, at) in known() {
        let owner = owners.entry(conversation).or_insert((name, at));
        if at.wall_ms > owner.1.wall_ms {
            *owner = (name, at);
        }
    }
    let others = known().filter_map(|(name, conversation, _)| {
        let owner = owners.get(&conversation).map(|(owner, _)| *owner).filter(|owner| *owner != name)?;
        Some((name.clone(), owner.clone()))
    });
    others.collect()
}
