//! Which files make a fleet: the paths asked for, directories, standard input, and includes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::draft::{Draft, FileId, Site};
use super::request::{FILE, LoadRequest, default_files};
use super::source::{self, File, Files};
use super::tree::Step;

/// The most files of a fleet.
const MAX_FILES: usize = 1_000;

/// The files of a fleet and their values.
#[derive(Default)]
pub struct Gathered {
    /// The files, in the order they were read.
    pub files: Files,
    /// The values of those that could be parsed.
    pub documents: Vec<(FileId, Value)>,
    /// What is wrong so far.
    pub drafts: Vec<Draft>,
    /// What was looked for, there or not: files, and directories whose files count.
    pub trail: BTreeSet<PathBuf>,
}

/// Reads all files of `request`. `stdin` is read where `-` is asked for.
pub fn gather(request: &LoadRequest, stdin: &mut dyn std::io::Read) -> Gathered {
    let mut gather = Gather { request, out: Gathered::default(), seen: BTreeMap::new(), open: Vec::new(), stdin };
    if request.paths.is_empty() {
        gather.default_file();
    }
    for path in &request.paths {
        gather.asked(path);
    }
    gather.out
}

struct Gather<'a> {
    request: &'a LoadRequest,
    out: Gathered,
    /// By real path.
    seen: BTreeMap<PathBuf, FileId>,
    /// Files whose includes are being read, by real path.
    open: Vec<PathBuf>,
    stdin: &'a mut dyn std::io::Read,
}

