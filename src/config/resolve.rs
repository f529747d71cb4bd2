//! One session's settings to the session that is wanted: every default filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::command::{self, Command, GENERIC};
use super::context::Context;
use super::desired::{BeforeLaunch, Choices, Dir, EnvValue, Restart, STOP_GRACE, SecretRef, Session, Tab};
use super::expand::Claim;
use super::layers::{Layers, steps};
use super::lint;
use super::merge::Over;
use super::profile::{Base, Kinds, Named, Profiles};
use super::tree::Step;
use crate::agents::kind::Kind;
use crate::spec::duration::Period;
use crate::spec::name::Name;
use crate::spec::settings::{
    self, AgentView, EnvFrom, Format, HookTrust, Hooks, OnChange, OnLost, RunOn, Settings, UpdateWhen, Wanted,
};

/// The longest `stop.grace`.
pub const MAX_GRACE: Duration = Duration::from_secs(60);
/// `before_launch.timeout` where nothing is said.
const BEFORE_LAUNCH: Duration = Duration::from_secs(600);

/// Resolves sessions one by one.
pub struct Resolver<'a, 'c> {
    /// Files, names, problems.
    pub context: &'a Context<'c>,
    /// The kinds.
    pub kinds: &'a Kinds<'c>,
    /// The profiles.
    pub profiles: Profiles<'a>,
    /// What the defaults say of the command; it counts only for sessions that say nothing.
    pub default_command: Settings,
}

impl Resolver<'_, '_> {
    /// The session of a claim, and where its values came from; none where something is wrong, which is reported.
    pub fn session(&mut self, name: &Name, claim: Claim) -> Option<(Session, Layers)> {
        let mut damaged = claim.damaged || self.profiles.defaults.damaged;
        let mut layers = Layers { own: claim.layers, ..Layers::default() };
        let mut top = claim.settings?;
        if top.profile.is_none() && top.invocation.is_none() {
            let own = std::mem::take(&mut top);
            top = own.over(&self.default_command);
        }
        let profile = top.profile.clone();
        let raw = profile.is_none();
        if damaged && raw && top.invocation.is_none() {
            return None;
        }
        // A session without a usable profile is still looked at for what else is wrong.
        let base = self.base(&mut layers, &top);
        damaged |= base.as_ref().is_none_or(|base| base.damaged);
        let defaults = self.profiles.defaults.clone();
        layers.base = base.as_ref().unwrap_or(&defaults).layers.clone();
        let mut settings = top.over(&base.as_ref().unwrap_or(&defaults).settings);
        if command::kind_of(self.kinds, &settings, raw).is_some_and(|kind| kind.as_str() == GENERIC) {
            command::without_inherited_choices(self.context, &layers, &mut settings);
        }
        let command = match settings.invocation {
            _ if base.is_none() => None,
            None if damaged => None,
            _ => command::command(self.context, &layers, self.kinds, &settings, raw),
        };
        let dir = match settings.dir.as_deref() {
            None if damaged => None,
            dir => self.dir(&layers, &[], dir),
        };
        let body = self.body(&layers, &settings);
        let (Command { kind, invocation, resume }, dir, body) = (command?, dir?, body?);
        let known = self.kinds.get(kind.as_str())?;
        let hooked = settings.hooks.unwrap_or_default() == Hooks::On;
        let session = Session {
            name: name.clone(),
            profile,
            update: settings.update.as_ref().and_then(|update| update.when).unwrap_or(default_update(known, hooked)),
            on_lost_conversation: settings.on_lost_conversation.unwrap_or(default_on_lost(known, hooked)),
            kind,
            invocation,
            resume,
            dir,
            ..body
        };
        Some((session, layers))
    }

    /// What a session builds on; none where that is wrong, which is reported.
    fn base(&mut self, layers: &mut Layers, top: &Settings) -> Option<Arc<Base>> {
        let base = match (&top.profile, &top.invocation) {
            (Some(_), Some(_)) => {
                let help = "a profile of your own with `extends` can change the command".to_owned();
                self.context.error(
                    layers,
                    &["invocation".into()],
                    "`profile` and `invocation` exclude each other",
                    Some(help),
                );
                return None;
            }
            (None, None) => {
                let message = "says neither `profile` nor `invocation`: what should it run?";
                self.context.error(layers, &[], message, None);
                return None;
            }
            (None, Some(_)) => self.profiles.defaults.clone(),
            (Some(profile), None) => match self.profiles.get(profile.as_str()) {
                Named::Base(base) => base,
                Named::Broken => return None,
                Named::Unknown(help) => {
                    let at = ["profile".into()];
                    let lower = Layers { base: self.profiles.defaults.layers.clone(), ..layers.clone() };
                    self.context.error(&lower, &at, format!("there is no profile `{profile}`"), help);
                    return None;
                }
            },
        };
        layers.built_in = base.built_in.clone();
        Some(base)
    }

