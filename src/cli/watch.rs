//! `watch`

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agents::catalogue;
use crate::config::load::{self, LoadRequest};
use crate::host::clock::{Clock, Interrupt};
use crate::host::real::Machine;
use crate::host::real::news::Inbox;
use crate::reconcile::pass::Setup;
use crate::reconcile::watch::files::{Fresh, Source};
use crate::reconcile::watch::restraint::Switches;
use crate::reconcile::watch::{Said, Watch};
use crate::state::fields;
use crate::state::kept;
use crate::state::layout::Layout;

use super::args::{self, Files};
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::revision;

mod desk;
mod journal;
mod supervisor;
mod unit;

use desk::Desk;
use journal::Journal;
use supervisor::Supervisor;

/// Stays and keeps the fleet as its files say, until it is interrupted. Every session is left as it is then.
///
/// # Errors
/// When the files cannot be used and nothing is known of them, or another `watch` keeps the fleet.
pub fn run(context: &Context, args: &args::Watch) -> Result<Exit, CliError> {
    if args.files.paths.iter().any(|path| path == Path::new("-")) {
        return Err(CliError::Usage("watch needs files that it can read again; `-` is not one".to_owned()));
    }
    if args.print_unit {
        context.output.data(&unit::text(context, args)?)?;
        return Ok(Exit::Ok);
    }
    let machine = context.machine(true)?;
    let mut source = Fleet::new(context, &machine, &args.files)?;
    let setup = Setup { attended: false, ..context.setup(&machine, "watch", None)? };
    let layout = Layout::new(&setup.state_dir);
    let mut supervisor = Supervisor::of(context);
    let journal = RefCell::new(Journal::new(args.log));
    let mut tell = |said: &Said| journal.borrow_mut().say(machine.now(), said);
    let switches = Switches { heal: !args.no_heal, apply: !args.no_apply };
    let key = kept::key(&source.request.asked());
    let mut watch = Watch::start(&machine, setup, key, switches, &mut source, &mut tell)
        .map_err(|error| CliError::Other(error.to_string()))?;
    let fleet = watch.desired().fleet.clone().ok_or_else(|| CliError::Other("the fleet has no name".to_owned()))?;
    let (desk, closed) = Desk::open(&machine, &layout, &fleet);
    if let Some(why) = closed {
        context.output.message(&format!("warning: {why}; nothing can be asked of this watch"));
    }
    let desk = RefCell::new(desk);
    let mut tell = |said: &Said| {
        journal.borrow_mut().say(machine.now(), said);
        desk.borrow_mut().told(said);
    };
    let mut inbox = Inbox::open()?;
    // Listens before it looks: what happens meanwhile is news.
    let mut news = inbox.wait(&machine, &watch.interest(), Duration::ZERO);
    while machine.interrupt() == Interrupt::None {
        watch.hear(&news, &mut source, &mut tell);
        supervisor.alive(&format!("{} sessions of {fleet}", watch.desired().sessions.len()));
        desk.borrow_mut().serve(&mut watch);
        let desk = desk.borrow();
        let patience = desk.patience(supervisor.patience(watch.patience()));
        news = inbox.wait_beside(&machine, &watch.interest(), patience, &desk.fds());
    }
    supervisor.stopping();
    watch.finish(&mut tell);
    Ok(Exit::Ok)
}

/// The fleet's files.
struct Fleet<'a> {
    machine: &'a Machine,
    request: LoadRequest,
    trail: BTreeSet<PathBuf>,
}

impl<'a> Fleet<'a> {
    fn new(context: &Context, machine: &'a Machine, files: &Files) -> Result<Self, CliError> {
        Ok(Self { machine, request: context.load_request(files)?, trail: BTreeSet::new() })
    }
}

impl Source for Fleet<'_> {
    fn load(&mut self) -> Result<Fresh, String> {
        let (loaded, trail) = load::trace(&self.request, catalogue::builtin(), &mut std::io::empty());
        match loaded {
            Ok(loaded) => {
                let revision = revision::of(self.machine, &loaded.desired);
                let watched = loaded.desired.sessions.values().flat_map(fields::watched);
                let watched = watched.filter_map(fields::watched_path).cloned();
                self.trail = trail.into_iter().chain(watched).collect();
                Ok(Fresh { desired: loaded.desired, revision })
            }
            Err(problems) => {
                // What was right may come back under its name.
                self.trail.extend(trail);
                Err(problems.render(false).trim_end().to_owned())
            }
        }
    }

    fn trail(&self) -> &BTreeSet<PathBuf> {
        &self.trail
    }

    fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for path in &self.trail {
            let found = std::fs::metadata(path).ok();
            found.map(|f| (f.ino(), f.size(), f.mtime(), f.mtime_nsec())).hash(&mut hasher);
        }
        hasher.finish()
    }
}
