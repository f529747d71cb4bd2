//! Composing an agent's command line. Pure: the same inputs give the same arguments.
//!
//! The order is invocation, the kind's own arguments, choices, conversation, prompt. What hooks inject comes behind all of it.

use crate::config::desired::Session;
use crate::spec::name::Name;

use super::choice::{self, Choice, NotExpressible};
use super::kind::{ConversationForms, Kind, PromptForm};
use super::slots::{self, CONVERSATION, ImplausibleId};

/// The longest argument the kernel takes, in bytes (`MAX_ARG_STRLEN` less its NUL).
pub const MAX_ARGUMENT: usize = 128 * 1024 - 1;

/// How an agent is to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start<'a> {
    /// With a new conversation.
    Fresh {
        /// The first prompt.
        prompt: Option<&'a str>,
        /// The id the conversation is to have.
        assign: Option<&'a str>,
    },
    /// With this conversation.
    Resume {
        /// Its id, or what the kind resumes by.
        conversation: &'a str,
    },
    /// Without knowing of any conversation: an explicit `resume` that names none, else the invocation again.
    Verbatim,
}

/// What slots are filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots<'a> {
    /// The working directory.
    pub cwd: &'a str,
}

/// Why no command line can be composed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    /// A choice without arguments.
    #[error(transparent)]
    NotExpressible(#[from] NotExpressible),
    /// No `resume`, and none can be derived.
    #[error("no resume can be derived: {0}; write `resume` out")]
    NotDerivable(#[from] NotDerivable),
    /// The conversation's id is none.
    #[error(transparent)]
    ImplausibleId(#[from] ImplausibleId),
    /// The explicit `resume` of an integrated kind does not say what to resume.
    #[error("`resume` has no `{CONVERSATION}` argument: it would not resume this conversation")]
    ResumesAnother,
    /// `{conversation}` where none is known.
    #[error("`{CONVERSATION}` can only be filled in a `resume` of a kind with conversations")]
    NoConversation,
    /// The kind takes no id.
    #[error("kind `{0}` takes no conversation id at launch")]
    NotAssignable(Name),
    /// Arguments for the agent would stand behind its `--`.
    #[error("the invocation has a `--`: options behind it would not be read as options")]
    OptionsEnded,
    /// A prompt that looks like an option.
    #[error("the prompt begins with `-`, which the agent would take for an option: begin it with another character")]
    PromptLooksLikeOption,
    /// No program.
    #[error("the command is empty")]
    NoProgram,
    /// An argument with a NUL byte.
    #[error("argument {0} contains a NUL byte")]
    Nul(usize),
    /// An argument longer than [`MAX_ARGUMENT`].
    #[error("argument {place} is {bytes} bytes long; the kernel takes at most {MAX_ARGUMENT}")]
    TooLong {
        /// Its place in the command.
        place: usize,
        /// Its length.
        bytes: usize,
    },
}

/// Why no resume can be derived from an invocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotDerivable {
    /// The kind cannot resume.
    #[error("kind `{0}` has no conversations")]
    NoForm(Name),
    /// Somebody else's program comes first.
    #[error("`{word}` is not the program of kind `{kind}`")]
    OtherProgram {
        /// The first word.
        word: String,
        /// The kind.
        kind: Name,
    },
    /// The invocation already says which conversation.
    #[error("`{0}` is in the invocation")]
    Excluded(String),
    /// Arguments behind `--` are no options.
    #[error("`--` is in the invocation")]
    OptionsEnded,
}

impl ConversationForms {
    /// The word of `not_with` that `arg` is: the word itself, `--word=…`, or `-w…` of a one-letter option.
    #[must_use]
    pub fn excluded_by(&self, arg: &str) -> Option<&str> {
        let is = |word: &str| match arg.strip_prefix(word) {
            Some("") => true,
            Some(rest) if word.starts_with("--") => rest.starts_with('='),
            Some(_) => word.starts_with('-') && word.len() == 2,
            None => false,
        };
        self.not_with.iter().map(String::as_str).find(|word| is(word))
    }
}

/// Whether a resume can be derived from `invocation`: only when its program is the kind's own, and nothing in it speaks
/// of a conversation already.
///
/// # Errors
/// [`NotDerivable`] says why not.
pub fn derivable(kind: &Kind, invocation: &[String]) -> Result<(), NotDerivable> {
    let Some(forms) = &kind.conversation else { return Err(NotDerivable::NoForm(kind.name.clone())) };
    let word = invocation.first().map_or("", String::as_str);
    if !kind.is_program(word) {
        return Err(NotDerivable::OtherProgram { word: word.to_owned(), kind: kind.name.clone() });
    }
    for arg in invocation.iter().skip(1) {
        if arg == "--" {
            return Err(NotDerivable::OptionsEnded);
        }
        if forms.excluded_by(arg).is_some() {
            return Err(NotDerivable::Excluded(arg.clone()));
        }
    }
    Ok(())
}

/// The command line of `session`'s agent.
///
/// # Errors
/// [`ComposeError`]. What validation refuses is refused here again: a wrong command could start a second conversation.
pub fn compose(
    kind: &Kind,
    session: &Session,
    start: &Start<'_>,
    slots: &Slots<'_>,
) -> Result<Vec<String>, ComposeError> {
    let argv = match (start, &session.resume) {
        (Start::Fresh { prompt, assign }, _) => fresh(kind, session, *prompt, *assign, slots)?,
        (Start::Resume { conversation }, Some(resume)) => explicit_resume(kind, resume, conversation, slots)?,
        (Start::Resume { conversation }, None) => derived_resume(kind, session, conversation, slots)?,
        (Start::Verbatim, Some(resume)) if slots::mentions(resume, CONVERSATION) => {
            return Err(ComposeError::NoConversation);
        }
        (Start::Verbatim, Some(resume)) => slots::fill(resume, None, slots.cwd),
        (Start::Verbatim, None) => fresh(kind, session, None, None, slots)?,
    };
    executable(argv)
}

fn fresh(
    kind: &Kind,
    session: &Session,
    prompt: Option<&str>,
    assign: Option<&str>,
    slots: &Slots<'_>,
) -> Result<Vec<String>, ComposeError> {
    let mut argv = with_choices(kind, session, slots)?;
    if let Some(id) = assign {
        let forms = kind.conversation.as_ref().map_or(&[][..], |forms| &forms.assign);
        if forms.is_empty() {
            return Err(ComposeError::NotAssignable(kind.name.clone()));
        }
        argv.extend(conversation_form(forms, slots::plausible(id)?)?);
    }
    if let Some(prompt) = prompt {
        match &kind.prompt {
            None => choice::can_express(kind, Choice::Prompt)?,
            Some(PromptForm::Flag(flag)) if flag.ends_with('=') => argv.push(format!("{flag}{prompt}")),
            Some(_) if prompt.starts_with('-') => return Err(ComposeError::PromptLooksLikeOption),
            Some(PromptForm::Positional) => argv.push(prompt.to_owned()),
            Some(PromptForm::Flag(flag)) => argv.extend([flag.clone(), prompt.to_owned()]),
        }
    }
    Ok(argv)
}

fn explicit_resume(kind: &Kind, resume: &[String], id: &str, slots: &Slots<'_>) -> Result<Vec<String>, ComposeError> {
    if kind.conversation.is_none() {
        return Err(ComposeError::NoConversation);
    }
    if !slots::mentions(resume, CONVERSATION) {
        return Err(ComposeError::ResumesAnother);
    }
    Ok(slots::fill(resume, Some(slots::plausible_target(id)?), slots.cwd))
}

fn derived_resume(kind: &Kind, session: &Session, id: &str, slots: &Slots<'_>) -> Result<Vec<String>, ComposeError> {
    derivable(kind, &session.invocation)?;
    let Some(forms) = &kind.conversation else { return Err(NotDerivable::NoForm(kind.name.clone()).into()) };
    let mut argv = with_choices(kind, session, slots)?;
    let place = if forms.resume_first { 1 } else { argv.len() };
    argv.splice(place..place, conversation_form(&forms.resume, slots::plausible_target(id)?)?);
    Ok(argv)
}

/// The invocation, its slots filled, and the arguments of the kind and of the session's choices.
fn with_choices(kind: &Kind, session: &Session, slots: &Slots<'_>) -> Result<Vec<String>, ComposeError> {
    let invocation = &session.invocation;
    if slots::mentions(invocation, CONVERSATION) {
        return Err(ComposeError::NoConversation);
    }
    let options = [kind.args.clone(), choice::arguments(kind, &session.choices, slots.cwd)?].concat();
    let own = invocation.first().is_some_and(|word| kind.is_program(word));
    // Behind a wrapper `--` is the wrapper's: what follows it is the agent's command, and options still belong there.
    if own && !options.is_empty() && invocation.iter().any(|arg| arg == "--") {
        return Err(ComposeError::OptionsEnded);
    }
    let mut argv = slots::fill(invocation, None, slots.cwd);
    argv.extend(options);
    Ok(argv)
}

/// A kind's own arguments, with the conversation filled in at every place, the first included.
fn conversation_form(form: &[String], id: &str) -> Result<Vec<String>, ComposeError> {
    if !form.iter().any(|arg| arg == CONVERSATION) {
        return Err(ComposeError::ResumesAnother);
    }
    Ok(form.iter().map(|arg| if arg == CONVERSATION { id.to_owned() } else { arg.clone() }).collect())
}

/// Refuses what the kernel would.
fn executable(argv: Vec<String>) -> Result<Vec<String>, ComposeError> {
    if argv.first().is_none_or(String::is_empty) {
        return Err(ComposeError::NoProgram);
    }
    for (place, arg) in argv.iter().enumerate() {
        if arg.contains('\0') {
            return Err(ComposeError::Nul(place));
        }
        if arg.len() > MAX_ARGUMENT {
            return Err(ComposeError::TooLong { place, bytes: arg.len() });
        }
    }
    Ok(argv)
}

#[cfg(test)]
mod tests;
