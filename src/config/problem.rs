//! What is wrong with the files, and how it is told: where, what, what was expected, what to do.

use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, normalize_untrusted_str};
use serde::Serialize;

pub use super::draft::Severity;
use super::draft::{Draft, FileId, Site};
use super::source::Files;
use super::tree::{Stretch, Tree};

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The place, where there is one.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The path of the value: `sessions.api.restart.when`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Other places that matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
}

/// A place with its source line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; absent when the file as a whole is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, in characters from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The source line, environment values hidden.
    #[serde(skip)]
    excerpt: Option<Excerpt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    text: String,
    /// Bytes of `text` to be underlined.
    mark: std::ops::Range<usize>,
}

/// Another place, and why it matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Related {
    /// The place.
    #[serde(flatten)]
    pub place: Place,
    /// Why it matters.
    pub label: String,
}

/// All problems of one run, sorted by file and place. Standing on its own: it holds the lines it shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// The problems found in `files`, sorted, each once. `masks` are texts that must not be shown, and what stands for
    /// them.
    #[must_use]
    pub fn finish(mut drafts: Vec<Draft>, files: &Files, masks: &[(String, String)]) -> Self {
        drafts.iter_mut().for_each(|draft| draft.mask(masks));
        drafts.sort_by(|a, b| (a.site, a.severity, &a.message).cmp(&(b.site, b.severity, &b.message)));
        drafts.dedup_by(|a, b| a.site.is_some() && (a.site, &a.message) == (b.site, &b.message));
        let mut excerpts = Excerpts { files, lines: BTreeMap::new(), secrets: BTreeMap::new() };
        Self(drafts.into_iter().map(|draft| excerpts.problem(draft)).collect())
    }

    /// Nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The problems.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// All of them as a JSON list.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        // Plain data with string keys cannot fail to serialise.
        serde_json::to_value(&self.0).unwrap_or_default()
    }

    /// All of them for a person, each with its source line and a mark under the place.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        self.0.iter().map(|problem| renderer.render(&[problem.group()]) + "\n").collect::<Vec<_>>().join("\n")
    }
}

impl Problem {
    fn group(&self) -> Group<'_> {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = level.primary_title(normalize_untrusted_str(&self.message)).elements(
            self.place.iter().map(|place| place.snippet(AnnotationKind::Primary, normalize_untrusted_str(&self.path))),
        );
        for related in &self.related {
            group = group.element(related.place.snippet(AnnotationKind::Context, related.label.clone()));
        }
        if let Some(words) = &self.expected {
            group = group.element(Level::NOTE.message(normalize_untrusted_str(&format!("expected {words}"))));
        }
        if let Some(words) = &self.help {
            group = group.element(Level::HELP.message(normalize_untrusted_str(words)));
        }
        group
    }
}

impl Place {
    fn snippet(&self, kind: AnnotationKind, label: String) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
        let file = normalize_untrusted_str(&self.file);
        let Some(excerpt) = &self.excerpt else { return Snippet::source("").path(file) };
        let mark = kind.span(excerpt.mark.clone());
        let mark = if label.is_empty() { mark } else { mark.label(label) };
        let line = self.line.map_or(1, |line| line as usize);
        Snippet::source(excerpt.text.as_str()).line_start(line).path(file).annotation(mark)
    }
}

/// Cuts source lines out of files, hiding environment values.
struct Excerpts<'a> {
    files: &'a Files,
    /// Byte offsets of line starts, by file.
    lines: BTreeMap<FileId, Vec<usize>>,
    /// Where environment values stand, by file.
    secrets: BTreeMap<FileId, Vec<Stretch>>,
}

impl Excerpts<'_> {
    fn problem(&mut self, draft: Draft) -> Problem {
        let Draft { severity, site, path, message, expected, help, related } = draft;
        let place = site.map(|site| self.place(site));
        let related = related.into_iter().map(|(site, label)| Related { place: self.place(site), label: label.into() });
        Problem { severity, place, path, message, expected, help, related: related.collect() }
    }

    fn place(&mut self, site: Site) -> Place {
        let file = self.files[site.file].display.clone();
        let Some(at) = site.at else { return Place { file, line: None, column: None, excerpt: None } };
        let excerpt = Some(self.excerpt(site.file, at));
        Place { file, line: Some(at.start.line + 1), column: Some(at.start.column + 1), excerpt }
    }

    fn excerpt(&mut self, id: FileId, at: Stretch) -> Excerpt {
        let file = &self.files[id];
        let starts = self.lines.entry(id).or_insert_with(|| line_starts(&file.text));
        let number = (at.start.line as usize).min(starts.len() - 1);
        let end = starts.get(number + 1).copied().unwrap_or(file.text.len());
        let line = file.text[starts[number]..end].trim_end_matches(['\r', '\n']);
        let secrets = self.secrets.entry(id).or_insert_with(|| secrets(&file.tree));
        let mut text = hide(line, at.start.line, secrets);
        if !file.whole && in_env(&file.text[..starts[number]], line) {
            text = hide_value(line);
        }
        let byte = |column: u32| text.char_indices().nth(column as usize).map_or(text.len(), |(at, _)| at);
        let from = byte(at.start.column);
        // A value of several lines is marked on its first.
        let to = if at.end.line == at.start.line { byte(at.end.column) } else { text.trim_end().len() };
        Excerpt { mark: from..to.max(from), text }
    }
}

/// Byte offsets at which lines start. As for the parser, `\n`, `\r` and both together end one: were they counted
/// otherwise, the wrong columns would be hidden.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends =
        (0..bytes.len()).filter(|at| bytes[*at] == b'\n' || bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
    std::iter::once(0).chain(ends.map(|at| at + 1)).collect()
}

/// Where values under `env` stand, sorted; aliases followed.
fn secrets(tree: &Tree) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut all: Vec<(u32, bool)> = tree.root().map(|root| (root, false)).into_iter().collect();
    while let Some((node, secret)) = all.pop() {
        // Aliases may lead here many times.
        if !seen.insert((tree.behind(node), secret)) {
            continue;
        }
        let entries = tree.entries(node).map(|(key, _, value)| (value, secret || key == "env"));
        all.extend(entries);
        all.extend(tree.items(node).iter().map(|item| (*item, secret)));
        if secret && !tree.is_container(node) {
            found.push(tree.at(tree.behind(node)));
        }
    }
    found.sort_unstable();
    found
}

/// Replaces what lies in one of `secrets` by `*`.
fn hide(line: &str, number: u32, secrets: &[Stretch]) -> String {
    let here: Vec<_> = secrets.iter().filter(|at| at.start.line <= number && number <= at.end.line).collect();
    let hidden = |column: usize| {
        here.iter().any(|at| {
            (at.start.line < number || at.start.column as usize <= column)
                && (number < at.end.line || column < at.end.column as usize)
        })
    };
    line.chars().enumerate().map(|(column, c)| if hidden(column) { '*' } else { c }).collect()
}

/// Whether a line of a file that could not be read to its end seems to be part of an `env` map.
fn in_env(before: &str, line: &str) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    if line.contains("env:") {
        return true;
    }
    let mut level = indent(line);
    for above in before.lines().rev().filter(|above| !above.trim().is_empty()) {
        if indent(above) < level {
            level = indent(above);
            if above.trim_start().starts_with("env:") {
                return true;
            }
        }
    }
    false
}

/// Hides all behind the first colon.
fn hide_value(line: &str) -> String {
    let (key, value) = line.split_at(line.find(':').map_or(0, |at| at + 1));
    key.chars().chain(value.chars().map(|c| if c == ' ' { c } else { '*' })).collect()
}
