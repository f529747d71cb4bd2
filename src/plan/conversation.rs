//! What a start would do with a session's conversation: resume it, use its id again, or lose it, and whether it may.

use crate::agents::choice;
use crate::agents::kind::ConversationForms;
use crate::agents::kind::reports::STARTUP;
use crate::config::desired::{OnLost, Session};
use crate::observe::observed::{DirSeen, Evidence};
use crate::state::digest;
use crate::state::fields::{Field, Shown};
use crate::state::record::{Provenance, Record};

use super::Inputs;
use super::action::{ConversationFate, Mode};
use super::begin::Wanted;
use super::reason::Reason;
use super::subject::{Memory, Subject};
use super::{changes, units};

/// How a session would start.
#[derive(Debug)]
pub(super) struct Start {
    /// How.
    pub mode: Mode,
    /// What becomes of its conversation.
    pub fate: ConversationFate,
    /// Why it must not.
    pub obstacle: Option<Reason>,
    /// It comes back from its tombstone.
    pub restored: bool,
}

/// What is known of a conversation that a start would meet.
enum Found {
    /// It can go on.
    Keep(ConversationFate, String),
    /// Provably nothing was said; an assigned id may be used again.
    Nothing(Option<String>),
    /// It cannot go on, for this reason. `spoilt`: it is lost already, whatever is done now.
    Lose { words: String, spoilt: bool },
}

/// Hash of a prompt, as records keep it of the one last delivered. The salt is the record's.
#[must_use]
pub fn prompt_hash(salt: &str, prompt: &str) -> String {
    digest::short("", [salt, "prompt", prompt])
}

/// How the session would start, `live` when a running agent of it would be ended for that.
pub(super) fn start(wanted: &Wanted<'_, '_>, live: bool) -> Start {
    let Wanted { subject, want, inputs, .. } = wanted;
    let told_fresh = subject.again && inputs.request.fresh;
    let fresh = Mode::Fresh { prompt: delivers(want, subject.memory.as_ref(), told_fresh || unprompted(subject)) };
    let plain = |mode, fate| Start { mode, fate, obstacle: None, restored: false };
    let Some(forms) = subject.kind.and_then(|kind| kind.conversation.as_ref()) else {
        let again = subject.memory.is_some() && want.resume.is_some() && !told_fresh;
        let nothing = if live { ConversationFate::NothingToLose } else { ConversationFate::NotTouched };
        return plain(if again { Mode::Verbatim } else { fresh }, nothing);
    };
    let buried = subject.tombstone.map(|grave| Memory::of_record(&grave.record));
    let restored = buried.as_ref().is_some_and(|past| returns(past, subject, want));
    let Some(past) = subject.memory.as_ref().or(buried.as_ref().filter(|_| restored)) else {
        return plain(fresh, ConversationFate::NotTouched);
    };
    match found(wanted, past, forms, live) {
        Found::Keep(fate, conversation) if !told_fresh => {
            Start { restored, ..plain(Mode::Resume { conversation }, fate) }
        }
        Found::Keep(_, conversation) => plain(fresh, ConversationFate::Lost(units::short(&conversation))),
        Found::Nothing(Some(conversation)) if subject.memory.is_some() && !told_fresh => {
            let prompt = delivers(want, Some(past), unprompted(subject));
            plain(Mode::SameId { conversation, prompt }, ConversationFate::NothingToLose)
        }
        Found::Nothing(_) => plain(fresh, ConversationFate::NothingToLose),
        Found::Lose { words, spoilt } => {
            let allowed =
                inputs.request.allow_fresh.as_ref().is_some_and(|globs| globs.is_match(subject.name.as_str()));
            let policy = spoilt && !live && want.on_lost_conversation == OnLost::Fresh;
            let told = told_fresh || allowed || policy;
            let obstacle = (!told).then(|| Reason::Conversation { words: words.clone() });
            Start { obstacle, ..plain(fresh, ConversationFate::Lost(words)) }
        }
    }
}

