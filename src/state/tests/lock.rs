use std::time::Duration;

use super::*;
use crate::host::clock::{Clock, Interrupt};
use crate::state::error::StateError;
use crate::state::lock::{Holder, acquire, last};

/// A clock that only sleeping moves.
struct SleepClock(Cell<u64>, Interrupt);

impl Clock for SleepClock {
    fn now(&self) -> Moment {
        Moment { boot_ms: self.0.get(), wall_ms: 0 }
    }
    fn sleep(&self, time: Duration) {
        self.0.set(self.0.get() + u64::try_from(time.as_millis()).unwrap());
    }
    fn interrupt(&self) -> Interrupt {
        self.1
    }
}

fn holder(pid: i32, verb: &str) -> Holder {
    Holder { pid, verb: verb.into(), since: moment(1000) }
}

const PATIENCE: Duration = Duration::from_secs(2);

#[test]
fn a_second_holder_waits_and_is_told_who_has_the_lock_and_what_to_do() {
    let place = Place::new();
    place.store();
    let clock = SleepClock(Cell::new(61_000), Interrupt::None);
    let _held = acquire(&place.disk, &clock, &place.dir().join("lock"), &holder(12, "apply"), PATIENCE).unwrap();
    let error = acquire(&place.disk, &clock, &place.dir().join("lock"), &holder(13, "watch"), PATIENCE).unwrap_err();
    assert_eq!(clock.0.get(), 63_000);
    let path = place.dir().join("lock");
    assert_eq!(
        error.to_string(),
        format!(
            "`farhelm apply` (pid 12, for 62s) is at work on this state directory (it holds {}); \
             wait for it, or end it with `kill 12`",
            path.display()
        )
    );
}

#[test]
fn a_released_lock_is_free_whatever_its_file_says() {
    let place = Place::new();
    place.store();
    let clock = SleepClock(Cell::new(0), Interrupt::None);
    drop(acquire(&place.disk, &clock, &place.dir().join("lock"), &holder(12, "apply"), PATIENCE).unwrap());
    acquire(&place.disk, &clock, &place.dir().join("lock"), &holder(13, "watch"), PATIENCE).unwrap();
    assert_eq!(clock.0.get(), 0);
}

#[test]
fn who_took_a_lock_last_can_be_told_before_and_after_it_is_given_back() {
    let place = Place::new();
    place.store();
    let (clock, path) = (SleepClock(Cell::new(0), Interrupt::None), place.dir().join("lock"));
    assert_eq!(last(&place.disk, &path), None);
    let held = acquire(&place.disk, &clock, &path, &holder(12, "apply"), PATIENCE).unwrap();
    assert_eq!(last(&place.disk, &path), Some(holder(12, "apply")));
    drop(held);
    assert_eq!(last(&place.disk, &path), Some(holder(12, "apply")));
}

#[test]
fn waiting_ends_when_the_operator_interrupts() {
    let place = Place::new();
    place.store();
    let clock = SleepClock(Cell::new(0), Interrupt::Finish);
    let _held = acquire(&place.disk, &clock, &place.dir().join("lock"), &holder(12, "apply"), PATIENCE).unwrap();
    let error = acquire(&place.disk, &clock, &place.dir().join("lock"), &holder(13, "watch"), PATIENCE).unwrap_err();
    assert!(matches!(error, StateError::Interrupted(_)));
}

#[test]
fn a_holder_without_a_readable_name_is_still_an_error_with_a_way_out() {
    let place = Place::new();
    place.store();
    let clock = SleepClock(Cell::new(0), Interrupt::None);
    let _held = place.disk.lock(&place.dir().join("lock"), "\u{1b}[2J").unwrap();
    let error = acquire(&place.disk, &clock, &place.dir().join("lock"), &holder(13, "watch"), PATIENCE)
        .unwrap_err()
        .to_string();
    assert!(error.contains("another farhelm") && error.contains("fuser") && !error.contains('\u{1b}'), "{error}");
}
