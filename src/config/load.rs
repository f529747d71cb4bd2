//! The whole way from paths to a resolved fleet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::assemble::{Parts, assemble};
use super::context::Context;
use super::desired::Desired;
use super::draft::{Draft, Site};
use super::expand::expand;
use super::gather::gather;
use super::intake::intake;
use super::layers::{Entry, Layer, Layers};
use super::merge::Over;
use super::policy;
use super::problem::Problems;
use super::profile::{Base, Kinds, Profiles};
pub use super::request::{FILE, LoadRequest, default_files};
use super::resolve::Resolver;
use super::source::{self, File, Files};
use super::tree::Step;
use crate::agents::kind::Kind;
use crate::spec::fleet::Moved;
use crate::spec::name::Name;
use crate::spec::settings::Settings;
use crate::spec::words::Text;

/// A fleet, resolved.
#[derive(Debug)]
pub struct Loaded {
    /// What is wanted.
    pub desired: Desired,
    /// What is legal and surely not meant.
    pub warnings: Problems,
    /// Where every value came from.
    pub origins: Origins,
}

/// Where the values of a fleet came from.
#[derive(Debug, Default)]
pub struct Origins {
    pub(super) files: Files,
    pub(super) sessions: BTreeMap<Name, Layers>,
    pub(super) policy: Layers,
}

/// Loads and resolves a fleet.
///
/// # Errors
/// Everything that is wrong in all of its files, warnings included.
pub fn load(request: &LoadRequest, kinds: &BTreeMap<Name, Kind>) -> Result<Loaded, Problems> {
    load_from(request, kinds, &mut std::io::stdin().lock())
}

/// [`load`], with something else for standard input.
///
/// # Errors
/// As [`load`].
pub fn load_from(
    request: &LoadRequest,
    kinds: &BTreeMap<Name, Kind>,
    stdin: &mut dyn std::io::Read,
) -> Result<Loaded, Problems> {
    trace(request, kinds, stdin).0
}

/// [`load_from`], and all that it looked for, there or not: files, and directories whose `*.yaml` count.
pub fn trace(
    request: &LoadRequest,
    kinds: &BTreeMap<Name, Kind>,
    stdin: &mut dyn std::io::Read,
) -> (Result<Loaded, Problems>, BTreeSet<PathBuf>) {
    let mut gathered = gather(request, stdin);
    gathered.trail.extend(request.var_files.iter().map(|path| request.cwd.join(path)));
    let given = given(request, &mut gathered.files, &mut gathered.drafts);
    let mut parts = assemble(gathered, request, &given);
    let (desired, origins) = resolve(&mut parts, kinds);
    let masks = parts.context.masks();
    let Context { files, drafts, trail, .. } = parts.context;
    let drafts = drafts.into_inner();
    let failed = drafts.iter().any(Draft::is_error);
    let problems = Problems::finish(drafts, &files, &masks);
    let loaded = match desired {
        Some(desired) if !failed => Ok(Loaded { desired, warnings: problems, origins: Origins { files, ..origins } }),
        _ => Err(problems),
    };
    (loaded, trail.into_inner())
}

/// The operator's variables.
fn given(request: &LoadRequest, files: &mut Files, drafts: &mut Vec<Draft>) -> BTreeMap<String, String> {
    let mut given = BTreeMap::new();
    for path in &request.var_files {
        let full = request.cwd.join(path);
        let text = match source::read_text(&full) {
            Ok(text) => text,
            Err(words) => {
                drafts.push(Draft::plain(format!("variables file {} {words}", path.display())));
                continue;
            }
        };
        let id = files.len();
        let (display, dir) = (path.display().to_string(), PathBuf::new());
        files.push(File { display, real: PathBuf::new(), dir, text, tree: super::tree::Tree::default(), whole: false });
        let value = source::parse(id, &mut files[id], drafts);
        let entries = match value {
            Some(Value::Object(entries)) => entries,
            None => continue,
            Some(_) => {
                let site = Site { file: id, at: None };
                drafts.push(Draft::error(site, "", "a variables file is a map of names and texts"));
                continue;
            }
        };
        for (name, value) in entries {
            match serde_json::from_value::<Text>(value) {
                Ok(text) => drop(given.insert(name, text.0)),
                Err(_) => drafts.push(wrong_var(files, id, &name)),
            }
        }
    }
    given.extend(request.vars.iter().cloned());
    given
}

fn wrong_var(files: &Files, id: usize, name: &str) -> Draft {
    let layer = files[id].tree.root().map(|node| Layer { file: id, node, key: None, path: String::new() });
    let site = layer.map_or(Site { file: id, at: None }, |layer| layer.site(files, &[name.into()]));
    Draft::error(site, name, "this is no variable's value")
        .expected("text, a whole number, true or false (quote anything else)")
}

