//! Random fleets, and random edits of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farhelm::agents::catalogue::builtin;
use farhelm::agents::kind::{ChoiceForm, ChoiceForms, ConversationForms, Kind, PromptForm};
use farhelm::config::desired::{
    BeforeLaunch, Choices, Desired, Dir, EnvValue, OnLost, Policy, Restart, RestartWhen, Session, Spawn, Tab,
    UpdateWhen,
};
use farhelm::host::sim::random::Random;
use farhelm::host::sim::{MISSING, PROGRAMS};
use farhelm::spec::name::Name;

/// The kind without conversations.
pub const GENERIC: &str = "generic";
/// The kind whose conversation ids are assigned at launch.
pub const SCRIBE: &str = "scribe";
/// The kinds whose agents say which conversation they have, as the catalogue has them.
pub const SPEAKERS: [&str; 2] = ["claude", "codex"];

/// Names sessions can have.
pub const NAMES: [&str; 8] = ["api", "web", "docs", "infra", "mail", "vault", "lab", "ops"];

/// Profiles that agents ask for, allowed or not.
pub const PROFILES: [&str; 3] = ["helper", "scout", "plain"];

/// Where the fleet files are.
pub const SOURCE: &str = "/home/u/fleet.yaml";

pub fn name(text: &str) -> Name {
    Name::new(text).expect("a name of this file is a name")
}

fn kind(name_text: &str) -> Kind {
    Kind {
        prompt: Some(PromptForm::Positional),
        choices: ChoiceForms { model: Some(ChoiceForm::args(["--model", "{value}"])), ..ChoiceForms::default() },
        ..Kind::bare(name(name_text))
    }
}

fn kinds() -> BTreeMap<Name, Kind> {
    let conversation = ConversationForms {
        resume: vec!["--resume".into(), "{conversation}".into()],
        assign: vec!["--session-id".into(), "{conversation}".into()],
        ..ConversationForms::default()
    };
    let scribe = Kind { conversation: Some(conversation), executables: programs_of(SCRIBE), ..kind(SCRIBE) };
    let speakers = SPEAKERS.map(speaker);
    [kind(GENERIC), scribe].into_iter().chain(speakers).map(|kind| (kind.name.clone(), kind)).collect()
}

/// A kind of the catalogue, with the programs of this world.
fn speaker(kind: &str) -> Kind {
    let known = &builtin()[kind];
    let process_names = vec![kind.to_owned(), format!("{kind}_*")];
    Kind { executables: programs_of(kind), process_names, ..known.clone() }
}

fn programs_of(kind: &str) -> Vec<String> {
    PROGRAMS.iter().chain([&MISSING]).map(|program| format!("{kind}_{program}")).collect()
}

/// The directory that belongs to a session name; a few share one.
fn dir(random: &mut Random, session: &str) -> Dir {
    let base = match random.below(20) {
        0 => "shared".to_owned(),
        1 => format!("{session}-2"),
        _ => session.to_owned(),
    };
    Dir { spelling: format!("~/{base}"), path: PathBuf::from(format!("/home/u/{base}")) }
}

/// Every directory a fleet can name.
pub fn dirs() -> Vec<PathBuf> {
    let of = |name: &&str| [format!("/home/u/{name}"), format!("/home/u/{name}-2")];
    let own = NAMES.iter().flat_map(of).map(PathBuf::from);
    own.chain([PathBuf::from("/home/u/shared")]).collect()
}

fn program(random: &mut Random) -> &'static str {
    if random.chance(30) { MISSING } else { random.pick(&PROGRAMS).expect("there are programs") }
}

fn invocation(random: &mut Random, kind: &Name) -> Vec<String> {
    let program = program(random);
    if kind.as_str() == GENERIC { vec![program.to_owned()] } else { vec![format!("{kind}_{program}")] }
}

/// Whether agents of a kind say which conversation they have.
pub fn speaks(kind: &Name) -> bool {
    SPEAKERS.contains(&kind.as_str())
}

/// Whether a command line starts an agent that says which conversation it has.
pub fn is_speaker(argv: &[String]) -> bool {
    argv.first().and_then(|word| word.split_once('_')).is_some_and(|(kind, _)| SPEAKERS.contains(&kind))
}

fn tab(random: &mut Random) -> Tab {
    let run = random.chance(700).then(|| vec![program(random).to_owned()]);
    Tab { run, dir: None, env: BTreeMap::new() }
}

