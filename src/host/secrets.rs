//! Secrets by reference: fetched when a launch needs them, once per pass, and shown nowhere.

mod command;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use nix::libc::{O_CLOEXEC, O_NOCTTY, O_NONBLOCK};

use crate::config::desired::{EnvValue, SecretRef, Session};
use crate::config::dotenv;
use crate::host::clock::Clock;
use crate::state::digest;
use crate::state::fields::{self, Contents};

/// The largest secret, and the most that is read of a command, in bytes.
pub const MAX_SECRET: usize = 64 * 1024;

/// How long a command may take.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);

/// A value that no text shows by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The value, for the spec of a launch and for nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// 64 hexadecimal digits by which two values are told apart. Not salted: never to be stored as it is.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        digest::hex(&digest::whole("", [&self.0]))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// A secret that could not be had. Names the variable and the reference, never a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot get `{variable}` from {reference}: {why}")]
pub struct SecretError {
    /// The variable; `env_from` where the reference yields many.
    pub variable: String,
    /// The file, or the command's program; its arguments are not shown.
    pub reference: String,
    /// What went wrong.
    pub why: Why,
}

/// What can go wrong with a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The system's words about a file or a program.
    #[error("{0}")]
    System(String),
    /// A directory, a device, a pipe.
    #[error("it is not a plain file")]
    NotAFile,
    /// More than [`MAX_SECRET`].
    #[error("it gives more than {MAX_SECRET} bytes")]
    TooLarge,
    /// Bytes that no environment variable of a launch can hold.
    #[error("it gives something that is not UTF-8 text without NUL bytes")]
    NotText,
    /// The command failed. What it wrote about that may quote the secret, and is not shown.
    #[error("the command ended with {0}; run it by hand to see why")]
    Ended(String),
    /// The command did not end in time.
    #[error("the command took longer than {}s and was killed", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The operator did not want to wait for the command.
    #[error("the command had not ended when it was interrupted, and was killed")]
    Interrupted,
    /// The text is no dotenv file.
    #[error("what it gives is wrong: {0}")]
    Dotenv(#[from] dotenv::DotenvError),
}

/// Fetches secrets, each reference once. One per pass: what it has fetched, or failed to fetch, it keeps.
pub struct Fetcher<'a> {
    clock: &'a dyn Clock,
    fetched: BTreeMap<SecretRef, Result<Secret, Why>>,
    time_limit: Duration,
}

impl<'a> Fetcher<'a> {
    /// A fetcher that has fetched nothing. `clock` tells when the operator interrupts.
    #[must_use]
    pub fn new(clock: &'a dyn Clock) -> Self {
        Self { clock, fetched: BTreeMap::new(), time_limit: TIME_LIMIT }
    }

    /// The whole environment that `session` asks for: bundles in their order, then each variable of its own.
    ///
    /// # Errors
    /// The first [`SecretError`]. It blocks the session; it is no failure of its agent.
    pub fn environment(&mut self, session: &Session) -> Result<BTreeMap<String, Secret>, SecretError> {
        let mut variables = BTreeMap::new();
        for reference in &session.env_bundles {
            let error = |why| SecretError { variable: "env_from".to_owned(), reference: shown(reference), why };
            let text = self.fetch(reference).map_err(error)?;
            let pairs = dotenv::parse(text.expose()).map_err(|fault| error(fault.into()))?;
            variables.extend(pairs.into_iter().map(|(name, value)| (name, Secret(value))));
        }
        variables.extend(self.values(&session.env)?);
        Ok(variables)
    }

    /// What these variables are: a session's own, or a tab's.
    ///
    /// # Errors
    /// The first [`SecretError`].
    pub fn values(&mut self, env: &BTreeMap<String, EnvValue>) -> Result<BTreeMap<String, Secret>, SecretError> {
        let mut variables = BTreeMap::new();
        for (name, value) in env {
            let value = match value {
                EnvValue::Literal(text) => Secret(text.clone()),
                EnvValue::Secret(reference) => self.fetch(reference).map_err(|why| SecretError {
                    variable: name.clone(),
                    reference: shown(reference),
                    why,
                })?,
            };
            variables.insert(name.clone(), value);
        }
        Ok(variables)
    }

    /// The fingerprints of the files whose content counts for one of `sessions`.
    pub fn contents<'s>(&mut self, sessions: impl IntoIterator<Item = &'s Session>) -> Contents {
        let mut contents = Contents::new();
        for reference in sessions.into_iter().flat_map(fields::watched) {
            if let Some(path) = fields::watched_path(reference) {
                let seen = self.fetch(reference).map(|secret| secret.fingerprint());
                contents.insert(path.clone(), seen.map_err(|why| format!("cannot read {}: {why}", path.display())));
            }
        }
        contents
    }

    /// What `reference` refers to.
    ///
    /// # Errors
    /// [`Why`] it cannot be had; asking again gives the same answer.
    pub fn fetch(&mut self, reference: &SecretRef) -> Result<Secret, Why> {
        if let Some(known) = self.fetched.get(reference) {
            return known.clone();
        }
        let bytes = match reference {
            SecretRef::File { path, .. } => read(path),
            SecretRef::Command { argv } => command::output(argv, self.time_limit, self.clock),
        };
        let secret = bytes.and_then(text);
        self.fetched.insert(reference.clone(), secret.clone());
        secret
    }
}

/// The reference as an error may show it.
fn shown(reference: &SecretRef) -> String {
    match reference {
        SecretRef::File { path, .. } => format!("file `{}`", path.display()),
        SecretRef::Command { argv } => format!("command `{}`", argv.first().map_or("", String::as_str)),
    }
}

/// A plain file's content. Links are followed: secret stores hand out links.
fn read(path: &Path) -> Result<Vec<u8>, Why> {
    let system = |error: io::Error| Why::System(error.to_string());
    let flags = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(system)?;
    if !file.metadata().map_err(system)?.is_file() {
        return Err(Why::NotAFile);
    }
    let mut bytes = Vec::new();
    file.take(MAX_SECRET as u64 + 1).read_to_end(&mut bytes).map_err(system)?;
    if bytes.len() > MAX_SECRET { Err(Why::TooLarge) } else { Ok(bytes) }
}

/// `bytes` as a value: one trailing newline, which tools and editors add, is cut.
fn text(bytes: Vec<u8>) -> Result<Secret, Why> {
    let mut text = String::from_utf8(bytes).map_err(|_| Why::NotText)?;
    if text.contains('\0') {
        return Err(Why::NotText);
    }
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(Secret(text))
}

#[cfg(test)]
mod tests;
