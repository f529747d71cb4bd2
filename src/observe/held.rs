//! Conversations that are there and must not be resumed now: open in another process, as far as the kind can tell, or in
//! danger by a setting of the agent's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agents::kind::{Kind, LiveMark, Place};
use crate::agents::readiness;
use crate::agents::slots::CONVERSATION;
use crate::config::desired::EnvValue;
use crate::host::Host;
use crate::host::disk::DiskFault;
use crate::host::process::{MarkersRead, ProcessKey};
use crate::spec::name::Name;
use crate::state::record::{Record, SessionId};

use super::conversation::Ask;
use super::observed::Evidence;

/// The largest file of settings that is read, in bytes.
const MAX_SETTINGS: u64 = 1 << 20;

/// The largest file about one process that is read, in bytes. Claude's has about 500.
const MAX_MARK: u64 = 16 << 10;

/// The most of them that are read.
const MAX_MARKS: usize = 1024;

/// Whose conversation is asked about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose<'a> {
    /// The session's name.
    pub name: &'a Name,
    /// Its id.
    pub id: SessionId,
    /// The conversation's id, where one is known.
    pub conversation: Option<&'a str>,
}

impl<'a> Whose<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        let conversation = record.conversation.as_ref().map(|known| known.id.as_str());
        Self { name: &record.name, id: record.id, conversation }
    }
}

/// `evidence`, unless it would lead to a resume that must not be.
pub(super) fn unless(host: &dyn Host, ask: &Ask<'_>, kind: &Kind, whose: Whose<'_>, evidence: Evidence) -> Evidence {
    let begins = matches!(evidence, Evidence::Verified(_) | Evidence::Assigned | Evidence::NeverPrompted);
    let Some(home) = ask.home.filter(|_| begins) else { return evidence };
    let env = environment(ask, whose.name);
    let home = env.get("HOME").map_or(home, String::as_str).to_owned();
    let at = |place: &Place| place.resolve(&env, Path::new(&home));
    let endangered = || {
        let mut settings = kind.setup.settings.iter().filter(|setting| setting.to_resume);
        settings.find(|setting| !readiness::holds(setting, document(host, &at(&setting.file)).as_ref()))
    };
    match elsewhere(host, kind, whose, at) {
        Ok(None) => {}
        Ok(Some(process)) => {
            return Evidence::Held(format!("it is open in another process ({process}), which would write to it too"));
        }
        Err(words) => return Evidence::Unreadable(format!("whether it is open in another process: {words}")),
    }
    match endangered().filter(|_| evidence != Evidence::NeverPrompted) {
        Some(setting) => Evidence::Held(format!(
            "{}; set `{}` to {} in {}",
            setting.why,
            setting.pointer.trim_start_matches('/').replace('/', "."),
            setting.equals,
            at(&setting.file).display()
        )),
        None => evidence,
    }
}

/// The variables that the session's file sets. A secret's value is not read for this.
fn environment(ask: &Ask<'_>, name: &Name) -> BTreeMap<String, String> {
    let session = ask.desired.sessions.get(name);
    let variables = session.into_iter().flat_map(|session| &session.env);
    let literal = variables.filter_map(|(name, value)| match value {
        EnvValue::Literal(value) => Some((name.clone(), value.clone())),
        EnvValue::Secret(_) => None,
    });
    literal.collect()
}

fn document(host: &dyn Host, file: &Path) -> Option<Value> {
    serde_json::from_slice(&host.read(file, MAX_SETTINGS).ok()?).ok()
}

/// The process that has the conversation open and is not of this session's agent: those are ended before a resume.
/// An error, in words: it could not be looked for.
fn elsewhere(
    host: &dyn Host,
    kind: &Kind,
    whose: Whose<'_>,
    at: impl Fn(&Place) -> PathBuf,
) -> Result<Option<ProcessKey>, String> {
    let live = kind.conversation.as_ref().and_then(|forms| forms.live.as_ref());
    let (Some(live), Some(id)) = (live, whose.conversation) else { return Ok(None) };
    let having = match live {
        LiveMark::PidFile { file, conversation: pointer, started } => marked(host, &at(file), |mark| {
            let of_it = mark.pointer(pointer)?.as_str()? == id;
            of_it.then(|| number(mark.pointer(started)?)).flatten()
        })?,
        LiveMark::OpenFile { file } => holding(host, kind, &at(file), id)?,
    };
    // One that was killed leaves its file behind; its number may be another process's now.
    let mut others = having.into_iter().filter(|process| match host.markers(*process) {
        MarkersRead::Read(marks) => marks.agent != Some(whose.id.to_string()),
        MarkersRead::Unreadable => true,
        MarkersRead::Gone | MarkersRead::Foreign => false,
    });
    Ok(others.next())
}

/// The processes whose files, at `pattern`, say that they have a conversation: `started` reads when the process began
/// from the file of one that does.
fn marked(host: &dyn Host, pattern: &Path, started: impl Fn(&Value) -> Option<u64>) -> Result<Vec<ProcessKey>, String> {
    let name = pattern.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once("{pid}"));
    let (Some((before, after)), Some(dir)) = (name, pattern.parent()) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for name in host.list(dir).map_err(|error| error.to_string())?.iter().take(MAX_MARKS) {
        let pid = name.strip_prefix(before).and_then(|name| name.strip_suffix(after)).and_then(|pid| pid.parse().ok());
        let Some(pid) = pid else { continue };
        let bytes = match host.read(&dir.join(name), MAX_MARK) {
            Err(error) if matches!(error.fault, DiskFault::Missing | DiskFault::TooLarge | DiskFault::WrongType) => {
                continue;
            }
            other => other.map_err(|error| error.to_string())?,
        };
        let start = serde_json::from_slice(&bytes).ok().and_then(|mark| started(&mark));
        found.extend(start.map(|start| ProcessKey { pid, start }));
    }
    Ok(found)
}

/// The processes of the kind that hold the file of a conversation open, which `{conversation}` in `pattern` names.
fn holding(host: &dyn Host, kind: &Kind, pattern: &Path, id: &str) -> Result<Vec<ProcessKey>, String> {
    let file = PathBuf::from(pattern.to_string_lossy().replace(CONVERSATION, id));
    let (Some(dir), Some(name)) = (file.parent(), file.file_name()) else { return Ok(Vec::new()) };
    match host.head(&file, 1) {
        // What is not there nobody has open.
        Err(error) if error.fault == DiskFault::Missing => return Ok(Vec::new()),
        other => drop(other.map_err(|error| error.to_string())?),
    }
    let real = host.resolve_dir(dir).map_err(|error| error.to_string())?.join(name);
    let table = host.table().map_err(|error| error.to_string())?;
    let of_kind = |key: ProcessKey, comm: &str| kind.is_process(comm, || host.argv(key)) == Some(true);
    let alive = table.processes.values().filter(|process| !process.dead && of_kind(process.key, &process.comm));
    let having = alive.filter(|process| host.open_files(process.key).is_some_and(|open| open.contains(&real)));
    Ok(having.map(|process| process.key).collect())
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
