//! What every step of resolving shares: files, names to fill in, and the problems found so far.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::check;
use super::draft::Draft;
use super::layers::{Entry, Layer, Layers};
use super::request::LoadRequest;
use super::source::{Files, path_text};
use super::template::{Row, Scope};
use super::tree::Step;
use crate::spec::settings::Settings;

/// What every step shares.
pub struct Context<'a> {
    /// The request.
    pub request: &'a LoadRequest,
    /// The files.
    pub files: Files,
    /// The variables, filled.
    pub vars: BTreeMap<String, String>,
    /// Names taken from the environment.
    pub used: RefCell<BTreeSet<String>>,
    /// What is wrong so far.
    pub drafts: RefCell<Vec<Draft>>,
    /// What was looked for, there or not.
    pub trail: RefCell<BTreeSet<PathBuf>>,
}

impl Context<'_> {
    /// Notes a problem.
    pub fn report(&self, draft: Draft) {
        self.drafts.borrow_mut().push(draft);
    }

    /// Notes an error about the value at `path` of a session or profile.
    pub fn error(&self, layers: &Layers, path: &[Step], message: impl Into<String>, help: Option<String>) {
        self.report(self.draft(layers, path, message).help(help));
    }

    /// An error about the value at `path`, to be completed and reported.
    #[must_use]
    pub fn draft(&self, layers: &Layers, path: &[Step], message: impl Into<String>) -> Draft {
        let Some((site, text)) = layers.locate(&self.files, path) else { return Draft::plain(message) };
        // A fault of a shared level is reported there, once, with one session that it hits.
        let own = layers.own.first().filter(|own| !text.starts_with(own.path.as_str()));
        Draft::error(site, text, message).and(own.map(|own| own.key_site(&self.files, &[])), "used here")
    }

    /// Where names are looked up.
    #[must_use]
    pub fn scope<'s>(&'s self, row: Option<&'s Row>) -> Scope<'s> {
        Scope { row, vars: &self.vars, env: &self.request.env, used: &self.used }
    }

    /// Values taken from the environment, and how they were asked for. Those of less than four bytes hide nothing.
    #[must_use]
    pub fn masks(&self) -> Vec<(String, String)> {
        let used = self.used.borrow();
        let values = used.iter().filter_map(|name| Some((self.request.env.get(name)?, name)));
        values
            .filter(|(value, _)| value.len() >= 4)
            .map(|(value, name)| (value.clone(), format!("${{env:{name}}}")))
            .collect()
    }

    /// Fills all texts of `value`, and reports those that cannot be. The keys of maps stay.
    ///
    /// Returns whether all could be filled.
    pub fn fill(&self, layer: &Layer, scope: &Scope<'_>, value: &mut Value) -> bool {
        let mut good = true;
        fill(value, &mut Vec::new(), &mut |path, text| match scope.fill(text) {
            Ok(filled) => filled,
            Err(unfilled) => {
                good = false;
                let path: Vec<Step> = path.iter().map(Part::step).collect();
                let text = [layer.path.as_str(), &path_text(&path)].join(".");
                let draft = Draft::error(layer.site(&self.files, &path), text.trim_end_matches('.'), unfilled.message);
                self.report(draft.help(unfilled.help));
                None
            }
        });
        good
    }

    /// The settings of a filled value. What the filled-in texts made wrong is reported.
    #[must_use]
    pub fn settings(&self, layer: &Layer, value: &Value) -> Option<Settings> {
        match Settings::deserialize(value) {
            Ok(settings) => Some(settings),
            Err(_) => {
                self.misfit::<Settings>(layer, value);
                None
            }
        }
    }

    /// Reads an entry outside of `each` as `T`; what is wrong with it is reported.
    #[must_use]
    pub fn read<T: for<'de> Deserialize<'de>>(&self, entry: &Entry) -> Option<T> {
        let mut value = entry.value.clone();
        if entry.broken || !self.fill(&entry.layer, &self.scope(None), &mut value) {
            return None;
        }
        self.parse(&entry.layer, &value)
    }

    /// Reads a filled value as `T`; what is wrong with it is reported.
    #[must_use]
    pub fn parse<T: for<'de> Deserialize<'de>>(&self, layer: &Layer, value: &Value) -> Option<T> {
        T::deserialize(value).map_err(|_| self.misfit::<T>(layer, value)).ok()
    }

    /// Says why a filled value does not fit: by the schema, which says it best, or else by the type.
    fn misfit<T: for<'de> Deserialize<'de>>(&self, layer: &Layer, value: &Value) {
        let section = layer.path.split('.').next().unwrap_or_default();
        let single = section == layer.path;
        let document = match single {
            true => json!({"farhelm": "v1", section: value}),
            false => json!({"farhelm": "v1", section: {"it": value}}),
        };
        let prefix = if single { 1 } else { 2 };
        let violations = check::violations(&document);
        for violation in &violations {
            let inner = violation.path.get(prefix..).unwrap_or_default();
            let text = [layer.path.as_str(), &path_text(inner)].join(".");
            let draft = Draft::error(layer.site(&self.files, inner), text.trim_end_matches('.'), &violation.message);
            let draft = draft.help(violation.help.clone());
            self.report(match &violation.expected {
                Some(words) => draft.expected(words),
                None => draft,
            });
        }
        if !violations.is_empty() {
            return;
        }
        if let Err(error) = serde_path_to_error::deserialize::<_, T>(value) {
            let steps: Vec<Step> = error.path().iter().filter_map(step_of).collect();
            let text = [layer.path.as_str(), &path_text(&steps)].join(".");
            let words = match steps.contains(&Step::from("env")) {
                true => "the value (not shown) does not fit".to_owned(),
                false => error.inner().to_string(),
            };
            self.report(Draft::error(layer.site(&self.files, &steps), text.trim_end_matches('.'), words));
        }
    }

    /// A path as written in a file: `~` is home, relative ones start at `dir`.
    #[must_use]
    pub fn path(&self, dir: &Path, text: &str) -> PathBuf {
        match text.strip_prefix('~') {
            Some("") => self.request.home.clone(),
            Some(rest) if rest.starts_with('/') => self.request.home.join(rest.trim_start_matches('/')),
            _ => dir.join(text),
        }
    }
}

fn step_of(segment: &serde_path_to_error::Segment) -> Option<Step> {
    use serde_path_to_error::Segment;
    match segment {
        Segment::Seq { index } => Some(Step::Item(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// A step of a path that is only borrowed.
enum Part<'v> {
    Key(&'v str),
    Item(usize),
}

impl Part<'_> {
    fn step(&self) -> Step {
        match self {
            Self::Key(key) => Step::from(*key),
            Self::Item(index) => Step::Item(*index),
        }
    }
}

/// Hands every text to `with`, which may replace it. Where the schema wants a number or a truth, a text that is one
/// becomes it.
fn fill<'v>(value: &'v mut Value, path: &mut Vec<Part<'v>>, with: &mut dyn FnMut(&[Part<'_>], &str) -> Option<String>) {
    match value {
        Value::String(text) => {
            let Some(filled) = with(path, text) else { return };
            *value = match path.last() {
                Some(Part::Key(key)) if check::is_typed(key) => typed(filled),
                _ => Value::String(filled),
            };
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                path.push(Part::Item(index));
                fill(item, path, with);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map.iter_mut() {
                path.push(Part::Key(key));
                fill(item, path, with);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn typed(text: String) -> Value {
    let number = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    match (number, text.as_str()) {
        (Some(number), _) => number.into(),
        (None, "true") => true.into(),
        (None, "false") => false.into(),
        (None, _) => text.into(),
    }
}
