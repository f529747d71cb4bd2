//! The agents: installed, of which version, and what keeps them from working.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::agents::catalogue::builtin;
use crate::agents::kind::{Kind, Login, Place};
use crate::agents::readiness::{self, Standing};
use crate::cli::context::Context;
use crate::cli::installed;
use crate::config::desired::{Desired, Session};
use crate::host::disk::Disk;
use crate::host::real::{Machine, versions};
use crate::spec::name::Name;

use super::finding::{Finding, Level};

const AREA: &str = "agents";
/// How long a program may take to say its version.
const LIMIT: Duration = Duration::from_secs(5);
/// Programs asked at once.
const AT_ONCE: usize = 2;
/// The largest of an agent's own files that is read, in bytes. Claude's keeps a history of every directory.
const MAX_FILE: u64 = 16 << 20;

/// One kind on this machine.
struct Agent<'a> {
    kind: &'a Kind,
    /// The sessions of the fleet that use it.
    sessions: Vec<&'a Session>,
    /// Its program's name and file.
    program: Option<(String, PathBuf)>,
}

/// Every kind, those of the fleet first.
pub fn all(context: &Context, host: &Machine, desired: &Desired) -> Vec<Finding> {
    let kinds: BTreeMap<&Name, &Kind> = builtin().iter().chain(&desired.kinds).collect();
    let known = kinds.into_values().filter(|kind| !kind.executables.is_empty());
    let mut agents: Vec<Agent<'_>> = known
        .map(|kind| Agent {
            kind,
            sessions: desired.sessions.values().filter(|session| session.kind == kind.name).collect(),
            program: installed::program(context, kind),
        })
        .collect();
    agents.sort_by_key(|agent| (agent.sessions.is_empty(), agent.program.is_none()));
    let versions = versions(context, &agents);
    let mut findings = Vec::new();
    let mut absent = Vec::new();
    for (agent, version) in agents.iter().zip(versions) {
        let used = !agent.sessions.is_empty();
        match (&agent.program, version) {
            (Some(program), Some(version)) => {
                findings.push(installed_as(agent.kind, program, &version));
                findings.extend(needs(context, host, agent, used));
            }
            _ if used => findings.extend(missing(context, agent)),
            _ => absent.push(agent.kind.name.as_str()),
        }
    }
    if !absent.is_empty() {
        findings.push(Finding::ok(AREA, format!("not installed: {}", absent.join(", "))));
    }
    findings
}

