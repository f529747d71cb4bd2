//! Printing: data to standard output, the rest to standard error, nothing that needs colour to be read.

use std::io::{self, IsTerminal, Write};

use super::args::Color;
use super::error::CliError;

/// Where a verb prints.
#[derive(Debug)]
pub struct Output {
    color: Color,
    no_color: bool,
    /// `--verbose`.
    pub verbose: bool,
}

impl Output {
    /// With the operator's wish for colour.
    #[must_use]
    pub fn new(color: Color, verbose: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { color, no_color, verbose }
    }

    /// Whether standard output is printed in colour.
    #[must_use]
    pub fn colored(&self) -> bool {
        self.wants(io::stdout().is_terminal())
    }

    /// Whether standard error is printed in colour.
    #[must_use]
    pub fn colored_messages(&self) -> bool {
        self.wants(io::stderr().is_terminal())
    }

    fn wants(&self, terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !self.no_color,
        }
    }

    /// Prints data.
    ///
    /// # Errors
    /// [`CliError::BrokenPipe`] when nobody reads it.
    pub fn data(&self, text: &str) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') && !text.is_empty() {
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(())
    }

    /// Prints a document as JSON.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub fn json<T: serde::Serialize>(&self, document: &T) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(document).map_err(|error| CliError::Other(error.to_string()))?;
        self.data(&text)
    }

    /// Prints a message.
    pub fn message(&self, text: &str) {
        // A message nobody can read is no reason to stop.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Prints an error.
    pub fn error(&self, error: &CliError) {
        match error {
            CliError::Fleet(problems) => self.message(problems.render(self.colored_messages()).trim_end()),
            other => self.message(&format!("farhelm: {other}")),
        }
    }

    /// Asks a yes-or-no question on the terminal.
    ///
    /// # Errors
    /// Where there is no terminal to ask on.
    pub fn ask(&self, question: &str) -> Result<bool, CliError> {
        if !io::stdin().is_terminal() {
            return Err(CliError::Other("there is no terminal to ask on; use -y to go on without asking".to_owned()));
        }
        let mut err = io::stderr().lock();
        write!(err, "{question} [y/N] ")?;
        err.flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}
