use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::agents::catalogue::builtin;
use crate::config::desired::{Choices, Dir, Permissions};

mod every_kind;

const ID: &str = "4bfc71d6-1111-4222-8333-444455556666";
const SLOTS: Slots<'static> = Slots { cwd: "/src/a b" };
const FRESH: Start<'static> = Start::Fresh { prompt: None, assign: None };

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn session<const N: usize>(invocation: [&str; N]) -> Session {
    let [name, kind] = ["api", "claude"].map(|text| Name::new(text).unwrap());
    let dir = Dir { spelling: "/src/a b".to_owned(), path: PathBuf::from("/src/a b") };
    Session::bare(name, kind, words(invocation), dir)
}

fn claude() -> &'static Kind {
    &builtin()["claude"]
}

fn generic() -> &'static Kind {
    &builtin()["generic"]
}

/// A kind whose resume is a subcommand, and whose prompt is a flag's value.
fn subcommand_kind() -> Kind {
    let mut kind = claude().clone();
    kind.executables = words(["codex"]);
    kind.prompt = Some(PromptForm::Flag("--prompt".to_owned()));
    kind.conversation = Some(ConversationForms {
        resume: words(["resume", "{conversation}"]),
        resume_first: true,
        not_with: words(["resume", "fork"]),
        ..ConversationForms::default()
    });
    kind
}

#[test]
fn a_fresh_start_is_invocation_choices_id_and_prompt_in_this_order() {
    let mut session = session(["claude", "--verbose"]);
    session.choices = Choices {
        model: Some("opus".to_owned()),
        effort: Some("high".to_owned()),
        permissions: Permissions::Yolo,
        ..Choices::default()
    };
    let start = Start::Fresh { prompt: Some("do it; $(rm -rf /)\n'now'"), assign: Some(ID) };
    assert_eq!(
        compose(claude(), &session, &start, &SLOTS).unwrap(),
        [
            "claude",
            "--verbose",
            "--model",
            "opus",
            "--effort",
            "high",
            "--dangerously-skip-permissions",
            "--session-id",
            ID,
            "do it; $(rm -rf /)\n'now'"
        ]
    );
}

#[test]
fn a_derived_resume_keeps_the_whole_command_and_its_choices() {
    let mut session = session(["/opt/bin/claude", "--add-dir", "{cwd}"]);
    session.choices.model = Some("opus".to_owned());
    assert_eq!(
        compose(claude(), &session, &Start::Resume { conversation: ID }, &SLOTS).unwrap(),
        ["/opt/bin/claude", "--add-dir", "/src/a b", "--model", "opus", "--resume", ID]
    );
}

#[test]
fn a_resume_subcommand_goes_right_behind_the_program() {
    let session = session(["codex", "-a", "never"]);
    assert_eq!(
        compose(&subcommand_kind(), &session, &Start::Resume { conversation: ID }, &SLOTS).unwrap(),
        ["codex", "resume", ID, "-a", "never"]
    );
}

#[test]
fn an_explicit_resume_is_run_as_written() {
    let mut session = session(["my-wrapper", "{cwd}", "claude"]);
    session.choices.model = Some("opus".to_owned());
    session.resume = Some(words(["my-wrapper", "{cwd}", "claude", "--resume", "{conversation}", "--x={conversation}"]));
    assert_eq!(
        compose(claude(), &session, &Start::Resume { conversation: ID }, &SLOTS).unwrap(),
        ["my-wrapper", "/src/a b", "claude", "--resume", ID, "--x={conversation}"]
    );
}

#[test]
fn an_explicit_resume_that_names_no_conversation_is_never_run_as_a_resume() {
    let mut session = session(["claude"]);
    session.resume = Some(words(["claude", "--continue"]));
    let start = Start::Resume { conversation: ID };
    assert_eq!(compose(claude(), &session, &start, &SLOTS), Err(ComposeError::ResumesAnother));
}

#[test]
fn a_verbatim_start_runs_the_generic_resume_else_the_invocation() {
    let mut session = session(["tool", "{cwd}"]);
    assert_eq!(compose(generic(), &session, &Start::Verbatim, &SLOTS).unwrap(), ["tool", "/src/a b"]);
    session.resume = Some(words(["tool", "again", "{cwd}"]));
    assert_eq!(compose(generic(), &session, &Start::Verbatim, &SLOTS).unwrap(), ["tool", "again", "/src/a b"]);
    session.resume = Some(words(["tool", "{conversation}"]));
    assert_eq!(compose(generic(), &session, &Start::Verbatim, &SLOTS), Err(ComposeError::NoConversation));
}

#[test]
fn no_resume_is_derived_behind_another_program() {
    for invocation in [["env", "claude"], ["bash", "claude"], ["claude-wrapped", "claude"]] {
        let error = derivable(claude(), &words(invocation)).unwrap_err();
        assert!(matches!(error, NotDerivable::OtherProgram { .. }), "{error}");
    }
    assert_eq!(derivable(generic(), &words(["x"])), Err(NotDerivable::NoForm(generic().name.clone())));
    assert!(derivable(claude(), &[]).is_err());
}

