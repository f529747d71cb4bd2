//! What every verb needs: the machine, the state directory, the fleet.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

use crate::agents::catalogue;
use crate::config::desired::Desired;
use crate::config::load::{self, LoadRequest, Loaded, default_files};
use crate::host::disk::Disk;
use crate::host::real::{self, Machine};
use crate::host::shim;
use crate::host::tmux::Socket;
use crate::plan::Selection;
use crate::reconcile::pass::Setup;
use crate::state::owner::Account;
use crate::state::record::SessionId;

use super::args::{Files, Global, Select};
use super::error::CliError;
use super::output::Output;
use super::revision;

/// How long a lock is waited for before its holder is named.
const PATIENCE: Duration = Duration::from_secs(10);

/// The surroundings of a verb.
#[derive(Debug)]
pub struct Context {
    /// Flags of every verb.
    pub global: Global,
    /// Where it prints.
    pub output: Output,
    env: BTreeMap<String, String>,
}

impl Context {
    /// Of this process.
    #[must_use]
    pub fn new(global: Global) -> Self {
        let env = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self { output: Output::new(global.color, global.verbose), global, env: env.collect() }
    }

    /// A variable of the environment, when it is set and not empty.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The whole environment, as far as it is text.
    #[must_use]
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// The state directory that is asked for; it may not be there yet.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        let wanted = self.global.state_dir.clone();
        wanted.unwrap_or_else(|| self.xdg("XDG_STATE_HOME", ".local/state").join("farhelm"))
    }

    /// The tmux server that new sessions go to.
    #[must_use]
    pub fn socket(&self) -> Socket {
        real::socket(&self.global.tmux_socket, |name| self.var(name).map(OsString::from))
    }

    /// Whether there is a fleet file where none is named.
    #[must_use]
    pub fn has_default_fleet(&self) -> bool {
        let Ok(cwd) = std::env::current_dir() else { return false };
        default_files(&cwd, &self.xdg("XDG_CONFIG_HOME", ".config")).iter().any(|file| file.exists())
    }

    /// The account's home directory.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        PathBuf::from(self.var("HOME").unwrap_or("/"))
    }

    fn xdg(&self, name: &str, below_home: &str) -> PathBuf {
        self.var(name).map_or_else(|| self.home().join(below_home), PathBuf::from)
    }

    /// The machine; `interruptible` verbs finish what they have begun when interrupted.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn machine(&self, interruptible: bool) -> Result<Machine, CliError> {
        let settings = real::Settings { interruptible, ..real::Settings::default() };
        Machine::new(settings).map_err(|error| CliError::Other(error.to_string()))
    }

    /// The surroundings of a reconcile by `actor`.
    ///
    /// # Errors
    /// When the state directory cannot be made.
    pub fn setup(&self, machine: &Machine, actor: &str, desired: Option<&Desired>) -> Result<Setup, CliError> {
        let wanted = self.state_dir();
        let disk = |error: crate::host::disk::DiskError| {
            CliError::Other(format!("{error}; choose another state directory with --state-dir"))
        };
        machine.make_dir(&wanted).map_err(disk)?;
        let state_dir = machine.resolve_dir(&wanted).map_err(disk)?;
        let revision = desired.and_then(|desired| revision::of(machine, desired));
        Ok(Setup { revision, ..self.setup_at(&state_dir, actor)? })
    }

    /// [`Self::setup`] in a state directory that is there.
    ///
    /// # Errors
    /// When this program's own path is not known.
    pub fn setup_at(&self, state_dir: &Path, actor: &str) -> Result<Setup, CliError> {
        let passwd = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.shell);
        let shell = self.var("SHELL").map(OsStr::new);
        let (shell, warning) = shim::login_shell(shell, passwd.as_deref(), is_executable);
        if let Some(warning) = warning {
            self.output.message(&format!("warning: {warning}"));
        }
        let farhelm = std::env::current_exe()?;
        Ok(Setup {
            socket: self.socket(),
            account: account(),
            state_dir: state_dir.to_owned(),
            farhelm,
            shell,
            actor: actor.to_owned(),
            patience: PATIENCE,
            attended: true,
            unmanaged: false,
            thorough: false,
            home: self.var("HOME").map(str::to_owned),
            inside: self.var("FARHELM_SESSION_ID").and_then(|id| Uuid::parse_str(id).ok()).map(SessionId),
            revision: None,
        })
    }

    /// What these flags ask to read.
    ///
    /// # Errors
    /// A variable that is none.
    pub fn load_request(&self, files: &Files) -> Result<LoadRequest, CliError> {
        let mut vars = Vec::new();
        for pair in &files.var {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| CliError::Usage(format!("--var {pair}: write NAME=VALUE")))?;
            vars.push((name.to_owned(), value.to_owned()));
        }
        Ok(LoadRequest {
            paths: files.paths.clone(),
            vars,
            var_files: files.vars.clone(),
            home: self.home(),
            env: self.env.clone(),
            cwd: std::env::current_dir()?,
            config_home: self.xdg("XDG_CONFIG_HOME", ".config"),
        })
    }

    /// Reads the fleet files; lints are printed.
    ///
    /// # Errors
    /// All problems of all files.
    pub fn load(&self, files: &Files) -> Result<Loaded, CliError> {
        let request = self.load_request(files)?;
        let loaded = load::load(&request, catalogue::builtin()).map_err(CliError::Fleet)?;
        if !loaded.warnings.is_empty() {
            self.output.message(loaded.warnings.render(self.output.colored_messages()).trim_end());
        }
        Ok(loaded)
    }
}

/// Whether this account can run the file.
#[must_use]
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

/// This account on this host.
#[must_use]
pub fn account() -> Account {
    let hostname = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    Account { hostname, uid: nix::unistd::getuid().as_raw() }
}

/// The selection that flags describe.
///
/// # Errors
/// A glob or label that is none.
pub fn selection(select: &Select) -> Result<Selection, CliError> {
    let mut labels = Vec::new();
    for pair in &select.labels {
        let (label, value) =
            pair.split_once('=').ok_or_else(|| CliError::Usage(format!("-l {pair}: write LABEL=VALUE")))?;
        labels.push((label.to_owned(), value.to_owned()));
    }
    Ok(Selection { only: globs(&select.only)?, exclude: globs(&select.exclude)?, labels })
}

/// A set of globs; none when there are none.
///
/// # Errors
/// A glob that is none.
pub fn globs(patterns: &[String]) -> Result<Option<globset::GlobSet>, CliError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let bad = |error: globset::Error| CliError::Usage(error.to_string());
    let mut set = globset::GlobSetBuilder::new();
    for pattern in patterns {
        set.add(globset::Glob::new(pattern).map_err(bad)?);
    }
    set.build().map(Some).map_err(bad)
}
