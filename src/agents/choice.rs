//! A session's choices as arguments of its agent.

use std::fmt;

use crate::config::desired::{Choices, Permissions, Trust};
use crate::spec::name::Name;

use super::kind::{ChoiceForms, Kind};
use super::slots::VALUE;

/// One choice that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'a> {
    /// `model`.
    Model(&'a str),
    /// `effort`.
    Effort(&'a str),
    /// `permissions: yolo`.
    Yolo,
    /// `trust`.
    Trust(Trust),
    /// `prompt` or `prompt_file`.
    Prompt,
}

impl fmt::Display for Choice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(value) => write!(f, "model: {value}"),
            Self::Effort(value) => write!(f, "effort: {value}"),
            Self::Yolo => f.write_str("permissions: yolo"),
            Self::Trust(Trust::Trusted) => f.write_str("trust: trusted"),
            Self::Trust(Trust::Untrusted) => f.write_str("trust: untrusted"),
            Self::Prompt => f.write_str("prompt"),
        }
    }
}

/// A choice the kind has no arguments for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kind `{kind}` cannot express `{choice}`; it can express {can}", can = list(.can))]
pub struct NotExpressible {
    /// The kind.
    pub kind: Name,
    /// The choice, as one would write it.
    pub choice: String,
    /// What the kind can express.
    pub can: Vec<String>,
}

fn list(can: &[String]) -> String {
    if can.is_empty() { "no choice at all".to_owned() } else { can.join(", ") }
}

/// Whether `kind` has arguments for `choice`.
///
/// # Errors
/// [`NotExpressible`], with what it can express instead.
pub fn can_express(kind: &Kind, choice: Choice<'_>) -> Result<(), NotExpressible> {
    let forms = &kind.choices;
    let can = match choice {
        Choice::Effort(level) if !forms.effort_values.is_empty() => {
            !forms.effort.is_empty() && forms.effort_values.iter().any(|value| value == level)
        }
        Choice::Prompt => kind.prompt.is_some(),
        _ => form(forms, choice).is_some_and(|form| !form.is_empty()),
    };
    if can {
        Ok(())
    } else {
        Err(NotExpressible { kind: kind.name.clone(), choice: choice.to_string(), can: expressible(kind) })
    }
}

/// The choices that are made. The agent's own default is none.
pub fn made(choices: &Choices) -> impl Iterator<Item = Choice<'_>> {
    let model = choices.model.as_deref().map(Choice::Model);
    let effort = choices.effort.as_deref().map(Choice::Effort);
    let yolo = (choices.permissions == Permissions::Yolo).then_some(Choice::Yolo);
    [model, effort, yolo, choices.trust.map(Choice::Trust)].into_iter().flatten()
}

/// The arguments for all of `choices`.
///
/// # Errors
/// [`NotExpressible`] for the first that has none.
pub(super) fn arguments(kind: &Kind, choices: &Choices) -> Result<Vec<String>, NotExpressible> {
    let mut arguments = Vec::new();
    for choice in made(choices) {
        can_express(kind, choice)?;
        let value = match choice {
            Choice::Model(value) | Choice::Effort(value) => value,
            _ => "",
        };
        arguments.extend(form(&kind.choices, choice).into_iter().flatten().map(|arg| arg.replace(VALUE, value)));
    }
    Ok(arguments)
}

fn form<'a>(forms: &'a ChoiceForms, choice: Choice<'_>) -> Option<&'a Vec<String>> {
    match choice {
        Choice::Model(_) => Some(&forms.model),
        Choice::Effort(_) => Some(&forms.effort),
        Choice::Yolo => Some(&forms.yolo),
        Choice::Trust(Trust::Trusted) => Some(&forms.trusted),
        Choice::Trust(Trust::Untrusted) => Some(&forms.untrusted),
        Choice::Prompt => None,
    }
}

fn expressible(kind: &Kind) -> Vec<String> {
    let forms = &kind.choices;
    let levels = match forms.effort_values.as_slice() {
        [] => "effort".to_owned(),
        values => format!("effort: {}", values.join("|")),
    };
    let mut can = Vec::new();
    for (name, form) in [
        ("model", &forms.model),
        (levels.as_str(), &forms.effort),
        ("permissions: yolo", &forms.yolo),
        ("trust: trusted", &forms.trusted),
        ("trust: untrusted", &forms.untrusted),
    ] {
        if !form.is_empty() {
            can.push(format!("`{name}`"));
        }
    }
    can.extend(kind.prompt.is_some().then(|| "`prompt`".to_owned()));
    can
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::catalogue::builtin;

    #[test]
    fn a_choice_without_a_form_is_refused_with_what_there_is() {
        let error = can_express(&builtin()["claude"], Choice::Trust(Trust::Trusted)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kind `claude` cannot express `trust: trusted`; it can express `model`, \
             `effort: low|medium|high|xhigh|max`, `permissions: yolo`, `prompt`"
        );
        let error = can_express(&builtin()["generic"], Choice::Model("x")).unwrap_err();
        assert_eq!(error.to_string(), "kind `generic` cannot express `model: x`; it can express no choice at all");
    }

    #[test]
    fn an_effort_outside_the_levels_is_refused() {
        let claude = &builtin()["claude"];
        assert!(can_express(claude, Choice::Effort("xhigh")).is_ok());
        assert!(can_express(claude, Choice::Effort("extreme")).is_err());
    }

    #[test]
    fn a_value_is_also_filled_inside_an_argument() {
        let mut kind = builtin()["claude"].clone();
        kind.choices.effort = vec!["-c".to_owned(), "effort=\"{value}\"".to_owned()];
        let choices = Choices { effort: Some("high".to_owned()), ..Choices::default() };
        assert_eq!(arguments(&kind, &choices).unwrap(), ["-c", "effort=\"high\""]);
    }
}
