//! The event log: one JSON object a line, for people and for `jq`.
//!
//! Every action, refusal and observation failure is an event. The log serves whoever reads it and nothing depends on
//! it: a failure to write it fails no pass. An event is made of names, codes and the words of farhelm's own errors;
//! there is no field for a command line, a variable or a prompt.

use std::cell::Cell;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::clock::Moment;
use crate::host::disk::{Disk, DiskError, DiskFault};
use crate::spec::name::Name;
use crate::spec::visible::shortened;

use super::error::StateError;
use super::layout::Layout;

/// The log is rotated when it is larger than this, in bytes; one older log is kept.
pub const ROTATE_AT: u64 = 8 << 20;

/// The most read of one log: what one pass can add to a log about to be rotated is far less than the difference.
const MAX_LOG: u64 = ROTATE_AT * 4;

/// The longest detail, in characters.
const MAX_DETAIL: usize = 1000;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When, UTC.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: Timestamp,
    /// What farhelm was doing: `apply`, `watch`, `stop`, …
    pub actor: String,
    /// The fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Name>,
    /// The commit the fleet's files were at, when they were in git; with `+` behind it when they differed from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Name>,
    /// What was done, or was not: `launch`, `restart`, `reap`, `observe`, …
    pub action: String,
    /// The code of the reason, as in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What came of it.
    pub result: Outcome,
    /// In words; at most 1000 characters, control characters replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What came of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was begun.
    Begun,
    /// It was done.
    Done,
    /// It was tried and failed.
    Failed,
    /// It was not tried: something forbids it.
    Refused,
    /// It was not tried: something could not be observed.
    Unknown,
}

impl Event {
    /// An event of `actor`'s `action` at `at`, with nothing more known of it.
    #[must_use]
    pub fn new(at: Moment, actor: &str, action: &str, result: Outcome) -> Self {
        Self {
            at: Timestamp::from_millisecond(at.wall_ms).unwrap_or_default(),
            actor: actor.to_owned(),
            fleet: None,
            revision: None,
            session: None,
            action: action.to_owned(),
            reason: None,
            result,
            detail: None,
        }
    }

    /// The event as one line of the log.
    fn line(&self) -> Vec<u8> {
        let short = |text: &str| shortened(text, 100);
        let bounded = Self {
            actor: short(&self.actor),
            revision: self.revision.as_deref().map(short),
            action: short(&self.action),
            reason: self.reason.as_deref().map(short),
            detail: self.detail.as_deref().map(|text| shortened(text, MAX_DETAIL)),
            ..self.clone()
        };
        // Strings and plain enums: serialising them cannot fail; at worst an empty line is skipped by readers.
        let mut line = serde_json::to_vec(&bounded).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The log's writing end.
pub struct EventLog<'a> {
    disk: &'a dyn Disk,
    layout: Layout,
    /// The log's size, once it is known.
    size: Cell<Option<u64>>,
}

impl<'a> EventLog<'a> {
    /// The event log of a state directory; nothing is read or written before the first event.
    #[must_use]
    pub fn new(disk: &'a dyn Disk, layout: &Layout) -> Self {
        Self { disk, layout: layout.clone(), size: Cell::new(None) }
    }

    /// Appends events.
    ///
    /// # Errors
    /// [`DiskError`], to be mentioned once at most: no pass fails for it.
    pub fn append(&self, events: &[Event]) -> Result<(), DiskError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        let size = match self.size.get() {
            Some(size) if size < ROTATE_AT => size,
            _ => self.make_room(&mut text)?,
        };
        events.iter().for_each(|event| text.extend(event.line()));
        self.disk.append(&self.layout.events(), &text)?;
        self.size.set(Some(size + text.len() as u64));
        Ok(())
    }

    /// Rotates a log that is full, ends a line that a crash cut off, and returns the log's size.
    fn make_room(&self, text: &mut Vec<u8>) -> Result<u64, DiskError> {
        let path = self.layout.events();
        let old = match self.disk.read(&path, MAX_LOG) {
            Err(error) if error.fault == DiskFault::Missing => return Ok(0),
            // Grown past all bounds by something else; there is nothing in it to keep.
            Err(error) if error.fault == DiskFault::TooLarge => Vec::new(),
            other => other?,
        };
        if !old.is_empty() && (old.len() as u64) < ROTATE_AT {
            if old.last() != Some(&b'\n') {
                text.push(b'\n');
            }
            return Ok(old.len() as u64);
        }
        if !old.is_empty() {
            self.disk.replace(&[(self.layout.old_events(), old)])?;
        }
        self.disk.remove(&path)?;
        Ok(0)
    }
}

/// The log's reading end: each call of [`Follower::next_events`] gives what is new since the last.
pub struct Follower<'a> {
    disk: &'a dyn Disk,
    layout: Layout,
    since: Option<Timestamp>,
    /// Bytes of the present log already given; `None` before the first reading.
    offset: Option<usize>,
    /// The log's beginning as far as it was given: another beginning is another log.
    head: Vec<u8>,
}

/// Bytes of [`Follower::head`]: more than the first event's time takes.
const HEAD: usize = 256;

impl<'a> Follower<'a> {
    /// Reads the kept events, from `since` on where it is given.
    #[must_use]
    pub fn new(disk: &'a dyn Disk, layout: &Layout, since: Option<Timestamp>) -> Self {
        Self { disk, layout: layout.clone(), since, offset: None, head: Vec::new() }
    }

    /// The events since the last call, oldest first; at the first call, all that are kept. Lines that are no event are
    /// skipped; a line still being written comes with the next call.
    ///
    /// # Errors
    /// [`StateError::Disk`].
    pub fn next_events(&mut self) -> Result<Vec<Event>, StateError> {
        let log = self.read(&self.layout.events())?;
        let mut events = Vec::new();
        let from = match self.offset {
            Some(offset) if offset <= log.len() && log.starts_with(&self.head) => offset,
            // The first call, or the log was rotated: the rest of the former log comes first.
            before => {
                let former = self.read(&self.layout.old_events())?;
                self.parse(former.get(before.unwrap_or(0)..).unwrap_or_default(), &mut events);
                0
            }
        };
        let new = log.get(from..).unwrap_or_default();
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.parse(&new[..whole], &mut events);
        let given = from + whole;
        self.offset = Some(given);
        self.head = log.get(..given.min(HEAD)).unwrap_or_default().to_vec();
        Ok(events)
    }

    fn read(&self, path: &std::path::Path) -> Result<Vec<u8>, StateError> {
        match self.disk.read(path, MAX_LOG) {
            Err(error) if error.fault == DiskFault::Missing => Ok(Vec::new()),
            other => Ok(other?),
        }
    }

    fn parse(&self, text: &[u8], events: &mut Vec<Event>) {
        let lines = text.split(|byte| *byte == b'\n');
        let read = lines.filter_map(|line| serde_json::from_slice::<Event>(line).ok());
        events.extend(read.filter(|event| self.since.is_none_or(|since| event.at >= since)));
    }
}

/// The JSON Schema of one line of the log, as text.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::generate::SchemaSettings::draft07().into_generator().into_root_schema_for::<Event>();
    // A schema is a JSON value already.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
