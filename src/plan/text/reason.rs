//! Reasons in words.

use std::time::Duration;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::plan::reason::Reason;
use crate::plan::units::{count, span};
use crate::spec::visible::visible;
use crate::state::fields::Field;

/// Characters of a value that are shown.
const SHOWN: usize = 200;

/// `reason` as a clause, foreign text made harmless.
pub(in crate::plan) fn words(reason: &Reason) -> String {
    visible(&match reason {
        Reason::NotRunning => "it is not running".to_owned(),
        Reason::Exited { status, ago } => format!("it exited with status {status}{}", before(*ago)),
        Reason::Killed { signal, ago } => format!("it was killed by {}{}", signal_name(*signal), before(*ago)),
        Reason::Vanished => "it is gone, and nothing says how it ended".to_owned(),
        Reason::ServerDied => "its tmux server died".to_owned(),
        Reason::Rebooted => "the machine was rebooted".to_owned(),
        Reason::LaunchFailed { words } => format!("its last launch failed: {words}"),
        Reason::Leftovers { processes } => {
            format!("{} of an earlier launch still alive", count(*processes, "process"))
        }
        Reason::WantedAgain => "it was stopped and is wanted again".to_owned(),
        Reason::Restored => "it came back to the files".to_owned(),
        Reason::Asked => "an operator asked".to_owned(),
        Reason::Changed { field, old, new } => changed(field, old.as_deref(), new.as_deref()),
        Reason::Adjusted { field } => format!("{field} changed"),
        Reason::DesiredStopped => "`desired: stopped`".to_owned(),
        Reason::HeldStopped { why } => format!("an operator stopped it{}", quoted(why.as_deref())),
        Reason::Removed => "it was removed from the files".to_owned(),
        Reason::ParentGone { parent } => format!("{parent}, whose agent asked for it, has left the fleet"),
        Reason::ProfileGone { profile } => format!("`policy.spawn` no longer allows its profile {profile}"),
        Reason::Dismissed => "it was dismissed".to_owned(),
        Reason::Down => "the whole fleet goes down".to_owned(),
        Reason::TabRemoved { tab } => format!("tab {tab} was removed from the files"),
        Reason::TabChanged { tab } => format!("tab {tab} changed"),
        Reason::TabMissing { tab } => format!("tab {tab} is not there"),
        Reason::NoRecord => "its record is lost; rebuilt from its stamps".to_owned(),
        Reason::Moved { from } => format!("its name was {from}"),
        Reason::FleetMoved { from } => format!("its fleet was {from}"),
        other => hindrance(other),
    })
}

/// What makes a session wait, blocks it, or lets it rest.
fn hindrance(reason: &Reason) -> String {
    match reason {
        Reason::Working => "working".to_owned(),
        Reason::NeedsInput => "waits for an answer".to_owned(),
        Reason::ActivityUnknown => "activity unknown".to_owned(),
        Reason::ManualUpdate => "`update.when: manual`".to_owned(),
        Reason::MaxRunning { limit } => format!("`policy.max_running: {limit}` is reached"),
        Reason::MaxUnavailable { limit } => format!("`policy.max_unavailable: {limit}` is reached"),
        Reason::Canary { session } => format!("the change is tried on {session} first"),
        Reason::KindTripped { kind, ended } => {
            format!("{ended} agents of kind {kind} ended right after their launch: none of the kind is started")
        }
        Reason::CanaryFailed { session } => format!("the change was tried on {session}, which did not come up"),
        Reason::Backoff { left } => format!("in backoff for another {}", span(*left)),
        Reason::Launching { since } => format!("launched {} ago, not proven yet", span(*since)),
        Reason::LaunchStuck { since } => {
            format!("launch stuck: its login shell has not reached the launch for {}", span(*since))
        }
        Reason::Protected => "protected".to_owned(),
        Reason::MaxReap { limit, wanted } => {
            format!("{} at once, more than `max_reap: {limit}`", count(*wanted, "reap"))
        }
        Reason::Paused { why, until_ms } => paused(why.as_deref(), *until_ms),
        Reason::OtherSources { known } if known.is_empty() => "nothing says from which files it was applied".to_owned(),
        Reason::OtherSources { known } => format!("last applied from {}", known.join(", ")),
        Reason::OtherOwner { owner, pane } => format!("pane {pane} belongs to another state directory ({owner})"),
        Reason::Several { what } => format!("more than one of it: {}", what.join(", ")),
        Reason::Dir { words } | Reason::Conversation { words } | Reason::Unobservable { words } => words.clone(),
        Reason::CrashLoop { failures } => format!("crash loop: ended {failures} times in a row"),
        Reason::MaybeMoved { other } => format!("in the same directory as {other}, as if renamed"),
        Reason::NoPrune => "removed from the files, and prune is off".to_owned(),
        Reason::Inside => "farhelm runs inside it".to_owned(),
        Reason::FleetDown => "the fleet is down".to_owned(),
        Reason::Completed => "completed".to_owned(),
        Reason::NotRestarted { status: Some(status) } => format!("exited with status {status}, `restart.when: never`"),
        Reason::NotRestarted { status: None } => "exited, `restart.when: never`".to_owned(),
        _ => String::new(),
    }
}