fn session(random: &mut Random, text: &str) -> Session {
    let kind = name(match random.below(10) {
        0..=2 => GENERIC,
        3 | 4 => SCRIBE,
        5..=7 => SPEAKERS[0],
        _ => SPEAKERS[1],
    });
    let kind_speaks = speaks(&kind);
    let tabs = ["shell", "logs"].iter().filter(|_| random.chance(200)).map(|t| name(t)).collect::<Vec<_>>();
    Session {
        name: name(text),
        moved_from: None,
        parent: None,
        profile: None,
        invocation: invocation(random, &kind),
        kind,
        resume: None,
        dir: dir(random, text),
        choices: Choices::default(),
        hooks: random.chance(800),
        env: BTreeMap::new(),
        env_bundles: Vec::new(),
        prompt: random.chance(500).then(|| prompt(random, text)),
        running: random.chance(920),
        title: None,
        labels: BTreeMap::new(),
        priority: 0,
        restart: Restart { when: restart_when(random), ..Restart::default() },
        update: match random.below(10) {
            0 => UpdateWhen::Manual,
            1 | 2 if kind_speaks => UpdateWhen::Idle,
            _ => UpdateWhen::Now,
        },
        stop_grace: Duration::from_millis(random.range(200, 5_000)),
        on_lost_conversation: if random.chance(700) { OnLost::Block } else { OnLost::Fresh },
        resume_assigned: random.chance(800),
        protect: random.chance(80),
        tabs: tabs.into_iter().map(|t| (t, tab(random))).collect(),
        before_launch: random.chance(80).then(|| BeforeLaunch {
            run: vec!["prepare".to_owned()],
            timeout: Duration::from_secs(60),
            always: random.chance(500),
        }),
    }
}

pub fn prompt(random: &mut Random, text: &str) -> String {
    format!("prompt of {text} number {}", random.below(1_000_000))
}

fn restart_when(random: &mut Random) -> RestartWhen {
    match random.below(10) {
        0 => RestartWhen::Never,
        1 | 2 => RestartWhen::Always,
        _ => RestartWhen::OnFailure,
    }
}

/// A random fleet of one to six sessions.
pub fn fleet(random: &mut Random) -> Desired {
    let policy = Policy {
        max_unavailable: random.chance(200).then_some(2),
        max_reap: if random.chance(150) { 1 } else { 6 },
        parallel: usize::try_from(random.range(1, 4)).unwrap_or(1),
        stagger: Duration::from_millis(random.range(0, 250)),
        watch_prune: random.chance(500),
        max_running: random.chance(50).then_some(3),
        prune: !random.chance(50),
    };
    let count = random.range(1, 6);
    let mut desired = Desired {
        fleet: Some(name("sim")),
        sources: vec![PathBuf::from(SOURCE)],
        policy,
        kinds: kinds(),
        ..Desired::default()
    };
    for _ in 0..count {
        add(random, &mut desired);
    }
    desired
}

fn add(random: &mut Random, desired: &mut Desired) {
    let free: Vec<&str> = NAMES.into_iter().filter(|n| !desired.sessions.contains_key(*n)).collect();
    if let Some(text) = random.pick(&free).filter(|_| desired.sessions.len() < 6) {
        desired.sessions.insert(name(text), session(random, text));
    }
}

/// What agents may ask for.
pub fn spawn(random: &mut Random) -> Spawn {
    let allowed: Vec<&str> = PROFILES.into_iter().filter(|_| random.chance(700)).collect();
    Spawn {
        templates: allowed.into_iter().map(|profile| (name(profile), template(random, profile))).collect(),
        max_children: usize::try_from(random.range(0, 3)).unwrap_or(1),
        max_depth: u32::try_from(random.range(0, 3)).unwrap_or(1),
    }
}

/// What a session of a profile is, but for what each request says.
fn template(random: &mut Random, profile: &str) -> Session {
    let dir = Dir { spelling: "/".to_owned(), path: PathBuf::from("/") };
    Session { profile: Some(name(profile)), dir, prompt: None, ..session(random, profile) }
}

