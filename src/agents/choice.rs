//! A session's choices as arguments and environment of its agent.

use std::collections::BTreeMap;
use std::fmt;

use crate::config::desired::{Choices, Permissions, Trust};
use crate::spec::name::Name;

use super::kind::reports::Injection;
use super::kind::{ChoiceForm, ChoiceForms, Kind};
use super::slots;

const BYPASS: &str = "hook_trust: bypass";
const VIEW: &str = "agent_view: on";

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
    /// `hook_trust: bypass`.
    BypassHookTrust,
    /// `agent_view: on`.
    AgentView,
    /// `prompt` or `prompt_file`.
    Prompt,
}

impl<'a> Choice<'a> {
    /// The field that makes it.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Model(_) => "model",
            Self::Effort(_) => "effort",
            Self::Yolo => "permissions",
            Self::Trust(_) => "trust",
            Self::BypassHookTrust => "hook_trust",
            Self::AgentView => "agent_view",
            Self::Prompt => "prompt",
        }
    }

    /// What fills its form.
    fn value(self) -> &'a str {
        match self {
            Self::Model(value) | Self::Effort(value) => value,
            Self::Yolo | Self::Trust(_) | Self::BypassHookTrust | Self::AgentView | Self::Prompt => "",
        }
    }
}

impl fmt::Display for Choice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(value) => write!(f, "model: {value}"),
            Self::Effort(value) => write!(f, "effort: {value}"),
            Self::Yolo => f.write_str("permissions: yolo"),
            Self::Trust(Trust::Trusted) => f.write_str("trust: trusted"),
            Self::Trust(Trust::Untrusted) => f.write_str("trust: untrusted"),
            Self::BypassHookTrust => f.write_str(BYPASS),
            Self::AgentView => f.write_str(VIEW),
            Self::Prompt => f.write_str("prompt"),
        }
    }
}

/// A choice the kind has no form for.
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

/// Whether `kind` has a form for `choice`.
///
/// # Errors
/// [`NotExpressible`], with what it can express instead.
pub fn can_express(kind: &Kind, choice: Choice<'_>) -> Result<(), NotExpressible> {
    let levels = &kind.choices.effort_values;
    let can = match choice {
        Choice::Effort(level) if !levels.is_empty() && !levels.iter().any(|known| known == level) => false,
        Choice::Prompt => kind.prompt.is_some(),
        Choice::BypassHookTrust => asks_for_hooks(kind),
        Choice::AgentView => !kind.choices.view_off.is_empty(),
        _ => form(&kind.choices, choice).is_some_and(ChoiceForm::is_sayable),
    };
    if can {
        Ok(())
    } else {
        let can = expressible(kind).into_iter().map(|choice| format!("`{choice}`")).collect();
        Err(NotExpressible { kind: kind.name.clone(), choice: choice.to_string(), can })
    }
}

/// The choices that are made. The agent's own default is none.
pub fn made(choices: &Choices) -> impl Iterator<Item = Choice<'_>> {
    let model = choices.model.as_deref().map(Choice::Model);
    let effort = choices.effort.as_deref().map(Choice::Effort);
    let yolo = (choices.permissions == Permissions::Yolo).then_some(Choice::Yolo);
    let hooks = choices.bypass_hook_trust.then_some(Choice::BypassHookTrust);
    let view = choices.agent_view.then_some(Choice::AgentView);
    [model, effort, yolo, choices.trust.map(Choice::Trust), hooks, view].into_iter().flatten()
}

/// The arguments for all of `choices` in the directory `cwd`.
///
/// # Errors
/// [`NotExpressible`] for the first that has none.
pub(super) fn arguments(kind: &Kind, choices: &Choices, cwd: &str) -> Result<Vec<String>, NotExpressible> {
    let mut arguments = Vec::new();
    for (form, value) in forms(kind, choices)? {
        arguments.extend(form.args.iter().map(|arg| slots::fill_form(arg, value, cwd)));
    }
    Ok(arguments)
}

/// The environment of a launch as the kind's data has it: the kind's own, and that of `choices`.
///
/// # Errors
/// [`NotExpressible`] for the first choice without a form.
pub fn environment(kind: &Kind, choices: &Choices, cwd: &str) -> Result<BTreeMap<String, String>, NotExpressible> {
    let mut env = kind.env.clone();
    if choices.agent_view {
        env.retain(|name, _| !kind.choices.view_off.contains(name));
    }
    for (form, value) in forms(kind, choices)? {
        env.extend(form.env.iter().map(|(name, text)| (name.clone(), slots::fill_form(text, value, cwd))));
    }
    Ok(env)
}

/// The fields of those `choices` whose arguments `command`, which is run as written, does not have.
#[must_use]
pub fn unrepeated<'a>(kind: &Kind, choices: &'a Choices, command: &[String]) -> Vec<&'static str> {
    let missing = |choice: &Choice<'a>| {
        let args = form(&kind.choices, *choice).map(|form| form.args.as_slice()).unwrap_or_default();
        !args.iter().all(|arg| command.iter().any(|word| repeats(arg, choice.value(), word)))
    };
    made(choices).filter(missing).map(Choice::field).collect()
}

/// Whether `word` says what the argument `form` says of `value`. The directory is not known here: any will do.
fn repeats(form: &str, value: &str, word: &str) -> bool {
    let fill = |part: &str| slots::fill_form(part, value, "");
    match form.split_once(slots::CWD_TOML).or_else(|| form.split_once(slots::CWD)) {
        None => word == fill(form),
        Some((before, after)) => word.strip_prefix(&fill(before)).is_some_and(|rest| rest.ends_with(&fill(after))),
    }
}

