//! The walk over a file's events that builds its tree and finds its faults.

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{Fault, Kind, MAX_ALIASES, MAX_DEPTH, MAX_NODES, Node, NodeId, Stretch, Tree, is_endless, reads_as_text};

/// Walks the events of `text` and nothing else: what reading costs at least.
///
/// # Errors
/// The parser's words where the text is no YAML.
pub fn events_only(text: &str) -> Result<usize, String> {
    let mut count = 0;
    for event in Parser::new_from_str(text) {
        event.map_err(|error| error.to_string())?;
        count += 1;
    }
    Ok(count)
}

/// Reads where the values of `text` stand. What could be read is returned beside the faults; after a fatal one it is
/// incomplete.
#[must_use]
pub fn read(text: &str) -> (Tree, Vec<Fault>) {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let step = match event {
            Ok((event, span)) => builder.take(&event, span.into()),
            Err(error) => {
                let at = Stretch { start: (*error.marker()).into(), end: (*error.marker()).into() };
                let inside = builder.open.last().map(|open| builder.tree.at(open.node));
                let mut fault = Fault::fatal(at, format!("this is no YAML: {}", error.info()));
                fault.other =
                    inside.filter(|it| it.start.line != at.start.line).map(|it| (it, "inside what begins here"));
                Err(fault)
            }
        };
        if let Err(fault) = step {
            builder.faults.push(fault);
            break;
        }
    }
    (builder.tree, builder.faults)
}

impl Fault {
    fn new(at: Stretch, words: impl Into<String>) -> Self {
        Self { at, words: words.into(), help: None, other: None, fatal: false }
    }

    fn fatal(at: Stretch, words: impl Into<String>) -> Self {
        Self { fatal: true, ..Self::new(at, words) }
    }
}

/// A container that is being read.
struct Open {
    node: NodeId,
    children: Vec<NodeId>,
    map: bool,
}

#[derive(Default)]
struct Builder {
    tree: Tree,
    faults: Vec<Fault>,
    open: Vec<Open>,
    /// Spare child lists.
    spare: Vec<Vec<NodeId>>,
    /// By the parser's anchor number.
    anchors: Vec<Option<NodeId>>,
    aliases: usize,
    documents: usize,
}

impl Builder {
    fn take(&mut self, event: &Event<'_>, at: Stretch) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Fault::fatal(at, "a second document begins here; a file holds one"));
                }
            }
            Event::Alias(anchor) => self.alias(*anchor, at)?,
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), at);
                self.scalar(text, *style, *anchor, at)?;
            }
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), at);
                self.begin(matches!(event, Event::MappingStart(..)), *anchor, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(at),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn refuse_tag(&mut self, tagged: bool, at: Stretch) {
        if tagged {
            let help = "write the value without `!…`; a secret is given by `env_from`".to_owned();
            self.faults.push(Fault { help: Some(help), ..Fault::new(at, "tags (`!…`) are not used here") });
        }
    }

    fn alias(&mut self, anchor: usize, at: Stretch) -> Result<(), Fault> {
        self.aliases += 1;
        if self.aliases > MAX_ALIASES {
            return Err(Fault::fatal(at, format!("more than {MAX_ALIASES} aliases in a file")));
        }
        let target = self.anchors.get(anchor).copied().flatten();
        let Some(target) = target.filter(|target| self.open.iter().all(|open| open.node != *target)) else {
            return Err(Fault::fatal(at, "this alias stands for what it is part of"));
        };
        self.add(Kind::Alias { target }, 0, at)?;
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, anchor: usize, at: Stretch) -> Result<(), Fault> {
        let from = self.tree.text.len();
        self.tree.text.push_str(text);
        let plain = style == ScalarStyle::Plain;
        let range = (from as u32, self.tree.text.len() as u32);
        let is_key = self.awaits_key();
        self.add(Kind::Scalar { text: range }, anchor, at)?;
        if is_key && plain && !reads_as_text(text) {
            let help = format!("quote it: \"{text}\"");
            self.faults.push(Fault { help: Some(help), ..Fault::new(at, "a key must be text") });
        } else if plain && is_endless(text) {
            self.faults.push(Fault::new(at, "an infinite or undefined number is no value here"));
        }
        self.tree.merges |= is_key && plain && text == "<<";
        Ok(())
    }

    fn begin(&mut self, map: bool, anchor: usize, at: Stretch) -> Result<(), Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Fault::fatal(at, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if self.awaits_key() {
            self.faults.push(Fault { fatal: true, ..Fault::new(at, "a key must be text, not a map or a list") });
        }
        let range = (0, 0);
        let node = self.add(if map { Kind::Map { range } } else { Kind::List { range } }, anchor, at)?;
        let children = self.spare.pop().unwrap_or_default();
        self.open.push(Open { node, children, map });
        Ok(())
    }

    fn end(&mut self, at: Stretch) {
        let Some(Open { node, mut children, map }) = self.open.pop() else { return };
        if map {
            self.sort(&mut children);
        }
        let from = self.tree.links.len() as u32;
        self.tree.links.append(&mut children);
        let range = (from, self.tree.links.len() as u32);
        self.spare.push(children);
        let node = &mut self.tree.nodes[node as usize];
        node.kind = if map { Kind::Map { range } } else { Kind::List { range } };
        node.at.end = at.end;
    }

    /// Sorts a map's pairs by key, and finds duplicates.
    fn sort(&mut self, children: &mut Vec<NodeId>) {
        let tree = &self.tree;
        let key = |pair: &(NodeId, NodeId)| tree.scalar(pair.0).unwrap_or_default();
        let mut pairs: Vec<_> = children.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        pairs.sort_by(|a, b| key(a).cmp(key(b)));
        for twins in pairs.windows(2) {
            if key(&twins[0]) == key(&twins[1]) {
                let name = key(&twins[0]);
                let mut fault = Fault::new(tree.at(twins[1].0), format!("key `{name}` is here twice"));
                fault.other = Some((tree.at(twins[0].0), "first here"));
                self.faults.push(fault);
            }
        }
        children.clear();
        children.extend(pairs.iter().flat_map(|pair| [pair.0, pair.1]));
    }

    fn awaits_key(&self) -> bool {
        self.open.last().is_some_and(|open| open.map && open.children.len().is_multiple_of(2))
    }

    fn add(&mut self, kind: Kind, anchor: usize, at: Stretch) -> Result<NodeId, Fault> {
        if self.tree.nodes.len() >= MAX_NODES {
            return Err(Fault::fatal(at, format!("more than {MAX_NODES} values in a file")));
        }
        // At most MAX_NODES.
        let id = self.tree.nodes.len() as NodeId;
        self.tree.nodes.push(Node { at, kind });
        if anchor > 0 {
            self.anchors.resize(self.anchors.len().max(anchor + 1), None);
            self.anchors[anchor] = Some(id);
        }
        match self.open.last_mut() {
            Some(open) => open.children.push(id),
            None => self.tree.root = Some(id),
        }
        Ok(id)
    }
}
