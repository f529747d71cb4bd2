//! The command line: reads the words, runs the verb, prints, and gives the exit code. One file a verb.
//!
//! Data goes to standard output, everything else to standard error.

pub mod adopt;
pub mod apply;
pub mod args;
pub mod attach;
pub mod children;
pub mod context;
pub mod conversations;
pub mod describe;
pub mod doctor;
pub mod down;
pub mod early;
pub mod error;
pub mod events;
pub mod exit;
pub mod explain;
pub mod forget;
pub mod hold;
pub mod init;
pub mod installed;
pub mod internal;
pub mod logs;
pub mod output;
pub mod plan;
pub mod protocol;
pub mod reap;
pub mod render;
pub mod resident;
pub mod restart;
pub mod revision;
pub mod schema;
pub mod session;
pub mod status;
pub mod table;
pub mod target;
pub mod validate;
pub mod watch;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Verb};
use context::Context;
use error::CliError;
use exit::Exit;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(exit) = internal::run(std::env::args_os()) {
        return exit;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A usage error that cannot even be printed still is one.
            let _ = error.print();
            let help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if help { Exit::Ok } else { Exit::Usage }.into();
        }
    };
    let context = Context::new(cli.global);
    let result = run(cli.verb, &context);
    match result {
        Ok(exit) => exit.into(),
        Err(CliError::BrokenPipe) => Exit::Ok.into(),
        Err(error) => {
            context.output.error(&error);
            error.exit().into()
        }
    }
}

fn run(verb: Verb, context: &Context) -> Result<Exit, CliError> {
    match verb {
        Verb::Init(args) => init::run(context, &args),
        Verb::Validate(args) => validate::run(context, &args),
        Verb::Render(args) => render::run(context, &args),
        Verb::Plan(args) => plan::run(context, &args),
        Verb::Apply(args) => apply::run(context, &args),
        Verb::Down(args) => down::run(context, &args),
        Verb::Watch(args) => watch::run(context, &args),
        Verb::Status(args) => status::run(context, &args),
        Verb::Attach(args) => attach::run(context, &args),
        Verb::Stop(args) => hold::stop(context, &args),
        Verb::Start(args) => hold::start(context, &args),
        Verb::Restart(args) => restart::run(context, &args),
        Verb::Children(args) => children::run(context, &args),
        Verb::Dismiss(args) => children::dismiss(context, &args),
        Verb::Spawn(args) => session::spawn(context, &args),
        Verb::Whoami(args) => session::whoami(context, &args),
        Verb::Pause(args) => hold::pause(context, &args),
        Verb::Unpause(args) => hold::unpause(context, &args),
        Verb::Unprotect(args) => hold::unprotect(context, &args),
        Verb::Adopt(args) => adopt::run(context, &args),
        Verb::Forget(args) => forget::run(context, &args),
        Verb::Reap(args) => reap::run(context, &args),
        Verb::Describe(args) => describe::run(context, &args),
        Verb::Conversations(args) => conversations::run(context, &args),
        Verb::Logs(args) => logs::run(context, &args),
        Verb::Events(args) => events::run(context, &args),
        Verb::Doctor(args) => doctor::run(context, &args),
        Verb::Schema(args) => schema::run(context, &args),
        Verb::Explain(args) => explain::run(context, &args),
    }
}