/// Whether the agent reported its conversation and no prompt, and has written nothing of it: the prompt that its launch
/// carried never reached it. A later conversation of that launch (`/clear`) says nothing of the one that got the prompt.
fn unprompted(subject: &Subject<'_>) -> bool {
    let never = subject.seen.is_some_and(|seen| matches!(seen.conversation, Evidence::NeverPrompted | Evidence::Empty));
    let Some(record) = subject.memory.as_ref().and_then(|memory| memory.record) else { return false };
    // Without a report a prompt may have reached it: an agent writes a moment later than it is prompted.
    let Some(identity) = &record.identity else { return false };
    let mut launches = record.launches.iter();
    let carried = launches.any(|launch| launch.generation == identity.generation && launch.prompt.is_some());
    never && carried && !identity.prompted && identity.source.as_deref() == Some(STARTUP)
}

/// Whether a fresh start delivers the prompt: when it was not delivered yet, changed since, or `anew` it is to be.
fn delivers(want: &Session, past: Option<&Memory<'_>>, anew: bool) -> bool {
    let Some(prompt) = &want.prompt else { return false };
    match past {
        None => true,
        Some(_) if anew => true,
        // Stamps do not say what was delivered, nor does a record rebuilt from them: better not at all than twice.
        Some(past) if past.shown().is_none_or(Shown::is_empty) && past.prompt_delivered.is_none() => false,
        Some(past) => past.prompt_delivered != Some(prompt_hash(past.salt, prompt).as_str()),
    }
}

/// A remark on a running session whose prompt is not the one it was given.
pub(super) fn prompt_note(want: &Session, memory: &Memory<'_>) -> Option<String> {
    let hash = prompt_hash(memory.salt, want.prompt.as_deref()?);
    let carried = memory.record?.launch().and_then(|launch| launch.prompt.as_deref());
    let given = [memory.prompt_delivered, carried].contains(&Some(hash.as_str()));
    (!given).then(|| "prompt changed: delivered on the next fresh launch".to_owned())
}

/// Whether a buried session is the one that is wanted now: same directory, same kind, and a conversation to come back to.
fn returns(past: &Memory<'_>, subject: &Subject<'_>, want: &Session) -> bool {
    let same_dir = matches!(subject.dir, Some(DirSeen::Present(dir)) if past.canonical == Some(dir.as_path()));
    let same_kind = past.record.is_some_and(|record| record.kind == want.kind);
    let lasting = !matches!(
        subject.seen.map(|seen| &seen.conversation),
        Some(Evidence::None | Evidence::NeverPrompted | Evidence::Empty)
    );
    same_dir && same_kind && lasting && past.conversation.is_some()
}