impl Gather<'_> {
    fn default_file(&mut self) {
        let [here, home] = default_files(&self.request.cwd, &self.request.config_home);
        self.out.trail.extend([here.clone(), home.clone()]);
        if here.exists() {
            self.file(&here, FILE.to_owned(), None);
        } else if home.exists() {
            self.file(&home, home.display().to_string(), None);
        } else {
            let message = format!("no fleet file: neither ./farhelm.yaml nor {} is there", home.display());
            self.out.drafts.push(Draft::plain(message).help("name one, or write one with `farhelm init`".to_owned()));
        }
    }

    fn asked(&mut self, path: &Path) {
        if path == Path::new("-") {
            let dir = self.request.cwd.clone();
            let text = source::read_from(&mut *self.stdin);
            return self.add(text, "<stdin>".to_owned(), PathBuf::from("-"), dir, None);
        }
        let full = self.request.cwd.join(path);
        self.out.trail.insert(full.clone());
        if !full.is_dir() {
            return self.file(&full, path.display().to_string(), None);
        }
        match matches(&full, "*.yaml") {
            Ok(names) if names.is_empty() => {
                self.out.drafts.push(Draft::plain(format!("directory {} holds no *.yaml file", path.display())));
            }
            Ok(names) => names.iter().for_each(|name| self.file(name, shown_in(path, name), None)),
            Err(words) => self.out.drafts.push(Draft::plain(words)),
        }
    }

    /// Reads one file, once. `from` is the place that includes it.
    fn file(&mut self, path: &Path, display: String, from: Option<Site>) {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.out.trail.extend([path.to_owned(), real.clone()]);
        if self.open.contains(&real) {
            let names: Vec<_> = self.open.iter().chain([&real]).map(|path| path.display().to_string()).collect();
            let message = format!("files include each other in a circle: {}", names.join(" -> "));
            self.out
                .drafts
                .push(from.map_or_else(|| Draft::plain(&message), |at| Draft::error(at, "include", &message)));
            return;
        }
        if self.seen.contains_key(&real) {
            return;
        }
        let dir = real.parent().map_or_else(|| self.request.cwd.clone(), Path::to_owned);
        let text = source::read_text(&real);
        self.add(text, display, real, dir, from);
    }

    fn add(&mut self, text: Result<String, String>, display: String, real: PathBuf, dir: PathBuf, from: Option<Site>) {
        let text = match text {
            Ok(_) if self.out.files.len() >= MAX_FILES => Err(format!("is one file too many (at most {MAX_FILES})")),
            other => other,
        };
        let text = match text {
            Ok(text) => text,
            Err(words) => {
                let message = format!("{display} {words}");
                self.out
                    .drafts
                    .push(from.map_or_else(|| Draft::plain(&message), |at| Draft::error(at, "include", &message)));
                return;
            }
        };
        let id = self.out.files.len();
        self.seen.insert(real.clone(), id);
        let tree = super::tree::Tree::default();
        self.out.files.push(File { display, real: real.clone(), dir, text, tree, whole: false });
        let Some(value) = source::parse(id, &mut self.out.files[id], &mut self.out.drafts) else {
            self.refuse_empty(id);
            return;
        };
        let includes = texts(value.get("include"));
        self.out.documents.push((id, value));
        self.open.push(real);
        for (index, pattern) in includes.iter().enumerate() {
            self.include(id, index, pattern);
        }
        self.open.pop();
    }

    fn refuse_empty(&mut self, id: FileId) {
        let file = &self.out.files[id];
        if file.whole && file.tree.root().is_none() {
            let site = Site { file: id, at: None };
            self.out.drafts.push(Draft::error(site, "", "the file is empty").expected("`farhelm: v1` first"));
        }
    }

    fn include(&mut self, id: FileId, index: usize, pattern: &str) {
        let file = &self.out.files[id];
        let path = [Step::from("include"), Step::Item(index)];
        let site = file.tree.root().map(|root| file.site(id, file.tree.find(root, &path)));
        let error = |message: String| match site {
            Some(site) => Draft::error(site, format!("include[{index}]"), message),
            None => Draft::plain(message),
        };
        if pattern.contains("${") {
            return self.out.drafts.push(error("an include cannot use variables".to_owned()));
        }
        let parent = Path::new(&file.display).parent().map(Path::to_owned).unwrap_or_default();
        let dir = file.dir.clone();
        let looked_for = dir.join(pattern);
        let listed = pattern.contains(['*', '?', '[', '{']);
        self.out.trail.extend(if listed { looked_for.parent().map(Path::to_owned) } else { Some(looked_for) });
        match matches(&dir, pattern) {
            Ok(found) if found.is_empty() => self.out.drafts.push(error(format!("`{pattern}` matches no file"))),
            Ok(found) => found.iter().for_each(|found| {
                let display = found.strip_prefix(&dir).map_or_else(|_| found.clone(), |inner| parent.join(inner));
                self.file(found, display.display().to_string(), site);
            }),
            Err(words) => self.out.drafts.push(error(words)),
        }
    }
}

/// A text or a list of texts; anything else is the schema's to report.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => items.iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect(),
        _ => Vec::new(),
    }
}

fn shown_in(dir: &Path, file: &Path) -> String {
    file.file_name().map_or_else(|| dir.to_owned(), |name| dir.join(name)).display().to_string()
}

/// The files below `dir` that `pattern` names, sorted. `*`, `?` and `[…]` stand for parts of one name, never for a
/// leading dot.
fn matches(dir: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![if pattern.starts_with('/') { PathBuf::from("/") } else { dir.to_owned() }];
    for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if !part.contains(['*', '?', '[', '{']) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        if part.contains("**") {
            return Err(format!("`{pattern}`: `**` is not supported; name each directory"));
        }
        let glob = globset::Glob::new(part).map_err(|error| format!("`{pattern}` is no pattern: {}", error.kind()))?;
        let glob = glob.compile_matcher();
        found = found.iter().map(|path| listing(path, &glob)).collect::<Result<Vec<_>, _>>()?.concat();
    }
    found.retain(|path| path.is_file());
    found.sort();
    Ok(found)
}

fn listing(dir: &Path, glob: &globset::GlobMatcher) -> Result<Vec<PathBuf>, String> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot list {}: {error}", dir.display())),
    };
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
    let wanted = names.filter(|name| !name.to_string_lossy().starts_with('.') && glob.is_match(name));
    Ok(wanted.map(|name| dir.join(name)).collect())
}