/// Changes what agents may ask for; says how.
pub fn edit_spawn(random: &mut Random, spawn: &mut Spawn) -> String {
    let profile = *random.pick(&PROFILES).expect("there are profiles");
    match random.below(6) {
        0..=2 if spawn.templates.remove(profile).is_some() => format!("allows {profile} no more"),
        0..=2 => {
            spawn.templates.insert(name(profile), template(random, profile));
            format!("allows {profile}")
        }
        3 => {
            spawn.max_children = usize::try_from(random.range(0, 3)).unwrap_or(1);
            format!("allows {} children", spawn.max_children)
        }
        4 => {
            spawn.max_depth = u32::try_from(random.range(0, 3)).unwrap_or(1);
            format!("allows children as deep as {}", spawn.max_depth)
        }
        _ => match spawn.templates.get_mut(profile) {
            Some(template) => format!("{} of {profile}", change(random, template)),
            None => "nothing".to_owned(),
        },
    }
}

/// Changes the fleet a little; says how.
pub fn edit(random: &mut Random, desired: &mut Desired) -> String {
    let names: Vec<Name> = desired.sessions.keys().cloned().collect();
    let Some(chosen) = random.pick(&names).cloned() else {
        add(random, desired);
        return "adds a session".to_owned();
    };
    match random.below(10) {
        0 => {
            add(random, desired);
            "adds a session".to_owned()
        }
        1 | 2 => {
            desired.sessions.remove(&chosen);
            format!("removes {chosen}")
        }
        3 => rename(random, desired, &chosen),
        _ => match desired.sessions.get_mut(&chosen) {
            Some(session) => format!("{} of {chosen}", change(random, session)),
            None => "nothing".to_owned(),
        },
    }
}

/// Renames a session, to a name that was not used before: a chain of renames within one edit says nothing certain.
fn rename(random: &mut Random, desired: &mut Desired, from: &Name) -> String {
    let to = format!("moved-{}", random.below(100_000));
    let Some(mut session) = desired.sessions.remove(from) else { return "nothing".to_owned() };
    session.name = name(&to);
    session.moved_from = random.chance(800).then(|| from.clone());
    let words = format!("renames {from} to {to}, moved_from {:?}", session.moved_from);
    desired.sessions.insert(name(&to), session);
    words
}

fn change(random: &mut Random, session: &mut Session) -> &'static str {
    match random.below(12) {
        0 | 1 => {
            session.choices.model = random.chance(800).then(|| format!("m{}", random.below(3)));
            "model"
        }
        2 => {
            session.env.insert("X".to_owned(), EnvValue::Literal(format!("{}", random.below(3))));
            "env"
        }
        3 => {
            session.dir = dir(random, session.name.as_str());
            "dir"
        }
        4 | 5 => {
            let tab_name = name(if random.chance(500) { "shell" } else { "logs" });
            if session.tabs.remove(&tab_name).is_none() || random.chance(300) {
                session.tabs.insert(tab_name, tab(random));
            }
            "tabs"
        }
        6 => {
            session.protect = !session.protect;
            "protect"
        }
        7 => {
            session.running = !session.running;
            "desired"
        }
        8 => {
            session.invocation = invocation(random, &session.kind);
            "command"
        }
        9 => {
            session.title = Some(format!("title {}", random.below(9)));
            "title"
        }
        10 => {
            session.prompt = Some(prompt(random, session.name.as_str()));
            "prompt"
        }
        _ => {
            session.restart.when = restart_when(random);
            "restart"
        }
    }
}

/// A fleet of one session without conversation, tab or prompt, that runs `program`.
pub fn one(random: &mut Random, program: &str) -> Desired {
    let session = Session {
        kind: name(GENERIC),
        invocation: vec![program.to_owned()],
        dir: Dir { spelling: "~/api".to_owned(), path: PathBuf::from("/home/u/api") },
        prompt: None,
        running: true,
        tabs: BTreeMap::new(),
        before_launch: None,
        ..session(random, "api")
    };
    Desired { policy: Policy::default(), sessions: BTreeMap::from([(name("api"), session)]), ..fleet(random) }
}

/// Makes the fleet one that can come to rest: every program exists, nothing waits for an operator.
pub fn settle(desired: &mut Desired) {
    desired.policy.max_reap = 100;
    desired.policy.max_running = None;
    desired.policy.prune = true;
    for session in desired.sessions.values_mut().chain(desired.spawn.templates.values_mut()) {
        session.update = UpdateWhen::Now;
        if session.invocation[0].ends_with(MISSING) {
            session.invocation[0] = session.invocation[0].replace(MISSING, "steady");
        }
        for tab in session.tabs.values_mut().filter(|tab| tab.run.as_ref().is_some_and(|run| run[0] == MISSING)) {
            tab.run = None;
        }
    }
}

/// Where farhelm keeps its state.
pub fn state_dir() -> &'static Path {
    Path::new("/home/u/.local/state/farhelm")
}
