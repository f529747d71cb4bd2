//! What the launches of a session's present conversation say of it.

use super::record::{EndedHow, HookState, Launch, Phase, Record};

impl Record {
    /// The launches of the present conversation: the last fresh one, and those since then that resumed it.
    #[must_use]
    pub fn of_conversation(&self) -> &[Launch] {
        let begun = self.launches.iter().rposition(|launch| !launch.resumed).unwrap_or(0);
        &self.launches[begun..]
    }

    /// Whether none of them ever reached its program: nothing can have been said in the conversation.
    #[must_use]
    pub fn never_ran(&self) -> bool {
        self.of_conversation().iter().all(|launch| {
            let failed = launch.ended.as_ref().is_some_and(|ended| matches!(ended.how, EndedHow::LaunchFailed(_)));
            failed || launch.phase < Phase::Running
        })
    }

    /// Whether each of them was given the hook, so that a prompt in it would have been reported.
    #[must_use]
    pub fn always_hooked(&self) -> bool {
        self.of_conversation().iter().all(|launch| launch.hook == HookState::Given)
    }

    /// Why what its agent reported counted for nothing, in words.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.of_conversation().iter().rev().find_map(|launch| launch.refused.as_deref())
    }
}