/// What the evidence says of the conversation of `past`.
fn found(wanted: &Wanted<'_, '_>, past: &Memory<'_>, forms: &ConversationForms, live: bool) -> Found {
    let Wanted { subject, want, inputs, changed } = wanted;
    let id = past.conversation.map(units::short).unwrap_or_default();
    let spoilt = |words: String| Found::Lose { words, spoilt: true };
    let unspoilt = |words: String| Found::Lose { words, spoilt: false };
    let evidence = match subject.seen {
        Some(seen) => &seen.conversation,
        None => return unspoilt(format!("conversation {id} was not looked at")),
    };
    let target = match evidence {
        Evidence::None if live => {
            let words = unreported(wanted, past).unwrap_or_else(|| "no conversation was reported".to_owned());
            return unspoilt(format!("{words}; this one would be lost"));
        }
        Evidence::None => return unreported(wanted, past).map_or(Found::Nothing(None), spoilt),
        Evidence::Empty => return Found::Nothing(None),
        Evidence::NeverPrompted => {
            let reusable = !forms.assign.is_empty() && !changes::differs(changed, &Field::Kind);
            return Found::Nothing(past.conversation.filter(|_| reusable).map(str::to_owned));
        }
        Evidence::Unread => return unspoilt(format!("conversation {id} was not looked at")),
        Evidence::Unreadable(words) => return unspoilt(format!("conversation {id} cannot be looked at: {words}")),
        Evidence::Pending(words) => return spoilt(format!("conversation {id} is not stored yet: {words}")),
        Evidence::Missing(words) => return spoilt(format!("conversation {id} cannot be found: {words}")),
        Evidence::Unproven { conversation, words } => return spoilt(unproven(past, conversation, words)),
        Evidence::Changed(words) => return spoilt(format!("conversation {id} is not what it was: {words}")),
        Evidence::Held(words) => return unspoilt(format!("conversation {id} must not be resumed now: {words}")),
        Evidence::TakenBy(other) => return unspoilt(format!("conversation {id} taken by {other}")),
        Evidence::Verified(target) => Some(target.as_str()),
        Evidence::Assigned => None,
    };
    let confirmed = target.is_some();
    let Some(conversation) = target.or(past.conversation) else {
        return unspoilt("its conversation is not recorded".to_owned());
    };
    let elsewhere = matches!(subject.dir, Some(DirSeen::Present(dir)) if past.canonical.is_some_and(|old| old != dir));
    match () {
        () if changes::differs(changed, &Field::Kind) => {
            unspoilt(format!("conversation {id} is of another kind than {}", want.kind))
        }
        () if elsewhere && !forms.from_other_dir => {
            unspoilt(format!("{} cannot resume conversation {id} in another directory", want.kind))
        }
        () if keeps_yolo(wanted, past) => unspoilt(format!(
            "conversation {id} keeps `permissions: yolo`, which no resume takes back from {}; it can only start anew",
            want.kind
        )),
        () if confirmed => Found::Keep(ConversationFate::Kept(kept(past, &id, inputs)), conversation.to_owned()),
        () if want.resume_assigned => {
            Found::Keep(ConversationFate::KeptUnconfirmed(format!("{id}, assigned")), conversation.to_owned())
        }
        () => unspoilt(format!(
            "conversation {id} was assigned at launch and never confirmed{} (`resume_assigned: true` resumes it)",
            past.record.and_then(Record::refusal).map(|why| format!(": {why}")).unwrap_or_default()
        )),
    }
}

/// Why what was reported last keeps the conversation before it from going on, and what would let it. Both ids are written
/// out: Codex's, which begin with the time, may have their first eight digits in common.
fn unproven(past: &Memory<'_>, conversation: &str, words: &str) -> String {
    let before = past.conversation.filter(|_| past.record.is_some());
    let before = before
        .map(|id| format!("; it was in conversation {id} before that, and goes on there when that report is removed"));
    format!(
        "conversation {conversation} was reported last and cannot be verified: {words}{}",
        before.unwrap_or_default()
    )
}

/// Why there may be a conversation of which nothing was reported; `None` when nothing can have been said.
fn unreported(wanted: &Wanted<'_, '_>, past: &Memory<'_>) -> Option<String> {
    let record = past.record?;
    let kind = &wanted.want.kind;
    if let Some(why) = record.refusal() {
        return Some(format!("no conversation is known: its report was refused, since {why}"));
    }
    if past.prompt_delivered.is_some() {
        return Some("it was prompted, and no conversation was ever reported".to_owned());
    }
    match wanted.subject.kind {
        _ if record.never_ran() => None,
        Some(kind) if !kind.identifies() => Some(kind.unidentified()),
        Some(_) if !record.always_hooked() => {
            Some(format!("{kind} was run without its hook: whether it has a conversation is not known"))
        }
        _ => None,
    }
}

/// A resume would keep a posture that is not wanted any more. A record says of the posture only when it was yolo.
fn keeps_yolo(wanted: &Wanted<'_, '_>, past: &Memory<'_>) -> bool {
    let before = past.fields.is_some_and(|fields| fields.contains_key(&Field::Permissions));
    wanted.subject.kind.is_some_and(|kind| choice::keeps_yolo(kind, before, &wanted.want.choices))
}

/// `4bfc71d6, reported 3h ago`.
fn kept(past: &Memory<'_>, id: &str, inputs: &Inputs<'_>) -> String {
    match past.known {
        Some((Provenance::Reported, Some(at))) => {
            format!("{id}, reported {} ago", units::span(units::since(at, inputs.now.wall_ms)))
        }
        Some((Provenance::Reported, None)) => format!("{id}, reported"),
        Some((Provenance::Assigned, _)) => format!("{id}, assigned"),
        None => id.to_owned(),
    }
}