    /// All but the command, the directory, and what depends on the kind.
    fn body(&self, layers: &Layers, settings: &Settings) -> Option<Session> {
        let tabs = self.tabs(layers, settings);
        let before_launch = self.before_launch(layers, settings.before_launch.as_ref());
        let stop_grace = self.grace(layers, settings);
        let restart = self.restart(layers, settings.restart.as_ref());
        let (env, env_bundles) = self.env(layers, settings);
        let dir = Dir { spelling: String::new(), path: PathBuf::new() };
        Some(Session {
            moved_from: settings.moved.as_ref().map(|moved| moved.from.clone()),
            choices: settings.choices(),
            hooks: settings.hooks.unwrap_or_default() == Hooks::On,
            env,
            env_bundles,
            prompt: settings.prompt.clone(),
            running: settings.desired.unwrap_or_default() == Wanted::Running,
            title: settings.title.clone(),
            labels: settings.labels.iter().flatten().map(|(name, text)| (name.clone(), text.0.clone())).collect(),
            priority: settings.priority.unwrap_or_default(),
            restart: restart?,
            stop_grace: stop_grace?,
            resume_assigned: settings.resume_assigned.unwrap_or_default(),
            protect: settings.protect.unwrap_or_default(),
            tabs: tabs?,
            before_launch: before_launch?,
            ..Session::bare(Name::new("x").ok()?, Name::new(command::GENERIC).ok()?, Vec::new(), dir)
        })
    }

    /// A directory: absolute, `~` or `~/x`. `at` is the path of what has it.
    fn dir(&self, layers: &Layers, at: &[Step], spelling: Option<&str>) -> Option<Dir> {
        let path = [at, &["dir".into()]].concat();
        let Some(spelling) = spelling else {
            self.context.error(layers, at, "says no `dir`: where should it run?", None);
            return None;
        };
        let home = &self.context.request.home;
        let resolved = match spelling.strip_prefix('~') {
            _ if spelling.contains('\0') => Err("a directory cannot hold a NUL".to_owned()),
            Some("") => Ok(home.clone()),
            Some(rest) if rest.starts_with('/') => Ok(home.join(rest.trim_start_matches('/'))),
            Some(_) => Err(format!("`{spelling}` names somebody's home; only `~` and `~/x` are known")),
            None if spelling.starts_with('/') => Ok(PathBuf::from(spelling)),
            None => Err(format!("`{spelling}` is relative; a directory is absolute, `~` or `~/x`")),
        };
        match resolved {
            Ok(path) => Some(Dir { spelling: spelling.to_owned(), path }),
            Err(message) => {
                self.context.error(layers, &path, message, None);
                None
            }
        }
    }

    fn env(&self, layers: &Layers, settings: &Settings) -> (BTreeMap<String, EnvValue>, Vec<SecretRef>) {
        let literals =
            settings.env.iter().flatten().map(|(name, text)| (name.clone(), EnvValue::Literal(text.0.clone())));
        let mut env: BTreeMap<String, EnvValue> = literals.collect();
        let mut bundles = Vec::new();
        for (name, from) in settings.env_from.iter().flatten() {
            let EnvFrom { file, command, format, on_change } = from;
            let reference = match (file, command) {
                (Some(path), _) => SecretRef::File {
                    path: PathBuf::from(path),
                    restart_on_change: *on_change == Some(OnChange::Restart),
                },
                (None, Some(argv)) => {
                    self.secret_command(layers, name, &argv.0);
                    SecretRef::Command { argv: argv.0.clone() }
                }
                // Refused where it was read.
                (None, None) => continue,
            };
            match format {
                Some(Format::Dotenv) => bundles.push(reference),
                Some(Format::Value) | None => drop(env.insert(name.clone(), EnvValue::Secret(reference))),
            }
        }
        (env, bundles)
    }

    fn secret_command(&self, layers: &Layers, name: &str, argv: &[String]) {
        if argv.first().is_none_or(String::is_empty) || argv.iter().any(|argument| argument.contains('\0')) {
            let at = steps(&["env_from", name, "command"]);
            self.context.error(layers, &at, "the command has no program, or an argument with a NUL", None);
        }
    }

