//! The command line's words: every verb and flag, once.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::spec::duration::Period;

mod asking;
mod reading;
mod which;
pub use asking::{Children, Spawn, WhoAmI};
pub use reading::{Conversations, Describe, Document, Events, Explain, Logs, Schema, Status};
pub use which::{Files, FleetFlag, Select};

/// Keeps a fleet of terminal coding agents as its files declare it.
#[derive(Debug, Parser)]
#[command(name = "farhelm", version, about, disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// Flags of every verb.
    #[command(flatten)]
    pub global: Global,
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Flags of every verb.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Where records are kept [default: $`XDG_STATE_HOME/farhelm`].
    #[arg(long, global = true, value_name = "DIR", env = "FARHELM_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
    /// The tmux server new sessions go to: a name as of `tmux -L`, or the path of a socket.
    #[arg(long, global = true, value_name = "NAME|PATH", env = "FARHELM_TMUX_SOCKET", default_value = "farhelm")]
    pub tmux_socket: String,
    /// Colour in what is printed.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Say more on standard error.
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// When to print in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a starter fleet file with the agents of this machine.
    Init(Init),
    /// Check fleet files: every problem of every file, with its place.
    Validate(Files),
    /// Print the effective fleet.
    Render(Render),
    /// Print what would be done, and why; change nothing.
    Plan(Plan),
    /// Print the plan, ask, and carry it out.
    Apply(Apply),
    /// Reap the whole fleet; it stays down until the next apply.
    Down(Down),
    /// Stay, and keep the fleet as its files say.
    Watch(Watch),
    /// Show each session: in sync or not, and its health.
    Status(Status),
    /// Attach to a session's terminal.
    Attach(Attach),
    /// Stop sessions, and keep them stopped.
    Stop(Named),
    /// Start sessions, and lift their stop.
    Start(Named),
    /// End and start sessions again, their conversations kept.
    Restart(Restart),
    /// List the sessions that agents asked for, or write them as YAML.
    Children(Children),
    /// End sessions that agents asked for; inside a session, those that it asked for itself.
    Dismiss(Named),
    /// Inside a session: ask for another one, as far as `policy.spawn` allows.
    Spawn(Spawn),
    /// Inside a session: say which it is, and what it may ask for.
    Whoami(WhoAmI),
    /// Leave sessions alone: nothing is done to them.
    Pause(Pause),
    /// Lift a pause.
    Unpause(Named),
    /// Lift the protection of sessions no longer protected in the files.
    Unprotect(Named),
    /// Rebuild lost records from the stamps of live panes.
    Adopt(Adopt),
    /// Drop the memory of reaped sessions.
    Forget(Forget),
    /// List and end what earlier sessions left behind.
    Reap(Reap),
    /// Show all that is known of one session.
    Describe(Describe),
    /// List the stored conversations, those of reaped sessions too.
    Conversations(Conversations),
    /// Print the last lines of a session's terminal.
    Logs(Logs),
    /// Print the event log.
    Events(Events),
    /// Look whether this machine is fit to run a fleet; change nothing.
    Doctor(Doctor),
    /// Print the JSON schema of a document.
    Schema(Schema),
    /// Explain a field of the fleet file, or a kind.
    Explain(Explain),
}

/// `init`
#[derive(Debug, Args)]
pub struct Init {
    /// The file [default: ./farhelm.yaml].
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// The fleet's name [default: that of the directory].
    #[arg(long, value_name = "NAME")]
    pub fleet: Option<String>,
    /// Replace a file that is there.
    #[arg(long)]
    pub force: bool,
}

/// `doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// The fleet; without one, and without a default one, the machine alone is looked at.
    #[command(flatten)]
    pub fleet: FleetFlag,
    /// One JSON document.
    #[arg(long)]
    pub json: bool,
}

/// `render`
#[derive(Debug, Args)]
pub struct Render {
    /// The fleet.
    #[command(flatten)]
    pub files: Files,
    /// Say where each value came from.
    #[arg(long)]
    pub origin: bool,
}

