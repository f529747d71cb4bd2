//! Conversations that are there and must not be resumed now: open in another process, as far as the kind can tell, or in
//! danger by a setting of the agent's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agents::kind::{Kind, LiveMark, Place};
use crate::agents::readiness;
use crate::config::desired::EnvValue;
use crate::host::Host;
use crate::host::process::{MarkersRead, ProcessKey};
use crate::state::record::Record;

use super::conversation::Ask;
use super::observed::Evidence;

/// The largest file of settings that is read, in bytes.
const MAX_SETTINGS: u64 = 1 << 20;

/// The largest file about one process that is read, in bytes. Claude's has about 500.
const MAX_MARK: u64 = 16 << 10;

/// The most of them that are read.
const MAX_MARKS: usize = 1024;

/// `evidence`, unless it would lead to a resume that must not be.
pub(super) fn unless(host: &dyn Host, ask: &Ask<'_>, kind: &Kind, record: &Record, evidence: Evidence) -> Evidence {
    let begins = matches!(evidence, Evidence::Verified(_) | Evidence::Assigned | Evidence::NeverPrompted);
    let Some(home) = ask.home.filter(|_| begins) else { return evidence };
    let env = environment(ask, record);
    let home = env.get("HOME").map_or(home, String::as_str).to_owned();
    let at = |place: &Place| place.resolve(&env, Path::new(&home));
    let endangered = || {
        let mut settings = kind.setup.settings.iter().filter(|setting| setting.to_resume);
        settings.find(|setting| !readiness::holds(setting, document(host, &at(&setting.file)).as_ref()))
    };
    if let Some(process) = elsewhere(host, kind, record, at) {
        return Evidence::Held(format!("it is open in another process ({process}), which would write to it too"));
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
fn environment(ask: &Ask<'_>, record: &Record) -> BTreeMap<String, String> {
    let session = ask.desired.sessions.get(&record.name);
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

/// The process that has the record's conversation open and is not of this session's agent: those are ended before a resume.
fn elsewhere(host: &dyn Host, kind: &Kind, record: &Record, at: impl Fn(&Place) -> PathBuf) -> Option<ProcessKey> {
    let LiveMark::PidFile { file, conversation, started } = kind.conversation.as_ref()?.live.as_ref()? else {
        return None;
    };
    let id = &record.conversation.as_ref()?.id;
    let pattern = at(file);
    let (before, after) = pattern.file_name()?.to_str()?.split_once("{pid}")?;
    let dir = pattern.parent()?;
    let names = host.list(dir).ok()?;
    let marks = names.iter().take(MAX_MARKS).filter_map(|name| {
        let pid = name.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
        let mark: Value = serde_json::from_slice(&host.read(&dir.join(name), MAX_MARK).ok()?).ok()?;
        let of_it = mark.pointer(conversation)?.as_str()? == id;
        let start = number(mark.pointer(started)?)?;
        of_it.then_some(ProcessKey { pid, start })
    });
    // One that was killed leaves its file behind; its number may be another process's now.
    let mut others = marks.filter(|process| match host.markers(*process) {
        MarkersRead::Read(marks) => marks.agent != Some(record.id.to_string()),
        MarkersRead::Unreadable => true,
        MarkersRead::Gone | MarkersRead::Foreign => false,
    });
    others.next()
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
