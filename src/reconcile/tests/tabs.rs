//! Tabs that a record does not know, or knows otherwise.

use super::*;
use crate::state::record::SessionId;

/// Of the session's panes, those of tabs are all but the agent's.
fn tabs(bed: &Bed) -> usize {
    bed.world.panes_of(&bed.record().id.to_string()).len() - 1
}

fn with_tab(seed: u64, program: &str) -> Bed {
    let mut bed = Bed::new(seed, "steady");
    bed.session().tabs.insert(name("logs"), tab(program));
    assert!(at_rest(&bed.apply()));
    assert_eq!(tabs(&bed), 1);
    bed
}

#[test]
fn a_tab_that_only_its_stamp_knows_is_closed_when_it_is_not_wanted() {
    let mut bed = with_tab(1, "stubborn");
    bed.rewrite(|record| record.tabs.clear());
    bed.session().tabs.clear();
    assert!(at_rest(&bed.apply()));
    assert_eq!(tabs(&bed), 0);
    assert_eq!(bed.world.remains(&bed.record().id.to_string()).len(), 1, "the agent alone");
}

#[test]
fn a_dead_pane_of_an_earlier_tab_of_its_name_does_not_keep_a_tab_from_being_opened() {
    let bed = with_tab(2, "done");
    bed.world.advance(120_000);
    bed.rewrite(|record| {
        record.tabs.get_mut("logs").unwrap().id = SessionId(uuid::Uuid::from_u128(7));
    });
    assert!(at_rest(&bed.apply()));
    assert_eq!(tabs(&bed), 2);
}

#[test]
fn a_living_tab_of_its_name_is_the_tab_whatever_id_was_recorded() {
    let mut bed = with_tab(3, "steady");
    bed.rewrite(|record| {
        record.tabs.get_mut("logs").unwrap().id = SessionId(uuid::Uuid::from_u128(7));
    });
    assert!(at_rest(&bed.apply()));
    assert_eq!(tabs(&bed), 1);
    bed.session().tabs.clear();
    assert!(at_rest(&bed.apply()));
    assert_eq!((tabs(&bed), bed.world.remains(&bed.record().id.to_string()).len()), (0, 1));
}
