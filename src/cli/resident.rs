//! The resident `watch` as other verbs reach it.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::host::real::socket::Call;

use super::error::CliError;
use super::protocol::{Answer, Ask, Hello, PROTOCOL, Request, line};

/// How long a `watch` may take to say who it is: it may be in the middle of a pass.
const GREETING: Duration = Duration::from_secs(15);
/// Between two looks whether the operator has interrupted.
const LOOK: Duration = Duration::from_millis(200);

/// A conversation with a `watch`.
#[derive(Debug)]
pub struct Resident {
    call: Call,
}

impl Resident {
    /// Asks the `watch` at `path`; none where nobody listens there.
    ///
    /// # Errors
    /// When somebody listens who is no `watch` of this version, or who does not answer.
    pub fn ask(path: &Path, ask: Ask) -> Result<Option<Self>, CliError> {
        let Ok(mut call) = Call::to(path) else { return Ok(None) };
        let other = |words: String| CliError::Other(format!("the watch at {}: {words}", path.display()));
        let hello = match call.line(GREETING) {
            Ok(Some(hello)) => hello,
            Ok(None) => return Err(other(format!("no answer within {}s", GREETING.as_secs()))),
            // It is just ending.
            Err(_) => return Ok(None),
        };
        let hello: Hello = serde_json::from_slice(&hello).map_err(|error| other(error.to_string()))?;
        if hello.protocol != PROTOCOL {
            let words = format!("it is farhelm {} and speaks version {}", hello.farhelm, hello.protocol);
            return Err(other(format!("{words}, this one {PROTOCOL}; restart it, so that both are the same farhelm")));
        }
        call.say(&line(&Request { protocol: PROTOCOL, ask })).map_err(|error| other(error.to_string()))?;
        Ok(Some(Self { call }))
    }

    /// The next answer, waited for up to `patience`, for as long as `go_on` says; none when that is over.
    ///
    /// # Errors
    /// When the `watch` is gone, or says what is not understood.
    pub fn answer(&mut self, patience: Duration, go_on: &dyn Fn() -> bool) -> io::Result<Option<Answer>> {
        let mut left = patience;
        while go_on() && !left.is_zero() {
            let slice = left.min(LOOK);
            if let Some(answer) = self.call.line(slice)? {
                return serde_json::from_slice(&answer).map(Some).map_err(io::Error::other);
            }
            left = left.saturating_sub(slice);
        }
        Ok(None)
    }
}