/// Whether agents of `kind` ask before they run hooks they do not know.
fn asks_for_hooks(kind: &Kind) -> bool {
    kind.reports.as_ref().is_some_and(|reports| reports.inject == Injection::CodexConfig)
}

/// Whether a resumed conversation would keep `permissions: yolo` though it is not wanted any more.
#[must_use]
pub fn keeps_yolo(kind: &Kind, before: bool, choices: &Choices) -> bool {
    let sticky = kind.choices.yolo.as_ref().is_some_and(|form| form.sticky);
    sticky && before && choices.permissions == Permissions::Default
}

/// What the kind can express, as one would write it.
#[must_use]
pub fn expressible(kind: &Kind) -> Vec<String> {
    let forms = &kind.choices;
    let effort = match forms.effort_values.as_slice() {
        [] => "effort".to_owned(),
        levels => format!("effort: {}", levels.join("|")),
    };
    let all = [
        ("model", &forms.model),
        (effort.as_str(), &forms.effort),
        ("permissions: yolo", &forms.yolo),
        ("trust: trusted", &forms.trusted),
        ("trust: untrusted", &forms.untrusted),
    ];
    let sayable = all.into_iter().filter(|(_, form)| form.as_ref().is_some_and(ChoiceForm::is_sayable));
    let others =
        [(BYPASS, asks_for_hooks(kind)), (VIEW, !forms.view_off.is_empty()), ("prompt", kind.prompt.is_some())];
    let others = others.into_iter().filter_map(|(name, can)| can.then_some(name));
    sayable.map(|(name, _)| name).chain(others).map(str::to_owned).collect()
}

fn forms<'a>(kind: &'a Kind, choices: &'a Choices) -> Result<Vec<(&'a ChoiceForm, &'a str)>, NotExpressible> {
    let mut found = Vec::new();
    for choice in made(choices) {
        can_express(kind, choice)?;
        found.extend(form(&kind.choices, choice).map(|form| (form, choice.value())));
    }
    Ok(found)
}

fn form<'a>(forms: &'a ChoiceForms, choice: Choice<'_>) -> Option<&'a ChoiceForm> {
    match choice {
        Choice::Model(_) => forms.model.as_ref(),
        Choice::Effort(_) => forms.effort.as_ref(),
        Choice::Yolo => forms.yolo.as_ref(),
        Choice::Trust(Trust::Trusted) => forms.trusted.as_ref(),
        Choice::Trust(Trust::Untrusted) => forms.untrusted.as_ref(),
        Choice::BypassHookTrust | Choice::AgentView | Choice::Prompt => None,
    }
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
             `effort: low|medium|high|xhigh|max`, `permissions: yolo`, `agent_view: on`, `prompt`"
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
    fn a_choice_that_is_always_so_needs_no_words() {
        let pi = &builtin()["pi"];
        let choices = Choices { permissions: Permissions::Yolo, ..Choices::default() };
        assert_eq!(arguments(pi, &choices, "/").unwrap(), [""; 0]);
    }

    #[test]
    fn a_choice_may_be_environment() {
        let kimi = &builtin()["kimi"];
        let choices = Choices { effort: Some("high".to_owned()), ..Choices::default() };
        assert_eq!(arguments(kimi, &choices, "/").unwrap(), [""; 0]);
        let env = environment(kimi, &choices, "/").unwrap();
        assert_eq!(env["KIMI_MODEL_THINKING_EFFORT"], "high");
    }

    #[test]
    fn the_agents_own_view_stays_off_unless_it_is_chosen() {
        let claude = &builtin()["claude"];
        let name = "CLAUDE_CODE_DISABLE_AGENT_VIEW";
        assert_eq!(environment(claude, &Choices::default(), "/").unwrap()[name], "1");
        let choices = Choices { agent_view: true, ..Choices::default() };
        assert!(!environment(claude, &choices, "/").unwrap().contains_key(name));
    }

    #[test]
    fn only_what_asks_for_hooks_can_be_told_not_to_and_only_what_has_a_view_can_keep_it() {
        for kind in builtin().values() {
            let name = kind.name.as_str();
            assert_eq!(can_express(kind, Choice::BypassHookTrust).is_ok(), name == "codex", "{name}");
            assert_eq!(can_express(kind, Choice::AgentView).is_ok(), name == "claude", "{name}");
        }
    }

    #[test]
    fn an_explicit_command_repeats_what_is_an_argument() {
        let codex = &builtin()["codex"];
        let choices = Choices { model: Some("m".to_owned()), trust: Some(Trust::Trusted), ..Choices::default() };
        let command = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(unrepeated(codex, &choices, &command("codex resume x")), ["model", "trust"]);
        assert_eq!(unrepeated(codex, &choices, &command("codex -m m -c x resume x")), ["trust"]);
        let trusted = r#"projects={"/src/api"={trust_level="trusted"}}"#;
        assert_eq!(unrepeated(codex, &choices, &command(&format!("codex -m m -c {trusted} resume x"))), [""; 0]);
        let untrusted = trusted.replace("\"trusted", "\"untrusted");
        assert_eq!(unrepeated(codex, &choices, &command(&format!("codex -m m -c {untrusted} resume x"))), ["trust"]);
    }

    #[test]
    fn only_a_sticky_posture_outlives_its_flag() {
        let none = Choices::default();
        assert!(keeps_yolo(&builtin()["kimi"], true, &none));
        assert!(!keeps_yolo(&builtin()["kimi"], false, &none));
        assert!(!keeps_yolo(&builtin()["claude"], true, &none));
    }
}