fn before(ago: Option<Duration>) -> String {
    ago.map(|ago| format!(" {} ago", span(ago))).unwrap_or_default()
}

fn quoted(why: Option<&str>) -> String {
    why.map(|why| format!(" ({why})")).unwrap_or_default()
}

fn paused(why: Option<&str>, until_ms: Option<i64>) -> String {
    let until = until_ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let until = until.map(|time| time.strftime(" until %-d %b %H:%M UTC").to_string()).unwrap_or_default();
    format!("paused{until}{}", quoted(why))
}

fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |s| s.as_str().to_owned())
}

/// `model changed: gpt-5.5 -> gpt-6`; of a command only what differs.
fn changed(field: &Field, old: Option<&[String]>, new: Option<&[String]>) -> String {
    match (field, old, new) {
        (Field::Env(_), ..) => format!("{field} changed (value hidden)"),
        (Field::Command, Some(old), Some(new)) => format!("{field} changed: {}", arguments(old, new)),
        (_, None, None) => format!("{field} changed"),
        (_, old, new) => format!("{field} changed: {} -> {}", plain(old), plain(new)),
    }
}

/// Words as a shell would take them, cut where they are longer than anybody reads.
fn joined(words: &[String]) -> String {
    let text = shell_words::join(words);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

/// A value, or that there is none.
fn plain(value: Option<&[String]>) -> String {
    value.map_or_else(|| "unset".to_owned(), joined)
}

/// The difference of two argument lists: `--fast -> --slow --deep, added -x, removed -y`.
fn arguments(old: &[String], new: &[String]) -> String {
    let differences = capture_diff_slices(Algorithm::Myers, old, new);
    let parts = differences.into_iter().filter_map(|difference| match difference {
        DiffOp::Equal { .. } => None,
        DiffOp::Delete { old_index, old_len, .. } => {
            Some(format!("removed {}", joined(&old[old_index..old_index + old_len])))
        }
        DiffOp::Insert { new_index, new_len, .. } => {
            Some(format!("added {}", joined(&new[new_index..new_index + new_len])))
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => Some(format!(
            "{} -> {}",
            joined(&old[old_index..old_index + old_len]),
            joined(&new[new_index..new_index + new_len])
        )),
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &str) -> Vec<String> {
        words.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn of_a_command_only_what_differs_is_shown() {
        let old = list("codex -m a --fast run");
        assert_eq!(arguments(&old, &list("codex -m b --fast run")), "a -> b");
        assert_eq!(arguments(&old, &list("codex -m a run -x")), "removed --fast, added -x");
        assert_eq!(arguments(&list("a b"), &["a".to_owned(), "c d".to_owned()]), "b -> 'c d'");
    }

    #[test]
    fn an_environment_value_is_never_shown_even_when_a_reason_carries_one() {
        let field = Field::Env("TOKEN".to_owned());
        let reason = Reason::Changed { field, old: Some(list("s3cret")), new: Some(list("s4cret")) };
        assert_eq!(reason.words(), "env.TOKEN changed (value hidden)");
    }

    #[test]
    fn foreign_words_cannot_drive_the_terminal() {
        let reason = Reason::LaunchFailed { words: "no\u{1b}]0;x\u{7}\nPlan: 0 to launch".to_owned() };
        assert!(!reason.words().contains(['\u{1b}', '\u{7}', '\n']), "{}", reason.words());
    }

    #[test]
    fn signals_have_names_where_they_have_any() {
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(34), "signal 34");
    }
}
