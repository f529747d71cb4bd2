//! `spawn`, `dismiss` and `whoami`: what an agent asks for from inside its session. The resident `watch` answers where
//! there is one, and otherwise the verb itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::desired::Desired;
use crate::host::clock::{Clock, Interrupt};
use crate::host::real::Machine;
use crate::plan::Request;
use crate::plan::spawn::{Granted, Refusal};
use crate::reconcile::pass::{Patience, Reconciler, Setup};
use crate::reconcile::spawn::{Credentials, SpawnError, Who};
use crate::spec::name::Name;
use crate::spec::visible::visible;
use crate::state::kept;
use crate::state::layout::Layout;
use crate::state::record::SessionId;

use super::args::{Spawn, WhoAmI};
use super::context::{Context, globs};
use super::error::CliError;
use super::exit::Exit;
use super::protocol::{Answer, Ask};
use super::resident::Resident;

/// How long the launch of what was granted is followed.
const FOLLOWED: Duration = Duration::from_secs(60);
/// How long an answer may take: a pass may be under way.
const PATIENCE: Duration = Duration::from_secs(90);

impl From<SpawnError> for CliError {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::Refused(refusal) => Self::Other(format!("refused: {refusal}")),
            SpawnError::Pass(error) => Self::Pass(error),
        }
    }
}

/// The session that this process runs in.
struct Inside<'a> {
    context: &'a Context,
    machine: Machine,
    who: Credentials,
    state_dir: PathBuf,
    socket: PathBuf,
}

impl<'a> Inside<'a> {
    fn of(context: &'a Context) -> Result<Self, CliError> {
        let nobody = || CliError::Other(format!("refused: {}", Refusal::Nobody));
        let id = context.var("FARHELM_SESSION_ID").and_then(|id| uuid::Uuid::parse_str(id).ok()).ok_or_else(nobody)?;
        let token = context.var("FARHELM_SESSION_TOKEN").ok_or_else(nobody)?;
        let socket = PathBuf::from(context.var("FARHELM_SUPERVISOR_SOCK").ok_or_else(nobody)?);
        let state_dir = socket.parent().filter(|dir| dir.is_absolute()).ok_or_else(nobody)?.to_owned();
        let who = Credentials::new(SessionId(id), token.to_owned());
        Ok(Self { context, machine: context.machine(true)?, who, state_dir, socket })
    }

    fn ask(&self, ask: Ask) -> Result<Option<Resident>, CliError> {
        Resident::ask(&self.socket, ask)
    }

    /// What the `watch` answers; a refusal is an error.
    fn answer(&self, resident: &mut Resident) -> Result<Answer, CliError> {
        let go_on = || self.machine.interrupt() == Interrupt::None;
        match resident.answer(PATIENCE, &go_on) {
            Ok(Some(Answer::Refused { words, .. })) => Err(CliError::Other(format!("refused: {}", visible(&words)))),
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(CliError::Other("the watch of this fleet does not answer; ask again later".to_owned())),
            Err(error) => Err(CliError::Other(format!("the watch of this fleet ended before it answered: {error}"))),
        }
    }

    /// Does by itself what a `watch` would: with the fleet as it was last applied.
    fn alone<T>(
        &self,
        actor: &str,
        act: impl FnOnce(&Reconciler<'_>, &Desired) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let setup = Setup { state_dir: self.state_dir.clone(), ..self.context.setup_at(&self.state_dir, actor)? };
        let record = Reconciler::new(&self.machine, &setup)?.recognise(&self.who)?;
        let kept = kept::of_fleet(&self.machine, &Layout::new(&self.state_dir), &record.fleet);
        let kept = kept.map_err(|error| CliError::Other(error.to_string()))?;
        let kept = kept.ok_or_else(|| SpawnError::from(Refusal::NotApplied(record.fleet.clone())))?;
        let socket = record.launch().map_or_else(|| setup.socket.clone(), |launch| launch.socket.clone());
        let setup = Setup { revision: kept.revision, socket, ..setup };
        act(&Reconciler::new(&self.machine, &setup)?, &kept.desired)
    }
}

/// Asks for a session, and prints its name.
///
/// # Errors
/// A refusal, with its reason; what keeps the request from being made.
pub fn spawn(context: &Context, args: &Spawn) -> Result<Exit, CliError> {
    let inside = Inside::of(context)?;
    let ask = request(args)?;
    let (who, kept) = (inside.who.clone(), ask.clone());
    let Some(mut resident) = inside.ask(Ask::Spawn { who, ask })? else {
        return inside.alone("spawn", |reconciler, desired| {
            let granted = reconciler.spawn(desired, &inside.who, &kept)?;
            context.output.data(granted.child().name.as_str())?;
            launch(context, reconciler, desired, &granted)
        });
    };
    match inside.answer(&mut resident)? {
        Answer::Spawned(name) => {
            context.output.data(name.as_str())?;
            follow(&inside, &mut resident, &name)
        }
        Answer::Known(name) => {
            context.output.data(name.as_str())?;
            Ok(Exit::Ok)
        }
        _ => Err(CliError::Other("the watch of this fleet answered something else".to_owned())),
    }
}

/// Launches what was granted, as nobody else does.
fn launch(
    context: &Context,
    reconciler: &Reconciler<'_>,
    desired: &Desired,
    granted: &Granted,
) -> Result<Exit, CliError> {
    if matches!(granted, Granted::Before(_)) {
        return Ok(Exit::Ok);
    }
    let name = granted.child().name.to_string();
    let mut request = Request::default();
    request.selection.only = globs(&[name])?;
    let mut report = |_: &_| {};
    let outcome = reconciler.converge(desired, &request, Patience::default(), &mut report)?;
    for done in &outcome.done {
        let came = done.failure.as_ref().map_or_else(|| "ok".to_owned(), |words| visible(words));
        context.output.message(&format!("{}: {}: {came}", done.session, done.what));
    }
    Ok(if outcome.failed() { Exit::SomeFailed } else { Exit::Ok })
}

/// Says what becomes of it.
fn follow(inside: &Inside<'_>, resident: &mut Resident, name: &Name) -> Result<Exit, CliError> {
    let output = &inside.context.output;
    let go_on = || inside.machine.interrupt() == Interrupt::None;
    match resident.answer(FOLLOWED, &go_on) {
        Ok(Some(Answer::Done(done))) => match done.failure {
            None => {
                output.message(&format!("{name}: {}: ok", done.what));
                Ok(Exit::Ok)
            }
            Some(words) => {
                output.message(&format!("{name}: {}: {}", done.what, visible(&words)));
                Ok(Exit::SomeFailed)
            }
        },
        Ok(Some(Answer::Held(words))) => {
            output.message(&format!("{name} is granted, and not launched yet: {}", visible(&words)));
            Ok(Exit::Ok)
        }
        Ok(_) | Err(_) => {
            output.message(&format!("{name} was granted; `farhelm status {name}` says how it is"));
            Ok(Exit::Ok)
        }
    }
}

fn request(args: &Spawn) -> Result<crate::plan::spawn::Ask, CliError> {
    let prompt = match (&args.prompt, &args.prompt_file) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(path)) => Some(read_prompt(path)?),
        (None, None) => None,
    };
    let name = |text: &String| Name::new(text.clone()).map_err(|error| CliError::Usage(error.to_string()));
    let dir = std::env::current_dir()?.join(&args.dir);
    Ok(crate::plan::spawn::Ask {
        profile: name(&args.profile)?,
        dir: dir.canonicalize().unwrap_or(dir),
        prompt,
        title: args.title.clone(),
        name: args.name.as_ref().map(name).transpose()?,
        key: args.idempotency_key.clone(),
    })
}

