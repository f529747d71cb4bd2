//! What `watch` says while it runs: a line for each thing, for people or for programs.

use std::io::{self, Write};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::args::LogFormat;
use crate::host::clock::Moment;
use crate::reconcile::watch::Said;
use crate::reconcile::watch::conditions::Whom;
use crate::spec::visible::visible;

/// The lines, on standard error.
pub(super) struct Journal {
    format: LogFormat,
}

impl Journal {
    pub(super) fn new(format: LogFormat) -> Self {
        Self { format }
    }

    /// Says one thing.
    pub(super) fn say(&mut self, at: Moment, said: &Said) {
        let at = Timestamp::from_millisecond(at.wall_ms).unwrap_or_default();
        let line = match self.format {
            LogFormat::Text => format!("{at:.3} {}", text(said)),
            LogFormat::Json => with_time(at, document(said)).to_string(),
        };
        // Words that nobody can read are no reason to leave a fleet alone.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

fn text(said: &Said) -> String {
    match said {
        Said::Loaded { sessions, revision } => {
            let at = revision.as_ref().map(|revision| format!(" at {revision}")).unwrap_or_default();
            format!("read    {sessions} sessions{at}")
        }
        Said::Unfit(words) => format!("UNFIT   the files cannot be used; nothing of them changes anything\n{words}"),
        Said::Done(done) => match &done.failure {
            None => format!("ok      {}: {}", done.session, done.what),
            Some(words) => format!("FAILED  {}: {}: {}", done.session, done.what, visible(words)),
        },
        Said::Held(held) => {
            let whom = match &held.whom {
                Whom::Session(name) => name.to_string(),
                Whom::Kind(kind) => format!("every {kind}"),
            };
            format!("{:<7} {whom}: {}", held.sign, visible(&held.words))
        }
        Said::NoPass(words) => format!("FAILED  nothing could be looked at: {}", visible(words)),
    }
}

fn document(said: &Said) -> Value {
    match said {
        Said::Loaded { sessions, revision } => json!({"said": "loaded", "sessions": sessions, "revision": revision}),
        Said::Unfit(words) => json!({"said": "unfit", "words": words}),
        Said::Done(done) => {
            json!({"said": "done", "session": done.session, "what": done.what, "failure": done.failure})
        }
        Said::Held(held) => {
            let (name, whom) = match &held.whom {
                Whom::Session(name) => ("session", name),
                Whom::Kind(kind) => ("kind", kind),
            };
            json!({"said": "held", name: whom, "sign": held.sign, "reason": held.code, "words": held.words})
        }
        Said::NoPass(words) => json!({"said": "no-pass", "words": words}),
    }
}

fn with_time(at: Timestamp, mut document: Value) -> Value {
    document["at"] = json!(at);
    document
}