    fn restart(&self, layers: &Layers, policy: Option<&settings::RestartPolicy>) -> Option<Restart> {
        let preset = Restart::default();
        let backoff = policy.and_then(|policy| policy.backoff.clone()).unwrap_or_default();
        let length = |period: Option<Period>, preset: Duration| period.map_or(preset, |period| period.0);
        let restart = Restart {
            when: policy.and_then(|policy| policy.when).unwrap_or(preset.when),
            initial: length(backoff.initial, preset.initial),
            max: length(backoff.max, preset.max),
            reset_after: length(backoff.reset_after, preset.reset_after),
            max_restarts: policy.and_then(|policy| policy.max_restarts).unwrap_or(preset.max_restarts),
        };
        if restart.initial > restart.max {
            let message =
                format!("`initial` ({}) is longer than `max` ({})", Period(restart.initial), Period(restart.max));
            self.context.error(layers, &steps(&["restart", "backoff", "initial"]), message, None);
            return None;
        }
        Some(restart)
    }

    fn grace(&self, layers: &Layers, settings: &Settings) -> Option<Duration> {
        let grace = settings.stop.as_ref().and_then(|stop| stop.grace).map_or(STOP_GRACE, |grace| grace.0);
        if grace > MAX_GRACE {
            let message = format!("a grace of {} is longer than {}, the most", Period(grace), Period(MAX_GRACE));
            self.context.error(layers, &steps(&["stop", "grace"]), message, None);
            return None;
        }
        Some(grace)
    }

    fn before_launch(&self, layers: &Layers, wanted: Option<&settings::BeforeLaunch>) -> Option<Option<BeforeLaunch>> {
        let Some(wanted) = wanted else { return Some(None) };
        let Some(run) = &wanted.run else {
            self.context.error(layers, &["before_launch".into()], "`before_launch` needs `run`", None);
            return None;
        };
        self.plain_command(layers, &["before_launch", "run"], &run.0)?;
        Some(Some(BeforeLaunch {
            run: run.0.clone(),
            timeout: wanted.timeout.map_or(BEFORE_LAUNCH, |timeout| timeout.0),
            always: wanted.on == Some(RunOn::Always),
        }))
    }

    fn tabs(&self, layers: &Layers, settings: &Settings) -> Option<BTreeMap<Name, Tab>> {
        let mut tabs = BTreeMap::new();
        let mut good = true;
        for (name, tab) in settings.tabs.iter().flatten() {
            let at = ["tabs".into(), name.as_str().into()];
            let run = tab.run.as_ref().map(|argv| argv.0.clone());
            if let Some(run) = &run {
                good &= self.plain_command(layers, &["tabs", name.as_str(), "run"], run).is_some();
            }
            let dir = match &tab.dir {
                None => Some(None),
                Some(dir) => self.dir(layers, &at, Some(dir)).map(Some),
            };
            let env = tab.env.iter().flatten().map(|(name, text)| (name.clone(), EnvValue::Literal(text.0.clone())));
            match dir {
                Some(dir) => drop(tabs.insert(name.clone(), Tab { run, dir, env: env.collect() })),
                None => good = false,
            }
        }
        good.then_some(tabs)
    }

    /// A command beside the agent's.
    fn plain_command(&self, layers: &Layers, at: &[&str], argv: &[String]) -> Option<()> {
        let bad = argv.first().is_none_or(String::is_empty) || argv.iter().any(|argument| argument.contains('\0'));
        if bad {
            self.context.error(layers, &steps(at), "the command has no program, or an argument with a NUL", None);
            return None;
        }
        lint::argv(self.context, layers, &at.join("."), argv);
        Some(())
    }
}

impl Settings {
    /// The choices for the agent; what is not said is its own default.
    pub(super) fn choices(&self) -> Choices {
        Choices {
            model: self.model.clone(),
            effort: self.effort.clone(),
            permissions: self.permissions.unwrap_or_default(),
            trust: self.trust,
            bypass_hook_trust: self.hook_trust.unwrap_or_default() == HookTrust::Bypass,
            agent_view: self.agent_view.unwrap_or_default() == AgentView::On,
        }
    }
}

fn default_update(kind: &Kind, hooks: bool) -> UpdateWhen {
    if hooks && kind.reports_activity() { UpdateWhen::Idle } else { UpdateWhen::Now }
}

/// Where nothing can ever tell which conversation it has, blocking would block every relaunch.
fn default_on_lost(kind: &Kind, hooks: bool) -> OnLost {
    let assigns = kind.conversation.as_ref().is_some_and(|forms| !forms.assign.is_empty());
    if kind.identifies() && (hooks || assigns) { OnLost::Block } else { OnLost::Fresh }
}
