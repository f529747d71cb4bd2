//! Records that were lost are rebuilt from stamps, or nothing is done.

use super::*;
use crate::host::secrets::Fetcher;
use crate::reconcile::execute::Execution;
use crate::reconcile::ledger::{Author, Done, Ledger};
use crate::reconcile::situation::Situation;

/// Carries out those of the plan's items that `wanted` allows, of a fleet that was looked at before `meanwhile`.
fn carry_out(bed: &Bed, wanted: impl Fn(&Item) -> bool, meanwhile: impl FnOnce(&World)) -> Vec<Done> {
    bed.world.start();
    let reconciler = bed.reconciler();
    let situation = reconciler.look(&bed.desired).unwrap();
    let plan = reconciler.plan(&situation, &Request::default());
    let todo: Vec<&Item> = plan.items.iter().filter(|item| wanted(item)).collect();
    assert!(!todo.is_empty(), "{:?}", plan.items);
    meanwhile(&bed.world);
    let Situation { recorded, observed, .. } = situation;
    let author = Author { actor: "apply".to_owned(), fleet: name("web"), revision: None };
    let mut report = |_: &Done| ();
    let books = (recorded, observed.boot.clone());
    let mut ledger = Ledger::new(&bed.world, reconciler.store(), books, author, &mut report);
    let (host, store, setup) = (&bed.world, reconciler.store(), &bed.setup);
    let execution = Execution { host, store, setup, desired: &bed.desired, observed: &observed };
    execution.run(&todo, &mut Fetcher::new(&bed.world), &mut ledger);
    let done = ledger.done;
    bed.world.finish();
    done
}

#[test]
fn a_session_whose_record_cannot_be_rebuilt_is_neither_ended_nor_launched_as_another() {
    let mut bed = Bed::applied(1, "steady");
    let id = bed.record().id;
    bed.world.lose_files(Path::new(STATE));
    bed.session().invocation = vec!["polite".to_owned()];
    let agents = bed.world.agents(&id.to_string());
    let done = carry_out(&bed, |item| item.action.effective(), |world| world.hang_server(&socket(), 600_000));
    assert!(done.iter().all(|done| done.failure.as_ref().is_some_and(|words| words.contains("could not be rebuilt"))));
    assert_eq!(bed.world.agents(&id.to_string()), agents);
    assert_eq!(bed.world.runs().len(), 1);
}

#[test]
fn a_session_that_was_lost_and_renamed_goes_on_as_itself() {
    let mut bed = Bed::applied(2, "steady");
    let before = bed.record();
    bed.world.lose_files(Path::new(STATE));
    bed.rename("web");
    assert!(at_rest(&bed.apply()));
    let after = bed.record();
    assert_eq!((after.id, after.name.as_str()), (before.id, "web"));
    assert_eq!(after.conversation.map(|known| known.id), before.conversation.map(|known| known.id));
    assert_eq!(bed.world.runs().len(), 1);
}

#[test]
fn a_renamed_session_keeps_the_decisions_about_it() {
    let mut bed = Bed::applied(3, "steady");
    bed.rewrite(|record| record.failures = 3);
    bed.rename("web");
    assert!(at_rest(&bed.apply()));
    assert_eq!((bed.record().name, bed.record().failures), (name("web"), 3));
}

#[test]
fn a_session_whose_rename_was_not_carried_out_is_not_launched_under_its_new_name() {
    let mut bed = Bed::applied(4, "steady");
    bed.rename("web");
    bed.session().invocation = vec!["polite".to_owned()];
    carry_out(&bed, |item| matches!(item.action, Action::Restart(_)), |_| ());
    assert_eq!(bed.record().name, name("api"));
    assert_eq!(bed.world.runs().len(), 1);
    assert!(at_rest(&bed.apply()));
    let runs = bed.world.runs();
    assert_eq!(runs[1].resumed.as_deref(), runs[0].conversation());
}

#[test]
fn a_stop_of_an_adopted_session_keeps_the_conversation_that_was_assigned_to_it() {
    let mut bed = Bed::applied(5, "steady");
    bed.world.lose_files(Path::new(STATE));
    bed.apply();
    for running in [false, true] {
        bed.session().running = running;
        assert!(at_rest(&bed.apply()));
    }
    let runs = bed.world.runs();
    assert_eq!(runs[1].resumed.as_deref(), runs[0].assigned.as_deref());
}
