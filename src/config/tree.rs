//! Where every value of a file stands: one iterative walk over the parser's events.
//!
//! The walk refuses what must never reach the value parser (deep nesting, floods of nodes and aliases) and finds what
//! that parser would hide (duplicate keys, tags, keys that are no text). Nodes live in one flat list, so that building
//! and dropping a tree neither recurses nor allocates per node.

use saphyr_parser::{Marker, Span};

mod read;

pub use read::{events_only, read};

/// The deepest nesting.
pub const MAX_DEPTH: usize = 64;
/// The most nodes in a file.
pub const MAX_NODES: usize = 200_000;
/// The most aliases in a file.
pub const MAX_ALIASES: usize = 1_000;

/// A position: line and column count from 0, in characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pos {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl From<Marker> for Pos {
    fn from(mark: Marker) -> Self {
        let cut = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self { line: cut(mark.line().saturating_sub(1)), column: cut(mark.col()) }
    }
}

/// A stretch of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    /// Its first character.
    pub start: Pos,
    /// Behind its last character.
    pub end: Pos,
}

impl From<Span> for Stretch {
    fn from(span: Span) -> Self {
        Self { start: span.start.into(), end: span.end.into() }
    }
}

/// Something wrong with a file's YAML itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub at: Stretch,
    /// What.
    pub words: String,
    /// What to do about it.
    pub help: Option<String>,
    /// An earlier place that matters.
    pub other: Option<(Stretch, &'static str)>,
    /// Nothing behind it could be read.
    pub fatal: bool,
}

/// A node's number.
pub type NodeId = u32;

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// `text` is its range in [`Tree::text`].
    Scalar {
        text: (u32, u32),
    },
    /// `range` in [`Tree::links`].
    List {
        range: (u32, u32),
    },
    /// `range` in [`Tree::links`]: key, value, key, value …, sorted by key.
    Map {
        range: (u32, u32),
    },
    Alias {
        target: NodeId,
    },
}

#[derive(Debug)]
struct Node {
    at: Stretch,
    kind: Kind,
}

/// The nodes of one file.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    links: Vec<NodeId>,
    text: String,
    root: Option<NodeId>,
    merges: bool,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A map's key.
    Key(String),
    /// A list's index.
    Item(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The last node that is there.
    pub node: NodeId,
    /// The key that holds it.
    pub key: Option<NodeId>,
    /// How many steps were there.
    pub steps: usize,
    /// The alias or merge key through which it was reached first.
    pub through: Option<NodeId>,
}

impl Tree {
    /// The document's node; none when the file is empty.
    #[must_use]
    pub fn root(&self) -> Option<NodeId> {
        self.root
    }

    /// Merge keys (`<<`) are used.
    #[must_use]
    pub fn merges(&self) -> bool {
        self.merges
    }

    /// Where a node stands.
    #[must_use]
    pub fn at(&self, node: NodeId) -> Stretch {
        self.nodes[node as usize].at
    }

    /// A scalar's text.
    #[must_use]
    pub fn scalar(&self, node: NodeId) -> Option<&str> {
        match self.nodes[self.behind(node) as usize].kind {
            Kind::Scalar { text: (from, to) } => Some(&self.text[from as usize..to as usize]),
            _ => None,
        }
    }

    /// A map's keys and values, sorted by key; merge keys are not followed.
    pub fn entries(&self, node: NodeId) -> impl Iterator<Item = (&str, NodeId, NodeId)> {
        let range = match self.nodes[self.behind(node) as usize].kind {
            Kind::Map { range } => range,
            _ => (0, 0),
        };
        let pairs = &self.links[range.0 as usize..range.1 as usize];
        pairs.chunks_exact(2).map(|pair| (self.scalar(pair[0]).unwrap_or_default(), pair[0], pair[1]))
    }

