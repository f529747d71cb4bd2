//! A session's command: what it starts, what its kind is, how it is resumed, and whether that can work.

use super::argument::{CONVERSATION, CWD, basename};
use super::context::Context;
use super::layers::{Layers, steps};
use super::lint;
use super::profile::Kinds;
use super::suggest::{did_you_mean, listed};
use crate::agents::argv::{self, NotDerivable};
use crate::agents::choice::{self, Choice};
use crate::agents::kind::{ConversationForms, Kind};
use crate::agents::remote;
use crate::spec::name::Name;
use crate::spec::settings::Settings;

/// The kind that knows nothing of its program.
pub const GENERIC: &str = "generic";

/// A checked command.
pub struct Command {
    /// The kind.
    pub kind: Name,
    /// The invocation.
    pub invocation: Vec<String>,
    /// The resume command, where one was written.
    pub resume: Option<Vec<String>>,
}

/// Checks the command of `settings`. `raw`: it is the session's own, not a profile's.
pub fn command(
    context: &Context<'_>,
    layers: &Layers,
    kinds: &Kinds<'_>,
    settings: &Settings,
    raw: bool,
) -> Option<Command> {
    let Some(invocation) = settings.invocation.as_ref().map(|argv| argv.0.clone()) else {
        context.error(
            layers,
            &["profile".into()],
            "this profile has no `invocation`, nor a `kind` that gives one",
            None,
        );
        return None;
    };
    if !arguments(context, layers, "invocation", &invocation) {
        return None;
    }
    let kind = kind_of(kinds, settings, raw)?;
    let Some(known) = kinds.get(kind.as_str()) else {
        let message = format!("there is no kind `{kind}`");
        let help = did_you_mean(kind.as_str(), kinds.names());
        let draft = context.draft(layers, &["kind".into()], message).help(help);
        context.report(draft.expected(format!("one of {}", listed(kinds.names(), "or"))));
        return None;
    };
    let resume = settings.resume.as_ref().map(|argv| argv.0.clone());
    let mut good = local(context, layers, known, &invocation) && itself(context, layers, known, &invocation);
    good &= choices(context, layers, known, settings);
    good &= match &resume {
        Some(resume) => explicit_resume(context, layers, known, resume),
        None => derivable(context, layers, known, &invocation),
    };
    lint::argv(context, layers, "invocation", &invocation);
    if let Some(resume) = &resume {
        lint::argv(context, layers, "resume", resume);
        lint::unrepeated(context, layers, known, settings, resume);
    }
    good.then_some(Command { kind, invocation, resume })
}

/// The kind of a command: the one that is said; of a session's own command (`raw`) that of its program; else `generic`.
pub fn kind_of(kinds: &Kinds<'_>, settings: &Settings, raw: bool) -> Option<Name> {
    if let Some(kind) = &settings.kind {
        return Some(kind.clone());
    }
    let program = settings.invocation.as_ref().and_then(|argv| argv.0.first()).filter(|_| raw);
    let known = program.and_then(|program| kinds.by_program(basename(program))).cloned();
    known.or_else(|| Name::new(GENERIC).ok())
}

/// What holds of every command: there is a program, no slot is the program, no argument holds a NUL.
pub fn arguments(context: &Context<'_>, layers: &Layers, field: &str, argv: &[String]) -> bool {
    let wrong = |index: usize, message: String| {
        context.error(layers, &steps(&[field, &index.to_string()]), message, None);
        false
    };
    let Some(program) = argv.first() else { return wrong(0, "the command is empty".to_owned()) };
    if program.is_empty() {
        return wrong(0, "the program's name is empty".to_owned());
    }
    if program == CWD || program == CONVERSATION {
        return wrong(0, format!("`{program}` cannot be the program: argument 0 is never filled in"));
    }
    if let Some(index) = argv.iter().position(|argument| argument.contains('\0')) {
        return wrong(index, "an argument cannot hold a NUL".to_owned());
    }
    if field != "resume"
        && let Some(index) = argv.iter().position(|argument| argument == CONVERSATION)
    {
        return wrong(index, format!("`{CONVERSATION}` is only known to `resume`"));
    }
    true
}

/// An integrated agent lives in this host's process table.
fn local(context: &Context<'_>, layers: &Layers, kind: &Kind, invocation: &[String]) -> bool {
    let program = basename(&invocation[0]);
    if kind.name.as_str() == GENERIC || !remote::takes_elsewhere(program) {
        return true;
    }
    let message = format!(
        "`{program}` takes `{}` out of this host's process table: hooks, markers and reap do not reach it there",
        kind.name
    );
    context.error(layers, &steps(&["invocation", "0"]), message, Some("run it as `kind: generic`".to_owned()));
    false
}

/// The program is no other one that is easily taken for the agent.
fn itself(context: &Context<'_>, layers: &Layers, kind: &Kind, invocation: &[String]) -> bool {
    let program = basename(&invocation[0]);
    let Some(what) = kind.mistaken(program) else { return true };
    let message = format!("`{program}` is not the program of kind `{}`: it is {what}", kind.name);
    let help = kind.executables.first().map(|own| format!("the program is `{own}`"));
    context.error(layers, &steps(&["invocation", "0"]), message, help);
    false
}

