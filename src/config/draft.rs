//! A problem as it is found: what is wrong, and where, before the files' texts are joined to it.

use serde::Serialize;

use super::tree::Stretch;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The fleet cannot be used.
    Error,
    /// Legal, and surely not meant.
    Warning,
}

/// The longest text of a problem, in characters.
const MAX_TEXT: usize = 800;

/// A file's number among those that were read.
pub type FileId = usize;

/// A place in a file; without a stretch it is the file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The file.
    pub file: FileId,
    /// The place.
    pub at: Option<Stretch>,
}

/// A problem as it is found.
#[derive(Debug, Clone)]
pub struct Draft {
    pub(super) severity: Severity,
    pub(super) site: Option<Site>,
    pub(super) path: String,
    pub(super) message: String,
    pub(super) expected: Option<String>,
    pub(super) help: Option<String>,
    pub(super) related: Vec<(Site, &'static str)>,
}

impl Draft {
    /// An error without a place in a file: about a flag, or a file that cannot be read.
    pub fn plain(message: impl Into<String>) -> Self {
        let (path, message) = (String::new(), message.into());
        Self { severity: Severity::Error, site: None, path, message, expected: None, help: None, related: Vec::new() }
    }

    /// An error at a place.
    pub fn error(site: Site, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { site: Some(site), path: path.into(), ..Self::plain(message) }
    }

    /// It is about this file.
    #[must_use]
    pub fn is_of(&self, file: FileId) -> bool {
        self.site.is_some_and(|site| site.file == file)
    }

    /// It is an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The same as a warning.
    #[must_use]
    pub fn into_warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    /// Adds what was expected there.
    #[must_use]
    pub fn expected(mut self, words: impl Into<String>) -> Self {
        self.expected = Some(words.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, words: impl Into<Option<String>>) -> Self {
        self.help = words.into().or(self.help);
        self
    }

    /// Hides what must not be shown, then shortens what is long: in this order, so that no part of it stays.
    pub(super) fn mask(&mut self, masks: &[(String, String)]) {
        let texts = [Some(&mut self.message), Some(&mut self.path), self.expected.as_mut(), self.help.as_mut()];
        for text in texts.into_iter().flatten() {
            for (secret, reference) in masks {
                if text.contains(secret) {
                    *text = text.replace(secret, reference);
                }
            }
            if let Some((cut, _)) = text.char_indices().nth(MAX_TEXT) {
                text.truncate(cut);
                text.push('…');
            }
        }
    }

    /// Adds another place that matters.
    #[must_use]
    pub fn and(mut self, site: Option<Site>, label: &'static str) -> Self {
        self.related.extend(site.map(|site| (site, label)));
        self
    }
}