fn resolve(parts: &mut Parts<'_>, known: &BTreeMap<Name, Kind>) -> (Option<Desired>, Origins) {
    let sessions = std::mem::take(&mut parts.sessions);
    let context = &parts.context;
    let kinds = Kinds { own: own_kinds(context, &parts.kinds, known), known };
    let (defaults, default_command) = defaults(context, &parts.defaults);
    let profiles = Profiles::resolve(context, &parts.profiles, defaults, &kinds);
    let mut resolver = Resolver { context, kinds: &kinds, profiles, default_command };
    let (policy, spawn) = policy::read(context, &parts.policy);
    let mut desired = Desired {
        fleet: fleet_name(parts),
        moved_from: parts.moved.as_ref().and_then(|entry| context.read::<Moved>(entry)).map(|moved| moved.from),
        sources: sources(&context.files),
        policy,
        ..Desired::default()
    };
    let mut origins =
        Origins { policy: Layers { own: levels(&parts.policy), ..Layers::default() }, ..Origins::default() };
    for (name, claim) in expand(context, sessions) {
        if let Some((session, layers)) = resolver.session(&name, claim) {
            desired.sessions.insert(name.clone(), session);
            origins.sessions.insert(name, layers);
        }
    }
    desired.spawn = spawn.resolve(&mut resolver, &parts.policy);
    for session in desired.sessions.values().chain(desired.spawn.templates.values()) {
        if !desired.kinds.contains_key(&session.kind)
            && let Some(kind) = kinds.get(session.kind.as_str())
        {
            desired.kinds.insert(session.kind.clone(), kind.clone());
        }
    }
    moves(context, &desired, &origins);
    desired.from_environment = context.used.borrow().iter().cloned().collect();
    (desired.fleet.is_some().then_some(desired), origins)
}

fn levels(entries: &[Entry]) -> Vec<Layer> {
    entries.iter().map(|entry| entry.layer.clone()).collect()
}

fn sources(files: &Files) -> Vec<PathBuf> {
    let mut sources: Vec<PathBuf> =
        files.iter().map(|file| file.real.clone()).filter(|real| real != Path::new("")).collect();
    sources.sort();
    sources.dedup();
    sources
}

fn fleet_name(parts: &Parts<'_>) -> Option<Name> {
    let context = &parts.context;
    match &parts.fleet {
        Some(entry) => context.read::<Name>(entry),
        None => {
            let nothing_read = context.files.iter().all(|file| file.tree.root().is_none());
            if !nothing_read && !context.drafts.borrow().iter().any(Draft::is_error) {
                let site = Site { file: 0, at: None };
                let draft = Draft::error(site, "fleet", "no file says `fleet:`, the fleet's name");
                context.report(draft.help("add `fleet: NAME` below `farhelm: v1`".to_owned()));
            }
            None
        }
    }
}

/// The kinds that the files add, or complete. The key names the kind; what an entry leaves out of a known kind stays.
fn own_kinds(
    context: &Context<'_>,
    entries: &BTreeMap<String, Entry>,
    known: &BTreeMap<Name, Kind>,
) -> BTreeMap<Name, Kind> {
    let mut kinds = BTreeMap::new();
    for (name, entry) in entries {
        let mut said = entry.value.clone();
        if entry.broken || !context.fill(&entry.layer, &context.scope(None), &mut said) {
            continue;
        }
        // Plain data with text keys: writing it as JSON cannot fail.
        let base = known.get(name.as_str()).and_then(|kind| serde_json::to_value(kind).ok());
        let mut value = base.unwrap_or_else(|| json!({"name": name}));
        lay_over(&mut value, said);
        let Some(kind) = context.parse::<Kind>(&entry.layer, &value) else { continue };
        let wrong = |field: &str, message: String| {
            let steps: Vec<Step> = field.split('.').map(Step::from).collect();
            let site = entry.layer.site(&context.files, &steps);
            context.report(Draft::error(site, format!("kinds.{name}.{field}"), message));
        };
        if kind.name.as_str() != name {
            wrong("name", format!("the kind's name is its key, `{name}`"));
        }
        if let Err(fault) = kind.check() {
            wrong(fault.field(), fault.to_string());
        }
        kinds.insert(kind.name.clone(), kind);
    }
    kinds
}

/// Lays a value over another: maps key by key, anything else as a whole.
fn lay_over(below: &mut Value, top: Value) {
    match (below, top) {
        (Value::Object(below), Value::Object(top)) => {
            for (key, value) in top {
                lay_over(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, top) => *below = top,
    }
}

/// The settings below every session, and, apart, what they say of the command.
fn defaults(context: &Context<'_>, entries: &[Entry]) -> (Base, Settings) {
    let mut all = Settings::default();
    for entry in entries {
        let settings = context.read::<Settings>(entry).and_then(|settings| intake(context, &entry.layer, settings));
        all = all.over(&settings.unwrap_or_default());
    }
    let command = Settings {
        profile: all.profile.take(),
        invocation: all.invocation.take(),
        kind: all.kind.take(),
        resume: all.resume.take(),
        ..Settings::default()
    };
    let damaged = entries.iter().any(|entry| entry.damaged);
    (Base { settings: all, layers: Arc::new(levels(entries)), built_in: None, damaged }, command)
}

/// A former name belongs to nobody, and to one session only.
fn moves(context: &Context<'_>, desired: &Desired, origins: &Origins) {
    let mut seen: BTreeSet<&Name> = BTreeSet::new();
    for (name, session) in &desired.sessions {
        let Some(from) = &session.moved_from else { continue };
        let message = if desired.sessions.contains_key(from) {
            format!("`{name}` cannot have been `{from}`: a session of that name is still here")
        } else if !seen.insert(from) {
            format!("two sessions say they have been `{from}`")
        } else {
            continue;
        };
        context.error(&origins.sessions[name], &["moved".into(), "from".into()], message, None);
    }
}