/// What each program says. Some take seconds to start: a few at once, and not so many that they slow each other down.
fn versions(context: &Context, agents: &[Agent<'_>]) -> Vec<Option<Result<String, String>>> {
    let path = OsStr::new(context.var("PATH").unwrap_or_default());
    let ask = |agent: &Agent<'_>| Some(versions::printed(&agent.program.as_ref()?.1, path, LIMIT));
    let mut said = Vec::new();
    for few in agents.chunks(AT_ONCE) {
        said.extend(std::thread::scope(|scope| {
            let asked: Vec<_> = few.iter().map(|agent| scope.spawn(|| ask(agent))).collect();
            let lost = || Some(Err("it could not be asked".to_owned()));
            asked.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect::<Vec<_>>()
        }));
    }
    said
}

fn installed_as(kind: &Kind, (name, file): &(String, PathBuf), said: &Result<String, String>) -> Finding {
    let at = format!("{} is {name} at {}", kind.name, file.display());
    let text = match said {
        Ok(text) => text,
        Err(why) => {
            let todo = format!("try `{name} --version` in a terminal");
            return Finding::new(AREA, Level::Warning, format!("{at}, and did not say its version: {why}"), todo);
        }
    };
    let Some(version) = readiness::version_in(text) else {
        let first = text.lines().next().unwrap_or_default();
        let words = format!("{at}, of an unknown version (it says {first:?})");
        return Finding::new(AREA, Level::Warning, words, "is it the right program?");
    };
    let verified = kind.verified.as_ref().map_or("", |verified| verified.version.as_str());
    let (level, standing, todo) = match readiness::standing(kind.verified.as_ref(), version) {
        Standing::Verified => return Finding::ok(AREA, format!("{at}, version {version}, as verified")),
        Standing::Older => (
            Level::Warning,
            format!("older than {verified}, on which it was verified"),
            "upgrade it; what farhelm passes to it may not exist there",
        ),
        Standing::Newer => (Level::Note, format!("newer than {verified}, on which it was verified"), ""),
        Standing::Unknown => (
            Level::Note,
            "which nobody could verify".to_owned(),
            "try it with one session first; `farhelm explain kind` says what is not known",
        ),
    };
    Finding::new(AREA, level, format!("{at}, version {version}, {standing}"), todo)
}

/// A kind of the fleet whose program is not there; none where its sessions start another program, a wrapper.
fn missing(context: &Context, agent: &Agent<'_>) -> Option<Finding> {
    let kind = agent.kind;
    let words: BTreeSet<&str> = agent.sessions.iter().filter_map(|it| Some(it.invocation.first()?.as_str())).collect();
    let lacking: Vec<&str> = words.into_iter().filter(|word| installed::find(context, word).is_none()).collect();
    if lacking.is_empty() {
        return None;
    }
    let names: Vec<&str> = agent.sessions.iter().map(|session| session.name.as_str()).collect();
    let other = kind.not_executables.iter().find(|(name, _)| installed::find(context, name).is_some());
    let other = other.map(|(name, what)| format!(" (`{name}` is there, and is {what})")).unwrap_or_default();
    let words =
        format!("{}: `{}` is not in PATH{other}; needed by {}", kind.name, lacking.join("`, `"), names.join(", "));
    let todo = format!("install {}, or make the login shell's PATH find it", kind.about);
    Some(Finding::new(AREA, Level::Problem, words, todo))
}

/// What keeps an installed agent from working.
fn needs(context: &Context, host: &Machine, agent: &Agent<'_>, used: bool) -> Vec<Finding> {
    let (kind, setup) = (agent.kind, &agent.kind.setup);
    let warn = |words: String, todo: String| Finding::new(AREA, Level::Warning, words, todo);
    let mut findings = Vec::new();
    if let Some(needed) = &setup.node
        && let Some(node) = node(context)
        && readiness::compare(&node, needed).is_lt()
    {
        let words = format!("{} needs Node.js {needed}, and `node` in PATH is {node}", kind.name);
        findings.push(warn(words, format!("install Node.js {needed} or newer")));
    }
    if let Some(login) = &setup.login
        && !logged_in(context, login)
    {
        let words = format!("{}: no sign of a login or key", kind.name);
        findings.push(warn(words, login.how.clone()));
    }
    for setting in &setup.settings {
        let file = setting.file.resolve(context.env(), &context.home());
        if !readiness::holds(setting, document(host, &file).as_ref()) {
            let words = format!("{}: {}", kind.name, setting.why);
            let name = setting.pointer.trim_start_matches('/').replace('/', ".");
            let todo = format!("set `{name}` to {} in {}", setting.equals, file.display());
            findings.push(warn(words, todo));
        }
    }
    if let (Some(store), true) = (&setup.trust_store, used) {
        let file = store.file.resolve(context.env(), &context.home());
        let document = document(host, &file);
        let dirs: BTreeSet<PathBuf> = agent.sessions.iter().map(|session| real(host, &session.dir.path)).collect();
        let distrusted = dirs.iter().filter(|dir| !readiness::trusts(store, document.as_ref(), dir));
        findings.extend(distrusted.map(|dir| {
            let words = format!("{}: {} is not trusted; it will ask, and wait", kind.name, dir.display());
            let program = kind.executables.first().map_or("", String::as_str);
            warn(words, format!("start `{program}` there once in a terminal, and trust it"))
        }));
    }
    findings.extend(
        setup
            .notes
            .iter()
            .filter(|_| used)
            .map(|note| Finding::new(AREA, Level::Note, format!("{}: {note}", kind.name), "")),
    );
    findings
}

fn real(host: &Machine, dir: &Path) -> PathBuf {
    host.resolve_dir(dir).unwrap_or_else(|_| dir.to_owned())
}

fn logged_in(context: &Context, login: &Login) -> bool {
    let there = |place: &Place| place.resolve(context.env(), &context.home()).exists();
    // Without any sign to look for there is nothing to complain about.
    (login.env.is_empty() && login.files.is_empty())
        || login.env.iter().any(|name| context.var(name).is_some())
        || login.files.iter().any(there)
}

fn document(host: &Machine, file: &Path) -> Option<Value> {
    serde_json::from_slice(&host.read(file, MAX_FILE).ok()?).ok()
}

/// The version of the first `node` in `PATH`.
fn node(context: &Context) -> Option<String> {
    let path = OsStr::new(context.var("PATH")?);
    let said = versions::printed(&installed::find(context, "node")?, path, LIMIT).ok()?;
    readiness::version_in(&said).map(str::to_owned)
}
