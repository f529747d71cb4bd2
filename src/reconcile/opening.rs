//! Builds what a launch needs: the argv, the environment, the launch file, the stamp and the intent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::agents::argv::{self, Slots, Start};
use crate::agents::inject::{self, HookChoices, Launching, Skip};
use crate::agents::{assign, catalogue, choice};
use crate::config::desired::{Desired, Dir, Session};
use crate::host::Host;
use crate::host::process::BootId;
use crate::host::scope::ScopeSupport;
use crate::host::secrets::Fetcher;
use crate::host::shim;
use crate::host::tmux::{OpenPane, Place, Socket};
use crate::plan::action::Mode;
use crate::plan::{prompt_hash, tabs};
use crate::spec::name::Name;
use crate::state::extensions;
use crate::state::fields;
use crate::state::launch_files::{self, Before, LaunchFiles, LaunchSpec};
use crate::state::leaving::Claim;
use crate::state::record::{
    Conversation, HookState, Launch, MAX_LAUNCHES, Phase, Provenance, RECORD_VERSION, Record, RecordedDir, SessionId,
};
use crate::state::stamp::Stamp;
use crate::state::store::Store;

use super::launch::Opening;
use super::pass::Setup;
use super::scopes;

/// What every opening of one pass shares.
pub struct Workshop<'a, 'f> {
    /// The machine.
    pub host: &'a dyn Host,
    /// The state directory.
    pub store: &'a Store<'a>,
    /// The surroundings.
    pub setup: &'a Setup,
    /// The fleet.
    pub desired: &'a Desired,
    /// This boot.
    pub boot: BootId,
    /// Secrets, each fetched once a pass.
    pub secrets: &'a mut Fetcher<'f>,
}

/// Where a terminal goes.
#[derive(Debug, Clone)]
pub struct Site {
    /// The server.
    pub socket: Socket,
    /// The place on it.
    pub place: Place,
}

impl Workshop<'_, '_> {
    /// The opening of `session`'s agent; `record` is its record so far, or the tombstone's it comes back from.
    ///
    /// # Errors
    /// In words, for this session alone: its directory, a secret, its command.
    pub fn agent(
        &mut self,
        session: &Session,
        record: Option<&Record>,
        mode: &Mode,
        site: Site,
    ) -> Result<Opening, String> {
        let canonical = self.host.resolve_dir(&session.dir.path).map_err(|error| error.to_string())?;
        let again = record.is_some_and(|r| r.generation() > 0 && r.dir.spelling == session.dir.spelling);
        let dir = if again { canonical.clone() } else { session.dir.path.clone() };
        let secrets = self.secrets.environment(session).map_err(|error| error.to_string())?;
        let mut record = self.record(session, record, canonical);
        let id = record.id;
        let generation = record.generation() + 1;
        let minted = self.conversation(session, mode, &mut record);
        let mut argv = self.argv(session, mode, minted.as_deref(), &dir)?;
        let mut env = self.environment(session, &dir)?;
        env.extend(secrets.into_iter().map(|(name, value)| (name, value.expose().to_owned())));
        let hook = self.hook(session, (id, generation), &mut argv, &mut env);
        let resumed = matches!(mode, Mode::Resume { .. } | Mode::Verbatim);
        let before = session.before_launch.as_ref().filter(|before| before.always || !resumed);
        let before_launch = before.map(|before| Before {
            run: before.run.clone(),
            timeout_ms: u64::try_from(before.timeout.as_millis()).unwrap_or(u64::MAX),
        });
        let prompt = session.prompt.as_deref().filter(|_| carries_prompt(mode));
        let prompt = prompt.map(|prompt| prompt_hash(&record.salt, prompt));
        let spec = self.spec(id, None, generation, argv, env, dir.clone(), before_launch)?;
        let integrated = self.desired.kinds.get(&session.kind).is_some_and(|kind| !kind.executables.is_empty());
        let kind = integrated.then(|| session.kind.clone());
        let spec = LaunchSpec { durable_exec: prompt.is_some() || minted.is_some(), kind, ..spec };
        let (command, scoped) = self.command(&spec, &scopes::agent(id, generation))?;
        let at = self.host.now();
        let (boot, socket) = (self.boot.clone(), site.socket.clone());
        record.launches.push(Launch {
            generation,
            phase: Phase::Intended,
            at,
            boot,
            socket,
            server: None,
            pane: None,
            process: None,
            agent: None,
            scoped,
            resumed,
            prompt,
            hook,
            ran: false,
            over: None,
            refused: None,
            contradicted: None,
            ended: None,
        });
        let surplus = record.launches.len().saturating_sub(MAX_LAUNCHES);
        record.launches.drain(..surplus);
        let stamp = Stamp::of(&record, self.store.owner()).write();
        let pane = OpenPane { place: site.place, window: session.name.to_string(), dir, argv: command, stamp };
        Ok(Opening {
            session: session.name.clone(),
            id,
            tab: None,
            pane,
            socket: site.socket,
            files: LaunchFiles::new(&self.store.layout().launch(), id, generation, None),
            spec,
            intent: Some(Box::new(record)),
            definition: String::new(),
            scoped,
        })
    }

