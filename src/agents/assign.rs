//! Conversation ids chosen by farhelm, for kinds that take one at launch.

use uuid::Uuid;

use super::kind::Kind;

/// The id, `new` from the machine, for a fresh launch of `invocation`; `None` where the kind takes none, or the command itself already says
/// which conversation it is about.
#[must_use]
pub fn mint(kind: &Kind, invocation: &[String], new: impl FnOnce() -> Uuid) -> Option<String> {
    let forms = kind.conversation.as_ref().filter(|forms| !forms.assign.is_empty())?;
    let spoken_for = |arg: &String| arg == "--" || forms.excluded_by(arg).is_some();
    // A wrapper's own options come before the agent's program: the `-c` of `sh` says nothing about conversations.
    let program = invocation.iter().rposition(|arg| kind.is_program(arg)).unwrap_or(0);
    let free = !invocation.iter().skip(program + 1).any(spoken_for);
    free.then(|| new().as_hyphenated().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::catalogue::builtin;

    fn args(words: &str) -> Vec<String> {
        words.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_kind_that_takes_an_id_gets_a_new_one_each_time() {
        let claude = &builtin()["claude"];
        let first = mint(claude, &args("claude"), Uuid::new_v4).unwrap();
        let second = mint(claude, &args("my-wrapper run {cwd} claude"), Uuid::new_v4).unwrap();
        assert_ne!(first, second);
        assert_eq!(Uuid::parse_str(&first).unwrap().get_version_num(), 4);
    }

    #[test]
    fn a_wrappers_own_options_are_not_the_agents() {
        let claude = &builtin()["claude"];
        assert!(mint(claude, &args("sh -c script w {cwd} claude --verbose"), Uuid::new_v4).is_some());
        assert!(mint(claude, &args("w -- claude"), Uuid::new_v4).is_some());
        for words in ["sh -c script w {cwd} claude -c", "w -- claude --resume x", "sh -c script w {cwd} x"] {
            assert_eq!(mint(claude, &args(words), Uuid::new_v4), None, "{words}");
        }
    }

    #[test]
    fn nothing_is_assigned_where_the_command_chooses_its_conversation() {
        let claude = &builtin()["claude"];
        for words in ["claude --continue", "claude -c", "claude --session-id=x", "claude -- x", "w claude --resume"] {
            assert_eq!(mint(claude, &args(words), Uuid::new_v4), None, "{words}");
        }
        assert_eq!(mint(&builtin()["generic"], &args("claude"), Uuid::new_v4), None);
    }
}