    /// A list's items.
    #[must_use]
    pub fn items(&self, node: NodeId) -> &[NodeId] {
        match self.nodes[self.behind(node) as usize].kind {
            Kind::List { range: (from, to) } => &self.links[from as usize..to as usize],
            _ => &[],
        }
    }

    /// A map or a list.
    #[must_use]
    pub fn is_container(&self, node: NodeId) -> bool {
        !matches!(self.nodes[self.behind(node) as usize].kind, Kind::Scalar { .. })
    }

    /// Follows `path` from `from` as far as it leads, through aliases and merge keys.
    #[must_use]
    pub fn find<'a>(&self, from: NodeId, path: impl IntoIterator<Item = &'a Step>) -> Found {
        let mut found = Found { node: from, key: None, steps: 0, through: None };
        for step in path {
            if matches!(self.nodes[found.node as usize].kind, Kind::Alias { .. }) {
                found.through = found.through.or(Some(found.node));
            }
            let next = match step {
                Step::Key(key) => self.value(found.node, key, MAX_DEPTH),
                // A key of digits looks like an index to whoever reports it.
                Step::Item(index) => match self.items(found.node).get(*index) {
                    Some(item) => Some((None, *item, None)),
                    None => self.value(found.node, &index.to_string(), MAX_DEPTH),
                },
            };
            let Some((key, node, merged)) = next else { break };
            let through = found.through.or(merged);
            found = Found { node, key, steps: found.steps + 1, through };
        }
        found
    }

    /// The key, the value and, if it came by one, the merge key of `key` in a map.
    fn value(&self, map: NodeId, key: &str, depth: usize) -> Option<(Option<NodeId>, NodeId, Option<NodeId>)> {
        if let Some((key, value)) = self.entry(map, key) {
            return Some((Some(key), value, None));
        }
        if !self.merges || depth == 0 {
            return None;
        }
        let (merge, sources) = self.entry(map, "<<")?;
        let list = self.items(sources);
        let sources = if list.is_empty() { std::slice::from_ref(&sources) } else { list };
        let (key, value, _) = sources.iter().find_map(|source| self.value(*source, key, depth - 1))?;
        Some((key, value, Some(merge)))
    }

    fn entry(&self, map: NodeId, key: &str) -> Option<(NodeId, NodeId)> {
        let Kind::Map { range: (from, to) } = self.nodes[self.behind(map) as usize].kind else { return None };
        let pairs = &self.links[from as usize..to as usize];
        let (mut low, mut high) = (0, pairs.len() / 2);
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.scalar(pairs[2 * middle]).unwrap_or_default().cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        let pair = pairs.get(2 * low..2 * low + 2)?;
        (self.scalar(pair[0]) == Some(key)).then_some((pair[0], pair[1]))
    }

    /// What an alias stands for. Aliases to aliases do not exist, and none stands for what it is in.
    #[must_use]
    pub fn behind(&self, node: NodeId) -> NodeId {
        match self.nodes[node as usize].kind {
            Kind::Alias { target } => target,
            _ => node,
        }
    }
}

/// An unquoted scalar that YAML 1.2 reads as text: no null, truth or number.
#[must_use]
pub fn reads_as_text(plain: &str) -> bool {
    let word =
        matches!(plain, "" | "~" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE");
    !(word || is_endless(plain) || is_number(plain))
}

fn is_number(plain: &str) -> bool {
    let digits = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    let radix = |rest: &str, radix| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix));
    if let Some(rest) = digits.strip_prefix("0o") {
        return radix(rest, 8);
    }
    if let Some(rest) = digits.strip_prefix("0x") {
        return radix(rest, 16);
    }
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.bytes().any(|b| b.is_ascii_digit())
        && digits.parse::<f64>().is_ok()
        && !(digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn is_endless(plain: &str) -> bool {
    let word = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    matches!(word, ".inf" | ".Inf" | ".INF") || matches!(plain, ".nan" | ".NaN" | ".NAN")
}

#[cfg(test)]
mod tests;
