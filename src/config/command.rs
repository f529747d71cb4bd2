//! A session's command: what it starts, what its kind is, how it is resumed, and whether that can work.

use super::context::Context;
use super::layers::{Layers, steps};
use super::lint;
use super::profile::Kinds;
use super::suggest::{did_you_mean, listed};
use crate::agents::kind::{ConversationForms, Kind};
use crate::spec::name::Name;
use crate::spec::settings::{Permissions, Settings, Trust};

/// The kind that knows nothing of its program.
pub const GENERIC: &str = "generic";
/// The slot of the directory.
pub const CWD: &str = "{cwd}";
/// The slot of the conversation.
pub const CONVERSATION: &str = "{conversation}";

/// Programs that run their command somewhere else, where hooks, markers and reap do not reach.
const REMOTE: [&str; 22] = [
    "apptainer",
    "buildah",
    "devcontainer",
    "distrobox",
    "docker",
    "docker-compose",
    "incus",
    "kubectl",
    "limactl",
    "lxc",
    "machinectl",
    "mosh",
    "multipass",
    "nerdctl",
    "nsenter",
    "oc",
    "podman",
    "singularity",
    "ssh",
    "systemd-nspawn",
    "toolbox",
    "vagrant",
];

/// A checked command.
pub struct Command {
    /// The kind.
    pub kind: Name,
    /// The invocation.
    pub invocation: Vec<String>,
    /// The resume command, where one was written.
    pub resume: Option<Vec<String>>,
}

/// A program's name without its directory.
#[must_use]
pub fn basename(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
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
    let kind = match &settings.kind {
        Some(kind) => kind.clone(),
        None => raw
            .then(|| kinds.by_program(basename(&invocation[0])))
            .flatten()
            .cloned()
            .or_else(|| Name::new(GENERIC).ok())?,
    };
    let Some(known) = kinds.get(kind.as_str()) else {
        let message = format!("there is no kind `{kind}`");
        let help = did_you_mean(kind.as_str(), kinds.names());
        let draft = context.draft(layers, &["kind".into()], message).help(help);
        context.report(draft.expected(format!("one of {}", listed(kinds.names(), "or"))));
        return None;
    };
    let resume = settings.resume.as_ref().map(|argv| argv.0.clone());
    let mut good = local(context, layers, known, &invocation);
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
    if kind.name.as_str() == GENERIC || !REMOTE.contains(&program) {
        return true;
    }
    let message = format!(
        "`{program}` takes `{}` out of this host's process table: hooks, markers and reap do not reach it there",
        kind.name
    );
    context.error(layers, &steps(&["invocation", "0"]), message, Some("run it as `kind: generic`".to_owned()));
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
    let program = basename(&invocation[0]);
    let example = listed_argv(invocation, forms);
    let message = if !kind.executables.iter().any(|own| own == program) {
        format!(
            "how to resume cannot be derived: `{program}` is not {}, the program of kind `{}`",
            listed(kind.executables.iter().map(String::as_str), "or"),
            kind.name
        )
    } else if let Some(word) = invocation.iter().skip(1).find(|word| forbids(forms, word)) {
        format!("how to resume cannot be derived from an invocation with `{word}`")
    } else {
        return true;
    };
    context.error(layers, &["invocation".into()], message, Some(format!("write it out, such as `resume: {example}`")));
    false
}

fn forbids(forms: &ConversationForms, word: &str) -> bool {
    forms.not_with.iter().any(|no| {
        word == no
            || no.starts_with("--")
                && word.strip_prefix(no.as_str()).is_some_and(|rest| rest.starts_with('=') && no.len() > 2)
    })
}

fn listed_argv(invocation: &[String], forms: &ConversationForms) -> String {
    let words = invocation.iter().filter(|word| !forbids(forms, word)).chain(&forms.resume);
    let quote = |word: &String| match word.contains(['{', '}', ' ', ',', '[', ']', ':', '#', '"', '\'']) {
        true => format!("{word:?}"),
        false => word.clone(),
    };
    format!("[{}]", words.map(quote).collect::<Vec<_>>().join(", "))
}

/// Every choice can be expressed by the kind.
fn choices(context: &Context<'_>, layers: &Layers, kind: &Kind, settings: &Settings) -> bool {
    let forms = &kind.choices;
    let yolo = settings.permissions == Some(Permissions::Yolo);
    let trust = |wanted, args: &[String]| settings.trust == Some(wanted) && args.is_empty();
    let impossible = [
        ("model", settings.model.is_some() && forms.model.is_empty(), "model"),
        ("effort", settings.effort.is_some() && forms.effort.is_empty(), "effort"),
        ("permissions", yolo && forms.yolo.is_empty(), "permissions: yolo"),
        ("trust", trust(Trust::Trusted, &forms.trusted), "trust: trusted"),
        ("trust", trust(Trust::Untrusted, &forms.untrusted), "trust: untrusted"),
        ("prompt", settings.prompt.is_some() && kind.prompt.is_none(), "prompt"),
    ];
    let mut good = true;
    for (field, _, words) in impossible.iter().filter(|(_, impossible, _)| *impossible) {
        let at = if *field == "prompt" { prompt_field(context, layers) } else { field };
        let message = format!("kind `{}` cannot express `{words}`", kind.name);
        context.report(context.draft(layers, &[at.into()], message).expected(expressible(kind)));
        good = false;
    }
    if let Some(effort) = settings.effort.as_ref().filter(|_| !forms.effort.is_empty())
        && !forms.effort_values.is_empty()
        && !forms.effort_values.contains(effort)
    {
        let at = ["effort".into()];
        let message = format!("kind `{}` has no effort `{}`", kind.name, effort);
        let levels = || forms.effort_values.iter().map(String::as_str);
        let draft = context.draft(layers, &at, message).help(did_you_mean(effort, levels()));
        context.report(draft.expected(listed(levels(), "or")));
        good = false;
    }
    good
}

/// The field that gave the prompt.
fn prompt_field(context: &Context<'_>, layers: &Layers) -> &'static str {
    match layers.origin(&context.files, &["prompt".into()]) {
        Some(_) => "prompt",
        None => "prompt_file",
    }
}

fn expressible(kind: &Kind) -> String {
    let forms = &kind.choices;
    let can = [
        ("model", !forms.model.is_empty()),
        ("effort", !forms.effort.is_empty()),
        ("permissions: yolo", !forms.yolo.is_empty()),
        ("trust: trusted", !forms.trusted.is_empty()),
        ("trust: untrusted", !forms.untrusted.is_empty()),
        ("prompt", kind.prompt.is_some()),
    ];
    match listed(can.iter().filter(|(_, can)| *can).map(|(name, _)| *name), "and").as_str() {
        "" => format!("no choice: kind `{}` can express none", kind.name),
        some => format!("only what it can: {some}"),
    }
}