fn explicit_resume(context: &Context<'_>, layers: &Layers, kind: &Kind, resume: &[String]) -> bool {
    if !arguments(context, layers, "resume", resume) {
        return false;
    }
    let names_it = resume.iter().any(|argument| argument == CONVERSATION);
    let message = match (&kind.conversation, names_it) {
        (Some(_), false) => {
            format!("a resume command of kind `{}` must have `{CONVERSATION}` as an argument of its own", kind.name)
        }
        (None, true) => {
            format!("kind `{}` has no conversations, so `{CONVERSATION}` can never be filled in", kind.name)
        }
        _ => return true,
    };
    context.error(layers, &["resume".into()], message, None);
    false
}

/// A resume command can be derived, or is not needed.
fn derivable(context: &Context<'_>, layers: &Layers, kind: &Kind, invocation: &[String]) -> bool {
    let Some(forms) = &kind.conversation else { return true };
    let message = match argv::derivable(kind, invocation) {
        Ok(()) | Err(NotDerivable::NoForm(_)) => return true,
        Err(NotDerivable::OtherProgram { .. }) => format!(
            "how to resume cannot be derived: `{}` is not {}, the program of kind `{}`",
            basename(&invocation[0]),
            listed(kind.executables.iter().map(String::as_str), "or"),
            kind.name
        ),
        Err(NotDerivable::Excluded(word)) => excluded(&word),
        Err(NotDerivable::OptionsEnded) => excluded("--"),
    };
    let help = format!("write it out, such as `resume: {}`", listed_argv(invocation, forms));
    context.error(layers, &["invocation".into()], message, Some(help));
    false
}

fn excluded(word: &str) -> String {
    format!("how to resume cannot be derived from an invocation with `{word}`")
}

fn listed_argv(invocation: &[String], forms: &ConversationForms) -> String {
    let kept = invocation.iter().filter(|word| *word != "--" && forms.excluded_by(word).is_none());
    let words = kept.chain(&forms.resume);
    let quote = |word: &String| match word.contains(['{', '}', ' ', ',', '[', ']', ':', '#', '"', '\'']) {
        true => format!("{word:?}"),
        false => word.clone(),
    };
    format!("[{}]", words.map(quote).collect::<Vec<_>>().join(", "))
}

/// Every choice can be expressed by the kind.
fn choices(context: &Context<'_>, layers: &Layers, kind: &Kind, settings: &Settings) -> bool {
    let wanted = settings.choices();
    let prompt = settings.prompt.as_ref().map(|_| Choice::Prompt);
    let mut good = true;
    for made in choice::made(&wanted).chain(prompt) {
        if choice::can_express(kind, made).is_err() {
            inexpressible(context, layers, kind, made);
            good = false;
        }
    }
    good
}

fn inexpressible(context: &Context<'_>, layers: &Layers, kind: &Kind, choice: Choice<'_>) {
    let at = [if choice == Choice::Prompt { prompt_field(context, layers) } else { choice.field() }.into()];
    let forms = &kind.choices;
    let draft = match choice {
        Choice::Effort(level) if forms.effort.is_some() => {
            let levels = || forms.effort_values.iter().map(String::as_str);
            let message = format!("kind `{}` has no effort `{level}`", kind.name);
            let draft = context.draft(layers, &at, message).help(did_you_mean(level, levels()));
            draft.expected(listed(levels(), "or"))
        }
        _ => {
            let words = match choice {
                Choice::Model(_) | Choice::Effort(_) => choice.field().to_owned(),
                _ => choice.to_string(),
            };
            let message = format!("kind `{}` cannot express `{words}`", kind.name);
            context.draft(layers, &at, message).expected(expressible(kind))
        }
    };
    context.report(draft);
}

/// The field that gave the prompt.
fn prompt_field(context: &Context<'_>, layers: &Layers) -> &'static str {
    match layers.origin(&context.files, &["prompt".into()]) {
        Some(_) => "prompt",
        None => "prompt_file",
    }
}

fn expressible(kind: &Kind) -> String {
    let can = choice::expressible(kind);
    match listed(can.iter().map(String::as_str), "and").as_str() {
        "" => format!("no choice: kind `{}` can express none", kind.name),
        some => format!("only what it can: {some}"),
    }
}

/// Takes out choices that only `defaults` make and that `generic` cannot express: they are meant for agents.
pub fn without_inherited_choices(context: &Context<'_>, layers: &Layers, settings: &mut Settings) {
    let inherited = |field: &str| layers.said_at(&context.files, &[field.into()]).is_some_and(|at| at == "defaults");
    if inherited("model") {
        settings.model = None;
    }
    if inherited("effort") {
        settings.effort = None;
    }
    if inherited("permissions") {
        settings.permissions = None;
    }
    if inherited("trust") {
        settings.trust = None;
    }
    if inherited("hook_trust") {
        settings.hook_trust = None;
    }
    if inherited("agent_view") {
        settings.agent_view = None;
    }
    if inherited("prompt") || inherited("prompt_file") {
        settings.prompt = None;
    }
}
