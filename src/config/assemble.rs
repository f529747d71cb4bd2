//! Several files to one fleet: each section's entries by name, every name claimed once, variables known.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::check;
use super::context::Context;
use super::draft::{Draft, FileId, Site};
use super::gather::Gathered;
use super::layers::{Entry, Layer};
use super::request::LoadRequest;
use super::source::{Files, path_text};
use super::template::{self, Unfilled};
use super::tree::Step;
use crate::spec::words::Text;

/// The parts of a fleet, by section and name.
pub struct Parts<'a> {
    /// What all parts share.
    pub context: Context<'a>,
    /// `fleet`.
    pub fleet: Option<Entry>,
    /// Top-level `moved`.
    pub moved: Option<Entry>,
    /// `defaults`, one per file that has it.
    pub defaults: Vec<Entry>,
    /// `policy`, one per file that has it.
    pub policy: Vec<Entry>,
    /// `profiles`.
    pub profiles: BTreeMap<String, Entry>,
    /// `kinds`.
    pub kinds: BTreeMap<String, Entry>,
    /// `sessions`, keys unfilled.
    pub sessions: Vec<(String, Entry)>,
}

/// Checks every document against the schema and sorts its parts. `given` are the operator's variables.
pub fn assemble<'a>(gathered: Gathered, request: &'a LoadRequest, given: &BTreeMap<String, String>) -> Parts<'a> {
    let Gathered { files, documents, drafts, trail } = gathered;
    let mut parts = Parts {
        context: Context {
            request,
            files,
            vars: BTreeMap::new(),
            used: RefCell::default(),
            drafts: RefCell::new(drafts),
            trail: RefCell::new(trail),
        },
        fleet: None,
        moved: None,
        defaults: Vec::new(),
        policy: Vec::new(),
        profiles: BTreeMap::new(),
        kinds: BTreeMap::new(),
        sessions: Vec::new(),
    };
    let mut vars: BTreeMap<String, Entry> = BTreeMap::new();
    let mut sessions: BTreeMap<String, Entry> = BTreeMap::new();
    for (id, mut value) in documents {
        let broken = parts.check(id, &mut value);
        parts.first_key(id);
        let Value::Object(mut root) = value else { continue };
        let mut named = |parts: &mut Parts<'_>, section: &str, into: &mut BTreeMap<String, Entry>| {
            for (name, entry) in parts.named(id, root.remove(section), section, &broken) {
                parts.claim(into, name, entry, section);
            }
        };
        named(&mut parts, "vars", &mut vars);
        named(&mut parts, "sessions", &mut sessions);
        for section in ["profiles", "kinds"] {
            let mut entries = std::mem::take(if section == "kinds" { &mut parts.kinds } else { &mut parts.profiles });
            named(&mut parts, section, &mut entries);
            *(if section == "kinds" { &mut parts.kinds } else { &mut parts.profiles }) = entries;
        }
        parts.single(id, &mut root, &broken);
    }
    parts.sessions = sessions.into_iter().collect();
    parts.fill_vars(&vars, given);
    parts.claim_leaves();
    parts
}

/// What the schema refuses: section and name (or, in `defaults` and `policy`, field), and whether the whole of it.
type Broken = BTreeMap<(String, String), bool>;