    /// The opening of one of `session`'s tabs.
    ///
    /// # Errors
    /// In words, for this tab alone.
    pub fn tab(&mut self, session: &Session, record: &Record, name: &Name, site: Site) -> Result<Opening, String> {
        let tab = session.tabs.get(name).ok_or_else(|| format!("no tab `{name}` in the fleet file"))?;
        let id = record.tabs.get(name).map_or_else(|| SessionId(self.host.new_id()), |tab| tab.id);
        let dir = tab.dir.as_ref().map_or_else(|| record.dir.canonical.clone(), |dir: &Dir| dir.path.clone());
        self.host.resolve_dir(&dir).map_err(|error| error.to_string())?;
        let shell = || vec![self.setup.shell.display().to_string(), "-l".to_owned(), "-i".to_owned()];
        let argv = tab.run.clone().unwrap_or_else(shell);
        let env = self.secrets.values(&tab.env).map_err(|error| error.to_string())?;
        let env = env.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect();
        let generation = record.generation();
        let spec = self.spec(record.id, Some(id), generation, argv, env, dir.clone(), None)?;
        let (command, scoped) = self.command(&spec, &scopes::tab(record.id, name))?;
        let stamp = Stamp { tab: Some((name.clone(), id)), ..Stamp::of(record, self.store.owner()) }.write();
        Ok(Opening {
            session: session.name.clone(),
            id: record.id,
            tab: Some((name.clone(), id)),
            pane: OpenPane { place: site.place, window: name.to_string(), dir, argv: command, stamp },
            socket: site.socket,
            files: LaunchFiles::new(&self.store.layout().launch(), record.id, generation, Some(id)),
            spec,
            intent: None,
            definition: tabs::definition(tab, &record.salt),
            scoped,
        })
    }

    /// The record of the launch to come, without the launch.
    fn record(&mut self, session: &Session, old: Option<&Record>, canonical: PathBuf) -> Record {
        let fleet = self.desired.fleet.clone().unwrap_or_else(|| session.name.clone());
        let unlaunched = || Record { id: SessionId(self.host.new_id()), ..Record::unlaunched(fleet.clone(), session) };
        let base = old.cloned().unwrap_or_else(unlaunched);
        // Of what this launch is given, whatever the plan saw.
        let contents = self.secrets.contents([session]);
        Record {
            version: RECORD_VERSION,
            fleet,
            name: session.name.clone(),
            kind: session.kind.clone(),
            dir: RecordedDir { spelling: session.dir.spelling.clone(), canonical },
            fields_version: fields::VERSION,
            fields: fields::hashes(session, &base.salt, &contents),
            shown: fields::shown(session),
            protect: base.protect || session.protect,
            sources: self.desired.sources.clone(),
            title: session.title.clone(),
            stop_grace_ms: u64::try_from(session.stop_grace.as_millis()).ok(),
            leaving: base.leaving.into_iter().filter(|one| matches!(one.claim, Claim::Tab(_))).collect(),
            ..base
        }
    }

    /// Books the conversation that the launch will have; returns the id to assign, if one is.
    fn conversation(&self, session: &Session, mode: &Mode, record: &mut Record) -> Option<String> {
        match mode {
            Mode::Resume { .. } | Mode::Verbatim => None,
            Mode::SameId { conversation, .. } => Some(conversation.clone()),
            Mode::Fresh { .. } => {
                let kind = self.desired.kinds.get(&session.kind);
                let id = kind.and_then(|kind| assign::mint(kind, &session.invocation, || self.host.new_id()));
                let at = self.host.now();
                record.conversation = id.clone().map(|id| Conversation { id, provenance: Provenance::Assigned, at });
                record.identity = None;
                id
            }
        }
    }