#[test]
fn no_resume_is_derived_beside_a_word_about_conversations() {
    for word in ["--continue", "-c", "--resume", "--resume=x", "-rx", "--session-id", "--fork-session"] {
        let error = derivable(claude(), &words(["claude", word])).unwrap_err();
        assert_eq!(error, NotDerivable::Excluded(word.to_owned()));
    }
    assert_eq!(derivable(claude(), &words(["claude", "--"])), Err(NotDerivable::OptionsEnded));
    for word in ["--continued", "--resume-x", "--model", "x", ""] {
        assert_eq!(derivable(claude(), &words(["claude", word])), Ok(()), "{word}");
    }
    assert!(derivable(&subcommand_kind(), &words(["codex", "fork"])).is_err());
    assert!(derivable(&subcommand_kind(), &words(["codex", "forks"])).is_ok());
}

#[test]
fn a_conversation_that_is_resumed_by_its_file_may_lie_anywhere() {
    let file = format!("/home/some one/{}/s.jsonl", "deep/".repeat(40));
    let resume = ["w", "{conversation}"];
    for resume in [None, Some(words(resume))] {
        let session = Session { resume, ..session(["claude"]) };
        let argv = compose(claude(), &session, &Start::Resume { conversation: &file }, &SLOTS).unwrap();
        assert_eq!(argv.last(), Some(&file));
    }
}

#[test]
fn an_id_is_checked_before_it_becomes_an_argument() {
    for id in ["", "--help", "{cwd}", "{conversation}", "a b"] {
        let resumed = compose(claude(), &session(["claude"]), &Start::Resume { conversation: id }, &SLOTS);
        assert!(matches!(resumed, Err(ComposeError::ImplausibleId(_))), "{id}");
        let assigned =
            compose(claude(), &session(["claude"]), &Start::Fresh { prompt: None, assign: Some(id) }, &SLOTS);
        assert!(matches!(assigned, Err(ComposeError::ImplausibleId(_))), "{id}");
    }
}

#[test]
fn a_conversation_slot_in_a_launch_command_is_refused() {
    let start = compose(claude(), &session(["claude", "{conversation}"]), &FRESH, &SLOTS);
    assert_eq!(start, Err(ComposeError::NoConversation));
}

#[test]
fn values_that_look_like_slots_stay_text() {
    let mut session = session(["claude"]);
    session.choices.model = Some("{cwd}".to_owned());
    let start = Start::Fresh { prompt: Some("{conversation}"), assign: None };
    let argv = compose(claude(), &session, &start, &SLOTS).unwrap();
    assert_eq!(argv, ["claude", "--model", "{cwd}", "{conversation}"]);
}

#[test]
fn a_prompt_needs_a_form_and_must_not_look_like_an_option() {
    let start = Start::Fresh { prompt: Some("- do it"), assign: None };
    let positional = compose(claude(), &session(["claude"]), &start, &SLOTS);
    assert_eq!(positional, Err(ComposeError::PromptLooksLikeOption));
    let flag = compose(&subcommand_kind(), &session(["codex"]), &start, &SLOTS);
    assert_eq!(flag, Err(ComposeError::PromptLooksLikeOption));
    let mut joined = subcommand_kind();
    joined.prompt = Some(PromptForm::Flag("--prompt=".to_owned()));
    let joined = compose(&joined, &session(["codex"]), &start, &SLOTS);
    assert_eq!(joined.unwrap(), ["codex", "--prompt=- do it"]);
    let none = compose(generic(), &session(["x"]), &start, &SLOTS);
    assert!(matches!(none, Err(ComposeError::NotExpressible(_))));
}

#[test]
fn choices_are_not_lost_behind_the_agents_double_dash() {
    let mut own = session(["claude", "--"]);
    own.choices.model = Some("opus".to_owned());
    assert_eq!(compose(claude(), &own, &FRESH, &SLOTS), Err(ComposeError::OptionsEnded));
    let mut wrapped = session(["wrapper", "--", "claude"]);
    wrapped.choices.model = Some("opus".to_owned());
    let argv = compose(claude(), &wrapped, &FRESH, &SLOTS).unwrap();
    assert_eq!(argv, ["wrapper", "--", "claude", "--model", "opus"]);
}

#[test]
fn what_the_kernel_would_refuse_is_refused() {
    let long = "x".repeat(MAX_ARGUMENT + 1);
    let start = Start::Fresh { prompt: Some(&long), assign: None };
    let error = compose(claude(), &session(["claude"]), &start, &SLOTS).unwrap_err();
    assert_eq!(error, ComposeError::TooLong { place: 1, bytes: MAX_ARGUMENT + 1 });
    assert_eq!(compose(generic(), &session(["x", "a\0"]), &FRESH, &SLOTS), Err(ComposeError::Nul(1)));
    assert_eq!(compose(generic(), &session([]), &FRESH, &SLOTS), Err(ComposeError::NoProgram));
    assert_eq!(compose(generic(), &session([""]), &FRESH, &SLOTS), Err(ComposeError::NoProgram));
    assert_eq!(compose(generic(), &session(["x", ""]), &FRESH, &SLOTS).unwrap(), ["x", ""]);
}

proptest! {
    #[test]
    fn a_generic_command_is_run_as_written_but_for_whole_slots(args in prop::collection::vec("[^\0]{0,12}", 1..6)) {
        let mut session = session(["tool"]);
        session.invocation.extend(args.clone());
        prop_assume!(!args.iter().any(|arg| arg == "{cwd}" || arg == "{conversation}"));
        let argv = compose(generic(), &session, &FRESH, &SLOTS).unwrap();
        prop_assert_eq!(argv, session.invocation);
    }
}