/// A prompt's file, `-` for standard input; one byte more than a prompt may have is refused later.
fn read_prompt(path: &Path) -> Result<String, CliError> {
    use std::io::Read;
    let limit = crate::spec::words::MAX_PROMPT as u64 + 2;
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text))
    };
    read.map_err(|error| CliError::Other(format!("cannot read the prompt {}: {error}", path.display())))?;
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}

/// Says that children of this session are no longer wanted.
///
/// # Errors
/// A refusal, with its reason; what keeps the request from being made.
pub fn dismiss(context: &Context, names: &[Name]) -> Result<Exit, CliError> {
    let inside = Inside::of(context)?;
    let (who, wanted) = (inside.who.clone(), names.to_vec());
    if let Some(mut resident) = inside.ask(Ask::Dismiss { who, names: wanted })? {
        inside.answer(&mut resident)?;
        return Ok(Exit::Ok);
    }
    inside.alone("dismiss", |reconciler, desired| {
        reconciler.dismiss(desired, &inside.who, names)?;
        let mut request = Request::default();
        request.selection.only = globs(&names.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let outcome = reconciler.converge(desired, &request, Patience::default(), &mut |_| {})?;
        for done in outcome.done.iter().filter_map(|done| Some((done, done.failure.as_ref()?))) {
            context.output.message(&format!("{}: {}: {}", done.0.session, done.0.what, visible(done.1)));
        }
        Ok(if outcome.failed() { Exit::SomeFailed } else { Exit::Ok })
    })
}

/// Whether this process runs in a session that may speak for itself.
#[must_use]
pub fn is_inside(context: &Context) -> bool {
    context.var("FARHELM_SESSION_TOKEN").is_some() && context.var("FARHELM_AGENT_ID").is_some()
}

/// Prints which session this is, and what it may ask for.
///
/// # Errors
/// A refusal, with its reason; what keeps the request from being made.
pub fn whoami(context: &Context, args: &WhoAmI) -> Result<Exit, CliError> {
    let inside = Inside::of(context)?;
    let who = match inside.ask(Ask::Who(inside.who.clone()))? {
        Some(mut resident) => match inside.answer(&mut resident)? {
            Answer::Who(who) => *who,
            _ => return Err(CliError::Other("the watch of this fleet answered something else".to_owned())),
        },
        None => inside.alone("whoami", |reconciler, desired| Ok(reconciler.who(desired, &inside.who)?))?,
    };
    if args.json {
        context.output.json(&who)?;
    } else {
        context.output.data(&text(&who))?;
    }
    Ok(Exit::Ok)
}

fn text(who: &Who) -> String {
    let names = |names: &[Name]| crate::plan::spawn::listed(names.iter());
    let mut lines = vec![
        format!("session  {} ({})", who.session, who.id),
        format!("fleet    {}", who.fleet),
        format!("kind     {}", who.kind),
        format!("dir      {}", visible(&who.dir.display().to_string())),
    ];
    lines.extend(who.parent.as_ref().map(|parent| format!("parent   {parent}")));
    lines.push(format!("children {}", names(&who.children)));
    let room = if who.may_spawn.is_empty() { String::new() } else { format!("; {} more", who.room) };
    lines.push(format!("may ask  for {}{room}", names(&who.may_spawn)));
    lines.join("\n")
}