/// `plan`
#[derive(Debug, Args)]
pub struct Plan {
    /// The fleet.
    #[command(flatten)]
    pub files: Files,
    /// Which sessions.
    #[command(flatten)]
    pub select: Select,
    /// One JSON document.
    #[arg(long)]
    pub json: bool,
    /// Unchanged sessions too.
    #[arg(long)]
    pub all: bool,
    /// One line for each session.
    #[arg(long, conflicts_with = "all")]
    pub brief: bool,
    /// 2: changes, 3: destructive changes, 4: something unknown.
    #[arg(long)]
    pub detailed_exitcode: bool,
    /// Save the plan, for `apply FILE`.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Plan as if these files were the fleet's own.
    #[arg(long)]
    pub take_over: bool,
    /// Plan as `apply --now` would.
    #[arg(long)]
    pub now: bool,
    /// Plan as `apply --allow-fresh` would.
    #[arg(long, value_name = "GLOB")]
    pub allow_fresh: Vec<String>,
    /// Plan as `apply --max-reap` would.
    #[arg(long, value_name = "N")]
    pub max_reap: Option<usize>,
}

/// `apply`
#[derive(Debug, Args)]
pub struct Apply {
    /// The fleet, or a saved plan.
    #[command(flatten)]
    pub files: Files,
    /// Which sessions.
    #[command(flatten)]
    pub select: Select,
    /// Do not ask.
    #[arg(short = 'y', long)]
    pub yes: bool,
    /// Restart working sessions too: their turns are lost.
    #[arg(long, conflicts_with = "wait")]
    pub now: bool,
    /// Wait until working sessions are idle.
    #[arg(long)]
    pub wait: bool,
    /// Sessions that may lose their conversation.
    #[arg(long, value_name = "GLOB")]
    pub allow_fresh: Vec<String>,
    /// Reap up to this many.
    #[arg(long, value_name = "N")]
    pub max_reap: Option<usize>,
    /// These files are the fleet's own from now on.
    #[arg(long)]
    pub take_over: bool,
    /// Give up after this time.
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<Period>,
    /// One JSON document at the end, instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `down`
#[derive(Debug, Args)]
pub struct Down {
    /// The fleet.
    #[command(flatten)]
    pub files: Files,
    /// Which sessions.
    #[command(flatten)]
    pub select: Select,
    /// Do not ask.
    #[arg(short = 'y', long)]
    pub yes: bool,
    /// These files are the fleet's own from now on.
    #[arg(long)]
    pub take_over: bool,
    /// One JSON document at the end, instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `watch`
#[derive(Debug, Args)]
pub struct Watch {
    /// The fleet.
    #[command(flatten)]
    pub files: Files,
    /// Carry out what changes in the files; leave what ends by itself.
    #[arg(long)]
    pub no_heal: bool,
    /// Do nothing; only say what differs.
    #[arg(long)]
    pub no_apply: bool,
    /// What is said on standard error.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log: LogFormat,
    /// Print a systemd user unit for this command line, and end.
    #[arg(long)]
    pub print_unit: bool,
}

/// How `watch` says what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for each thing, for people.
    Text,
    /// One JSON document a line.
    Json,
}

/// `attach`
#[derive(Debug, Args)]
pub struct Attach {
    /// The session, or one of its tabs.
    #[arg(value_name = "[FLEET/]NAME[:TAB]")]
    pub target: String,
}

/// Verbs on named sessions.
#[derive(Debug, Args)]
pub struct Named {
    /// The sessions.
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetFlag,
    /// Why, for others to read.
    #[arg(short = 'm', long, value_name = "WORDS")]
    pub message: Option<String>,
}

/// `restart`
#[derive(Debug, Args)]
pub struct Restart {
    /// Which sessions, and why.
    #[command(flatten)]
    pub named: Named,
    /// Start a new conversation.
    #[arg(long)]
    pub fresh: bool,
    /// In a turn too: it is lost.
    #[arg(long)]
    pub now: bool,
    /// Accept what the directory is now.
    #[arg(long)]
    pub accept_dir: bool,
}

/// `pause`
#[derive(Debug, Args)]
pub struct Pause {
    /// Which sessions, and why.
    #[command(flatten)]
    pub named: Named,
    /// It ends by itself after this time.
    #[arg(long = "for", value_name = "DURATION")]
    pub for_time: Option<Period>,
}

/// `adopt`
#[derive(Debug, Args)]
pub struct Adopt {
    /// The fleet.
    #[command(flatten)]
    pub files: Files,
}

/// `forget`
#[derive(Debug, Args)]
pub struct Forget {
    /// The reaped sessions.
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// The fleet.
    #[command(flatten)]
    pub fleet: FleetFlag,
}

/// `reap`
#[derive(Debug, Args)]
pub struct Reap {
    /// Processes whose session is no more.
    #[arg(long, required = true)]
    pub strays: bool,
    /// Do not ask.
    #[arg(short = 'y', long)]
    pub yes: bool,
}
