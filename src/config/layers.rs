//! Where a session's values come from: its own entries, its profiles, the defaults, highest first.

use std::sync::Arc;

use serde_json::Value;

use super::draft::{FileId, Site};
use super::source::{Files, path_text};
use super::tree::{NodeId, Step};
use crate::spec::name::Name;

/// One level at which settings were said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The file.
    pub file: FileId,
    /// The map of settings.
    pub node: NodeId,
    /// The key that holds it.
    pub key: Option<NodeId>,
    /// What it is: `sessions.api`, `profiles.claude`, `defaults`.
    pub path: String,
}

/// A named part of a file.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it stands.
    pub layer: Layer,
    /// Its values, unfilled.
    pub value: Value,
    /// The schema refuses it, which has been reported.
    pub broken: bool,
    /// The schema refuses some of its fields, which were reported and taken out.
    pub damaged: bool,
}

/// The levels of one session or profile. The lower part is shared.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// Its own levels.
    pub own: Vec<Layer>,
    /// Those below.
    pub base: Arc<Vec<Layer>>,
    /// The built-in profile at the bottom.
    pub built_in: Option<Name>,
}

/// Steps from keys; a key of digits may be an index.
#[must_use]
pub fn steps(path: &[&str]) -> Vec<Step> {
    path.iter().map(|key| key.parse().map_or_else(|_| Step::from(*key), Step::Item)).collect()
}

impl Layers {
    fn all(&self) -> impl Iterator<Item = &Layer> {
        self.own.iter().chain(self.base.iter())
    }

    /// Where the value at `path` was said: its place and its full path. Where no level says it, the level that says
    /// the most of it.
    #[must_use]
    pub fn locate(&self, files: &Files, path: &[Step]) -> Option<(Site, String)> {
        let found = |layer: &Layer| (files[layer.file].tree.find(layer.node, path).steps, layer.clone());
        let mut best: Option<(usize, Layer)> = None;
        for (steps, layer) in self.all().map(found) {
            let whole = steps == path.len();
            if best.as_ref().is_none_or(|(most, _)| steps > *most) {
                best = Some((steps, layer));
            }
            if whole {
                break;
            }
        }
        let (_, layer) = best?;
        let text = [layer.path.as_str(), &path_text(path)].join(".");
        Some((layer.site(files, path), text.trim_end_matches('.').to_owned()))
    }

    /// What the highest level that says the value at `path` is (`sessions.api`, `defaults`); none where no level says it.
    #[must_use]
    pub fn said_at(&self, files: &Files, path: &[Step]) -> Option<&str> {
        let says = |layer: &&Layer| files[layer.file].tree.find(layer.node, path).steps == path.len();
        self.all().find(says).map(|layer| layer.path.as_str())
    }

    /// The file's name and the line where the value at `path` was said; none where no level says it.
    #[must_use]
    pub fn origin(&self, files: &Files, path: &[Step]) -> Option<String> {
        let layer = self.all().find(|layer| files[layer.file].tree.find(layer.node, path).steps == path.len())?;
        let line = layer.site(files, path).at?.start.line + 1;
        Some(format!("{}:{line}", files[layer.file].display))
    }
}

impl Layer {
    /// Where a path in this level leads, as far as it is there.
    #[must_use]
    pub fn site(&self, files: &Files, path: &[Step]) -> Site {
        let file = &files[self.file];
        let mut found = file.tree.find(self.node, path);
        found.key = found.key.or(if found.steps == 0 { self.key } else { None });
        file.site(self.file, found)
    }

    /// The key of the last step of `path`, or the value where it has none.
    #[must_use]
    pub fn key_site(&self, files: &Files, path: &[Step]) -> Site {
        let file = &files[self.file];
        let found = file.tree.find(self.node, path);
        match found.key.filter(|_| found.steps == path.len()) {
            Some(key) => Site { file: self.file, at: Some(file.tree.at(key)) },
            None => self.site(files, path),
        }
    }
}