    fn argv(
        &self,
        session: &Session,
        mode: &Mode,
        assign: Option<&str>,
        dir: &std::path::Path,
    ) -> Result<Vec<String>, String> {
        let kind = self.desired.kinds.get(&session.kind).ok_or_else(|| format!("no kind `{}`", session.kind))?;
        let prompt = if carries_prompt(mode) { session.prompt.as_deref() } else { None };
        let start = match mode {
            Mode::Fresh { .. } | Mode::SameId { .. } => Start::Fresh { prompt, assign },
            Mode::Resume { conversation } => Start::Resume { conversation },
            Mode::Verbatim => Start::Verbatim,
        };
        argv::compose(kind, session, &start, &Slots { cwd: text(dir)? }).map_err(|error| error.to_string())
    }

    /// Gives the launch its hook, last of all; a launch that cannot have it runs without.
    fn hook(
        &self,
        session: &Session,
        (id, generation): (SessionId, u32),
        argv: &mut Vec<String>,
        env: &mut BTreeMap<String, String>,
    ) -> HookState {
        let Some(kind) = self.desired.kinds.get(&session.kind) else { return HookState::None };
        let extensions = self.store.layout().extensions();
        let refused = inject::settings_refused(kind, self.host, &extensions);
        let launching = Launching {
            kind,
            wanted: session.hooks,
            choices: HookChoices {
                bypass_trust: session.choices.bypass_hook_trust,
                agent_view: session.choices.agent_view,
            },
            farhelm: &self.setup.farhelm,
            session: id,
            generation,
            argv,
            env,
            extensions: &extensions,
            settings_refused: refused.as_deref(),
        };
        let injected = match inject::inject(&launching) {
            Ok(injected) => injected,
            Err(Skip::None(_)) => return HookState::None,
            Err(skip) => return HookState::Skipped(skip.to_string()),
        };
        if let Err(error) = extensions::keep(self.host, &injected.files) {
            return HookState::Skipped(error.to_string());
        }
        argv.extend(injected.argv);
        env.extend(injected.env);
        HookState::Given
    }

    /// What the kind's data asks for. The session's own variables come over it.
    fn environment(&self, session: &Session, dir: &std::path::Path) -> Result<BTreeMap<String, String>, String> {
        let Some(kind) = self.desired.kinds.get(&session.kind) else { return Ok(BTreeMap::new()) };
        choice::environment(kind, &session.choices, text(dir)?).map_err(|error| error.to_string())
    }

    #[allow(clippy::too_many_arguments, reason = "one call a launch file, each argument one of its fields")]
    fn spec(
        &self,
        session: SessionId,
        tab: Option<SessionId>,
        generation: u32,
        argv: Vec<String>,
        env: BTreeMap<String, String>,
        dir: PathBuf,
        before_launch: Option<Before>,
    ) -> Result<LaunchSpec, String> {
        let files = LaunchFiles::new(&self.store.layout().launch(), session, generation, tab);
        let fleet = self.desired.fleet.as_ref().ok_or("the fleet has no name")?;
        Ok(LaunchSpec {
            version: launch_files::VERSION,
            argv,
            env,
            unset: catalogue::scrubbed(self.desired.kinds.values()),
            dir,
            before_launch,
            session,
            tab,
            generation,
            token: self.store.token(session).map_err(|error| error.to_string())?,
            socket: self.store.layout().supervisor_socket(fleet),
            bin_dir: self.setup.farhelm.parent().map(PathBuf::from).unwrap_or_default(),
            status_file: files.status,
            exec_file: files.exec,
            durable_exec: false,
            kind: None,
        })
    }

    /// The pane's command, and whether it runs in a scope.
    fn command(&self, spec: &LaunchSpec, unit: &str) -> Result<(Vec<String>, bool), String> {
        let scope = match self.host.support() {
            ScopeSupport::Usable { mut runner } => {
                runner.push(format!("--unit={unit}"));
                Some(runner)
            }
            ScopeSupport::Unusable(_) | ScopeSupport::Unknown(_) => None,
        };
        let files = LaunchFiles::new(&self.store.layout().launch(), spec.session, spec.generation, spec.tab);
        let command = shim::pane_command(&self.setup.shell, &self.setup.farhelm, &files.spec, scope.as_deref());
        command.map(|command| (command, scope.is_some())).map_err(|error| error.to_string())
    }
}

fn text(dir: &std::path::Path) -> Result<&str, String> {
    dir.to_str().ok_or_else(|| format!("{} is not valid UTF-8", dir.display()))
}

fn carries_prompt(mode: &Mode) -> bool {
    matches!(mode, Mode::Fresh { prompt: true } | Mode::SameId { prompt: true, .. })
}
