//! Warnings: what is legal and surely not meant.

use super::argument::{CONVERSATION, CWD, basename};
use super::context::Context;
use super::layers::{Layers, steps};
use super::suggest::listed;
use crate::agents::choice;
use crate::agents::kind::Kind;
use crate::spec::settings::Settings;

/// Shells whose argument behind `-c` is a script.
const SHELLS: [&str; 6] = ["bash", "dash", "fish", "ksh", "sh", "zsh"];

/// Looks for shell syntax and for slots that stay literal text.
pub fn argv(context: &Context<'_>, layers: &Layers, field: &str, argv: &[String]) {
    for (index, argument) in argv.iter().enumerate() {
        let script = is_script(argv, index);
        let Some(message) = slot(argument).or_else(|| if script { None } else { shell_word(argument) }) else {
            continue;
        };
        let draft = context.draft(layers, &steps(&[field, &index.to_string()]), message);
        context.report(draft.into_warning());
    }
}

fn is_script(argv: &[String], index: usize) -> bool {
    index >= 2
        && argv[index - 1].starts_with('-')
        && argv[index - 1].ends_with('c')
        && argv[..index - 1].iter().any(|word| SHELLS.contains(&basename(word)))
}

fn slot(argument: &str) -> Option<String> {
    let slot = [CWD, CONVERSATION].into_iter().find(|slot| argument.contains(slot) && argument != *slot)?;
    Some(format!("`{slot}` inside an argument stays as it is; only a whole argument is filled in"))
}

fn shell_word(argument: &str) -> Option<String> {
    let operator =
        matches!(argument, "&&" | "||" | "|" | ";" | "&" | ">" | ">>" | "<" | "<<" | "2>" | "2>&1" | "&>" | ">&2");
    if operator {
        return Some(format!(
            "`{argument}` is passed on as an argument: no shell runs this command; use [sh, -c, \"…\"]"
        ));
    }
    let mut dollars = argument.match_indices('$').filter_map(|(at, _)| argument[at + 1..].chars().next());
    dollars.any(|next| next.is_ascii_alphabetic() || matches!(next, '_' | '{' | '(')).then(|| {
        format!("`{argument}` is passed on as it is: no shell fills in a `$`; use ${{env:NAME}} or [sh, -c, \"…\"]")
    })
}

/// Which of the session's choices, and of the kind's own arguments, an explicit resume command does not repeat.
pub fn unrepeated(context: &Context<'_>, layers: &Layers, kind: &Kind, settings: &Settings, resume: &[String]) {
    let choices = settings.choices();
    let mut missing = choice::unrepeated(kind, &choices, resume);
    missing.extend(kind.args.iter().map(String::as_str).filter(|arg| !resume.iter().any(|word| word == arg)));
    if !missing.is_empty() {
        let message = format!("this resume command is run as written, and does not repeat {}", listed(missing, "and"));
        context.report(context.draft(layers, &["resume".into()], message).into_warning());
    }
}
