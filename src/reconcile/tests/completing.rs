//! What a record is completed to when the end of its launch had been begun.

use super::*;
use crate::observe::observed::{AgentSeen, Observed, Seen};
use crate::reconcile::complete::complete;
use crate::state::record::{Ended, EndedHow, Launch, Phase, Recorded};
use crate::state::tests::{launch, record};

/// The record of a launch with a prompt whose end was begun, completed when it is seen to have ended by `how`.
fn completed(how: EndedHow, ran: bool, marked: bool) -> Record {
    let launch = Launch { phase: Phase::Stopping, ran, prompt: Some("p".to_owned()), ..launch(1) };
    let record = Record { launches: vec![launch], prompt_delivered: None, ..record(1, "web", "api") };
    let agent = AgentSeen::Ended { pane: None, how: Ended { how, at_ms: None } };
    let bed = Bed::new(1, "steady");
    bed.world.start();
    let look = bed.reconciler().look(&bed.desired).unwrap();
    let observed = Observed { sessions: [(record.id, Seen::without_pane(agent))].into(), ..look.observed };
    let mut recorded = Recorded { records: [(name("api"), record)].into(), ..look.recorded };
    complete(&mut recorded, &observed, &bed.desired, &|_, _| marked);
    recorded.records.remove(&name("api")).unwrap()
}

fn how(record: &Record) -> EndedHow {
    record.launch().unwrap().ended.clone().unwrap().how
}

#[test]
fn an_end_that_was_begun_before_the_program_was_started_is_a_failed_launch_whatever_ended_it() {
    for end in [EndedHow::Stopped, EndedHow::Killed(15), EndedHow::ServerDied, EndedHow::Rebooted] {
        let record = completed(end.clone(), false, false);
        assert!(matches!(how(&record), EndedHow::LaunchFailed(_)), "{end:?}: {record:?}");
        assert_eq!(record.prompt_delivered, None, "{end:?}");
    }
}

#[test]
fn an_end_that_was_begun_of_a_program_that_ran_is_told_as_it_was() {
    for (ran, marked) in [(true, false), (false, true)] {
        for (end, told) in [(EndedHow::Killed(15), EndedHow::Stopped), (EndedHow::Rebooted, EndedHow::Rebooted)] {
            let record = completed(end, ran, marked);
            assert_eq!(how(&record), told);
            assert_eq!(record.prompt_delivered.as_deref(), Some("p"));
        }
    }
}
