//! The hook that agents run: `farhelm internal hook --vendor KIND --launch GENERATION`, its event as JSON on standard
//! input.
//!
//! An agent waits for it, may show what it prints, and may stop working when it fails. So it prints nothing, always
//! succeeds, and is over within [`LIMIT`] whatever it meets. It asks nobody and decides nothing: it leaves a report beside
//! the ancestry it has, and says so to a supervisor if there is one.

mod ancestry;
mod credentials;
mod drop;
mod payload;
mod poke;

use std::ffi::OsString;
use std::io::Read;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::state::reports::log::{BadPayload, Outcome};
use crate::state::reports::{Report, Slot, VERSION};

use super::clock::Moment;
use super::real;
use credentials::Credentials;
use payload::{MAX_EVENT, Payload};

/// The longest the hook may take. Codex allows 3 s for some events, Claude Code is told 5 s.
pub const LIMIT: Duration = Duration::from_secs(2);

/// How much of that is kept for saying that it was not enough.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    vendor: String,
    generation: u32,
}

/// Runs the hook. `args` are the arguments behind `internal hook`.
#[must_use]
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let asked = parse(args);
    let (done, outcome) = mpsc::channel();
    // On a thread of its own, never joined: a disk that does not answer must not hold up the agent.
    let work = move || {
        if let Some(asked) = asked {
            report(&asked);
        }
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(work).is_ok() {
        match outcome.recv_timeout(LIMIT.saturating_sub(LAST_WORDS)) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => say(Outcome::Timeout),
            Err(RecvTimeoutError::Disconnected) => say(Outcome::Panic),
        }
    }
    ExitCode::SUCCESS
}

fn parse(mut args: impl Iterator<Item = OsString>) -> Option<Asked> {
    let mut vendor = None;
    let mut generation = None;
    while let Some(flag) = args.next() {
        let value = args.next()?.into_string().ok()?;
        match flag.to_str()? {
            "--vendor" => vendor = Some(value).filter(|value| value.len() <= 63),
            "--launch" => generation = value.parse().ok(),
            _ => return None,
        }
    }
    Some(Asked { vendor: vendor?, generation: generation? })
}

/// Writes to the log of a run that came to nothing, as long as there is time.
fn say(outcome: Outcome) {
    let (done, written) = mpsc::channel();
    let write = move || {
        if let Some(credentials) = Credentials::unchecked() {
            drop::log(&credentials, real::now(), outcome, None, None);
        }
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(write).is_ok() {
        let _ = written.recv_timeout(LAST_WORDS);
    }
}

fn report(asked: &Asked) {
    let began = Instant::now();
    let at = real::now();
    let input = read_input();
    let Some(credentials) = Credentials::unchecked() else { return };
    let log = |outcome, payload: Option<&Payload>| {
        let conversation = payload.map(|payload| payload.conversation.as_str());
        drop::log(&credentials, at, outcome, conversation, payload.and_then(|payload| payload.source.as_deref()));
    };
    if !credentials.good() {
        return log(Outcome::NoCredential, None);
    }
    let (ancestry, ended) = ancestry::walk();
    // Whoever waits for the whole run says that there was no time.
    let left = LIMIT.saturating_sub(began.elapsed());
    let Ok(bytes) = input.recv_timeout(left) else { return };
    let payload = match bytes.map_err(|()| BadPayload::Unreadable).and_then(|bytes| Payload::parse(&bytes)) {
        Ok(payload) => payload,
        Err(what) => return log(Outcome::BadPayload(what), None),
    };
    let report = compose(asked, at, &payload, ancestry, ended);
    let Some(report) = report else { return log(Outcome::NotWritten, Some(&payload)) };
    let slot = Slot::of(report.event.as_deref());
    let written = drop::report(&credentials, report, slot);
    log(if written.is_ok() { Outcome::Reported } else { Outcome::NotWritten }, Some(&payload));
    poke::poke(&credentials);
}

/// Reads standard input on a thread that is never joined: an agent may keep it open.
fn read_input() -> Receiver<Result<Vec<u8>, ()>> {
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_EVENT + 1).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes).map_err(|_| ()));
    };
    // Where no thread can be made, the receiver learns that there is no sender.
    let _ = thread::Builder::new().spawn(read);
    receiver
}

/// The report; `None` where nothing can be known of this process itself.
fn compose(
    asked: &Asked,
    at: Moment,
    payload: &Payload,
    ancestry: Vec<crate::state::reports::Link>,
    ended: crate::state::reports::WalkEnd,
) -> Option<Report> {
    let reporter = crate::agents::chain::reporter(&ancestry).or(ancestry.last())?.process;
    Some(Report {
        version: VERSION,
        vendor: asked.vendor.clone(),
        generation: asked.generation,
        boot: real::boot().ok()?,
        at,
        conversation: payload.conversation.clone(),
        source: payload.source.clone(),
        transcript: payload.transcript.clone(),
        event: payload.event.clone(),
        detail: payload.detail.clone(),
        agent_id: payload.agent_id.clone(),
        reporter,
        ancestry,
        ended,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Option<Asked> {
        parse(words.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_command_line_names_kind_and_launch() {
        let expected = Asked { vendor: "claude".to_owned(), generation: 3 };
        assert_eq!(asked("--vendor claude --launch 3"), Some(expected.clone()));
        assert_eq!(asked("--launch 3 --vendor claude"), Some(expected));
        for bad in ["", "--vendor claude", "--launch 3", "--vendor claude --launch x", "--vendor claude --launch 3 -x"]
        {
            assert_eq!(asked(bad), None, "{bad}");
        }
    }
}