impl Parts<'_> {
    /// Reports what the schema refuses in a file, and takes it out, so that the rest can be looked at.
    fn check(&mut self, id: FileId, value: &mut Value) -> Broken {
        let file = &self.context.files[id];
        let Some(root) = file.tree.root() else { return Broken::new() };
        let layer = Layer { file: id, node: root, key: None, path: String::new() };
        let mut broken = Broken::new();
        for violation in check::violations(value) {
            let path = &violation.path;
            let site = if violation.at_key {
                layer.key_site(&self.context.files, path)
            } else {
                layer.site(&self.context.files, path)
            };
            let through =
                file.tree.find(root, path).through.map(|node| Site { file: id, at: Some(file.tree.at(node)) });
            let draft =
                Draft::error(site, path_text(path), violation.message).help(violation.help).and(through, "used here");
            self.context.report(match violation.expected {
                Some(words) => draft.expected(words),
                None => draft,
            });
            let whole = !take_out(value, path);
            let step =
                |index: usize| path.get(index).map(|step| path_text(std::slice::from_ref(step))).unwrap_or_default();
            *broken.entry((step(0), step(1))).or_default() |= whole;
        }
        broken
    }

    /// The format's version comes first, so that a reader knows what follows.
    fn first_key(&mut self, id: FileId) {
        let tree = &self.context.files[id].tree;
        let Some(root) = tree.root() else { return };
        let keys = || tree.entries(root).map(|(name, key, _)| (tree.at(key), name));
        let Some((at, _)) = keys().find(|(_, name)| *name == "farhelm") else { return };
        if let Some((first, name)) = keys().min()
            && name != "farhelm"
        {
            let site = |at| Site { file: id, at: Some(at) };
            let draft = Draft::error(site(at), "farhelm", "`farhelm` must be the first key of the file");
            self.context.report(draft.and(Some(site(first)), "comes before it"));
        }
    }

    fn entry(&self, id: FileId, path: &[Step], value: Value, broken: &Broken) -> Option<Entry> {
        let tree = &self.context.files[id].tree;
        let found = tree.find(tree.root()?, path);
        let text = path_text(path);
        let name = path.get(1).map(|step| path_text(std::slice::from_ref(step))).unwrap_or_default();
        let section = path_text(&path[..1]);
        let section_wide = |damage: bool| broken.iter().any(|((of, _), whole)| *of == section && (damage || *whole));
        let (broken, damaged) = match broken.get(&(section.clone(), name)) {
            _ if broken.is_empty() => (false, false),
            _ if path.len() == 1 => (section_wide(false), section_wide(true)),
            Some(whole) => (*whole, true),
            None => (broken.contains_key(&(section.clone(), String::new())), false),
        };
        Some(Entry { layer: Layer { file: id, node: found.node, key: found.key, path: text }, value, broken, damaged })
    }

    /// The entries of a section that maps names.
    fn named(&self, id: FileId, value: Option<Value>, section: &str, broken: &Broken) -> Vec<(String, Entry)> {
        let Some(Value::Object(entries)) = value else { return Vec::new() };
        let entry = |(name, value): (String, Value)| {
            let entry = self.entry(id, &[Step::from(section), Step::Key(name.clone())], value, broken)?;
            Some((name, entry))
        };
        entries.into_iter().filter_map(entry).collect()
    }

    fn claim(&mut self, into: &mut BTreeMap<String, Entry>, name: String, entry: Entry, section: &str) {
        match into.get(&name) {
            Some(first) => self.claimed_twice(&format!("{section}.{name}"), &first.layer, &entry.layer, &[]),
            None => drop(into.insert(name, entry)),
        }
    }

    fn claimed_twice(&mut self, what: &str, first: &Layer, second: &Layer, path: &[Step]) {
        let files = [&self.context.files[first.file].display, &self.context.files[second.file].display];
        let message = format!("`{what}` is claimed by two files: {} and {}", files[0], files[1]);
        let (one, two) = (first.own_key(&self.context.files, path), second.own_key(&self.context.files, path));
        self.context.report(Draft::error(two, what, message).and(Some(one), "first claimed here"));
    }

    /// Sections that are one value a fleet, or one a file.
    fn single(&mut self, id: FileId, root: &mut Map<String, Value>, broken: &Broken) {
        for section in ["defaults", "policy"] {
            let entry = root.remove(section).and_then(|value| self.entry(id, &[Step::from(section)], value, broken));
            if let Some(entry) = entry {
                if section == "policy" { &mut self.policy } else { &mut self.defaults }.push(entry);
            }
        }
        for section in ["fleet", "moved"] {
            let Some(value) = root.remove(section) else { continue };
            let Some(entry) = self.entry(id, &[Step::from(section)], value, broken) else { continue };
            match if section == "fleet" { &self.fleet } else { &self.moved } {
                None if section == "fleet" => self.fleet = Some(entry),
                None => self.moved = Some(entry),
                Some(first) if first.value == entry.value => {}
                Some(first) => {
                    let first = first.layer.clone();
                    self.claimed_twice(section, &first, &entry.layer, &[]);
                }
            }
        }
    }

    /// Settings of `defaults` and `policy` may be spread over files, each said once.
    fn claim_leaves(&mut self) {
        for entries in [self.defaults.clone(), self.policy.clone()] {
            let mut seen: BTreeMap<Vec<Step>, Layer> = BTreeMap::new();
            for entry in &entries {
                for path in leaves(&entry.value) {
                    match seen.get(&path) {
                        Some(first) if first.file != entry.layer.file => {
                            let what = format!("{}.{}", entry.layer.path, path_text(&path));
                            self.claimed_twice(&what, &first.clone(), &entry.layer, &path);
                        }
                        _ => drop(seen.insert(path, entry.layer.clone())),
                    }
                }
            }
        }
    }

    fn fill_vars(&mut self, raw: &BTreeMap<String, Entry>, given: &BTreeMap<String, String>) {
        let text = |value: &Value| serde_json::from_value::<Text>(value.clone()).ok().map(|text| text.0);
        let texts = raw.iter().filter_map(|(name, entry)| Some((name.clone(), text(&entry.value)?))).collect();
        let context = &mut self.context;
        let (vars, failed) = template::variables(&texts, given, &context.request.env, &context.used);
        context.vars = vars;
        // What the schema refuses counts as empty, so that nothing else is blamed for it.
        for name in raw.iter().filter(|(_, entry)| entry.broken).map(|(name, _)| name) {
            context.vars.entry(name.clone()).or_default();
        }
        for (name, Unfilled { message, help }) in failed {
            let layer = &raw[&name].layer;
            self.context.report(Draft::error(layer.site(&self.context.files, &[]), &layer.path, message).help(help));
        }
    }
}

impl Layer {
    /// The key that names what `path` leads to; of the empty path, this level's own.
    fn own_key(&self, files: &Files, path: &[Step]) -> Site {
        match (path, self.key) {
            ([], Some(key)) => Site { file: self.file, at: Some(files[self.file].tree.at(key)) },
            _ => self.key_site(files, path),
        }
    }
}

/// Removes the field that `path` is in; of a named entry, or of a section of its own. False where it is the whole.
fn take_out(value: &mut Value, path: &[Step]) -> bool {
    let single = matches!(path.first(), Some(Step::Key(key)) if matches!(key.as_str(), "defaults" | "policy"));
    let depth = if single { 2 } else { 3 };
    let is_kind = path.first() == Some(&Step::from("kinds"));
    let Some((field, owner)) = path.get(..depth).and_then(<[Step]>::split_last).filter(|_| !is_kind) else {
        return false;
    };
    let key = |step: &Step| path_text(std::slice::from_ref(step)).trim_matches(['[', ']']).to_owned();
    let owner = owner.iter().try_fold(value, |value, step| value.get_mut(key(step)));
    if let Some(Value::Object(fields)) = owner {
        fields.remove(&key(field));
    }
    true
}

/// Paths of everything that is no map.
fn leaves(value: &Value) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(map) => {
                open.extend(
                    map.iter().map(|(key, value)| ([path.as_slice(), &[Step::Key(key.clone())]].concat(), value)),
                );
            }
            _ => found.push(path),
        }
    }
    found.sort();
    found
}
