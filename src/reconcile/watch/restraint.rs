//! What of a plan is carried out now: never more than the switches allow, a reap only after a second look, what failed
//! not at once again. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::host::clock::Moment;
use crate::plan::action::{Action, Item};
use crate::plan::reason::Reason;
use crate::reconcile::ledger::Done;
use crate::spec::name::Name;

/// Between the two looks that must agree before something is reaped.
pub const SECOND_LOOK: Duration = Duration::from_secs(2);
/// Before what failed is tried again, at first; twice as long each time.
const RETRY: Duration = Duration::from_secs(5);
/// At most.
const RETRY_MAX: Duration = Duration::from_secs(300);
/// The same done so often to the same session, each time within [`SOON`] of the last, is undone as fast as it is done.
const OFTEN: u32 = 5;
/// See [`OFTEN`].
const SOON: Duration = Duration::from_secs(10);

/// What an operator lets `watch` do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// Starting again what ended by itself; off with `--no-heal`.
    pub heal: bool,
    /// Carrying out what changed in the files; off with `--no-apply`, which also lets nothing else be done.
    pub apply: bool,
}

impl Switches {
    fn allow(self, item: &Item) -> bool {
        self.apply && (self.heal || !heals(item))
    }
}

/// Whether an item starts again what ended, and nothing else asks for it.
fn heals(item: &Item) -> bool {
    let ended = |reason: &Reason| {
        matches!(
            reason,
            Reason::Exited { .. }
                | Reason::Killed { .. }
                | Reason::Vanished
                | Reason::ServerDied
                | Reason::Rebooted
                | Reason::LaunchFailed { .. }
        )
    };
    let changed = |reason: &Reason| matches!(reason, Reason::Changed { .. });
    matches!(item.action, Action::Launch(_) | Action::Restart(_))
        && item.reasons.iter().any(ended)
        && !item.reasons.iter().any(changed)
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    times: u32,
    at: Moment,
}

impl Failed {
    fn left(&self, now: Moment) -> Duration {
        let pause = RETRY.saturating_mul(2_u32.saturating_pow(self.times.min(16) - 1)).min(RETRY_MAX);
        pause.saturating_sub(now.since(&self.at))
    }
}

/// What holds `watch` back.
#[derive(Debug)]
pub struct Restraint {
    /// What an operator lets it do.
    pub switches: Switches,
    /// Sessions that would have been reaped, since they were first seen so.
    doomed: BTreeMap<Name, Moment>,
    failed: BTreeMap<Name, Failed>,
    /// What was done to each session, how often in a row, and when last.
    again: BTreeMap<(Name, String), Failed>,
}

impl Restraint {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(switches: Switches) -> Self {
        Self { switches, doomed: BTreeMap::new(), failed: BTreeMap::new(), again: BTreeMap::new() }
    }

    /// Takes notice of a plan: what it would reap is reaped if a later one still would.
    pub fn look(&mut self, items: &[Item], now: Moment) {
        let reaps = |name: &Name| items.iter().any(|item| item.session == *name && item.action == Action::Reap);
        self.doomed.retain(|name, _| reaps(name));
        for item in items.iter().filter(|item| item.action == Action::Reap) {
            self.doomed.entry(item.session.clone()).or_insert(now);
        }
    }

    /// Whether an item is carried out now.
    #[must_use]
    pub fn allows(&self, item: &Item, now: Moment) -> bool {
        self.switches.allow(item) && self.left(item, now).is_zero()
    }

    /// Time until the first of `items` that is only held back for a while may be carried out.
    #[must_use]
    pub fn next<'i>(&self, items: impl Iterator<Item = &'i Item>, now: Moment) -> Option<Duration> {
        let held = items.filter(|item| item.action.effective() && self.switches.allow(item));
        held.map(|item| self.left(item, now)).filter(|left| !left.is_zero()).min()
    }

    /// Takes notice of what came of a pass.
    pub fn learn(&mut self, done: &[Done], now: Moment) {
        for one in done {
            if one.failure.is_none() && self.often(one, now) <= OFTEN {
                self.failed.remove(&one.session);
                continue;
            }
            let failed = self.failed.entry(one.session.clone()).or_insert(Failed { times: 0, at: now });
            failed.times = failed.times.saturating_add(1);
            failed.at = now;
        }
    }

    /// How often in a row the same was done to the same session. Launches are paced by `restart`.
    fn often(&mut self, one: &Done, now: Moment) -> u32 {
        self.again.retain(|_, last| now.since(&last.at) < SOON);
        if one.what.starts_with("launch") {
            return 0;
        }
        let fresh = Failed { times: 0, at: now };
        let last = self.again.entry((one.session.clone(), one.what.clone())).or_insert(fresh);
        *last = Failed { times: last.times.saturating_add(1), at: now };
        last.times
    }

    /// The files were read anew: what failed may work now.
    pub fn forget_failures(&mut self) {
        self.failed.clear();
        self.again.clear();
    }

    fn left(&self, item: &Item, now: Moment) -> Duration {
        let retry = self.failed.get(&item.session).map(|failed| failed.left(now)).unwrap_or_default();
        if item.action != Action::Reap {
            return retry;
        }
        let seen = self.doomed.get(&item.session).map_or(Duration::ZERO, |first| now.since(first));
        retry.max(SECOND_LOOK.saturating_sub(seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::action::{Cost, Mode};
    use crate::state::fields::Field;

    fn at(ms: u64) -> Moment {
        Moment { boot_ms: ms, wall_ms: 0 }
    }

    fn item(action: Action, reasons: Vec<Reason>) -> Item {
        let session = Name::new("api").unwrap();
        Item {
            session,
            id: None,
            kind: None,
            dir: None,
            parent: None,
            action,
            reasons,
            cost: Cost::default(),
            notes: Vec::new(),
        }
    }

    fn everything() -> Restraint {
        Restraint::new(Switches { heal: true, apply: true })
    }

    #[test]
    fn a_reap_takes_two_looks_that_agree() {
        let mut restraint = everything();
        let reap = item(Action::Reap, vec![Reason::Removed]);
        let items = [reap.clone()];
        restraint.look(&items, at(0));
        assert!(!restraint.allows(&reap, at(0)));
        assert_eq!(restraint.next(items.iter(), at(500)), Some(Duration::from_millis(1_500)));
        restraint.look(&items, at(2_000));
        assert!(restraint.allows(&reap, at(2_000)));

        restraint.look(&[], at(2_100));
        restraint.look(&items, at(2_200));
        assert!(!restraint.allows(&reap, at(2_200)));
    }

    #[test]
    fn what_failed_is_tried_again_later_and_later_until_it_works() {
        let mut restraint = everything();
        let launch = item(Action::Launch(Mode::Verbatim), vec![Reason::NotRunning]);
        let done = |failure: Option<&str>| Done {
            session: launch.session.clone(),
            what: "launch".to_owned(),
            failure: failure.map(str::to_owned),
        };
        assert!(restraint.allows(&launch, at(0)));
        restraint.learn(&[done(Some("no secret"))], at(0));
        assert!(!restraint.allows(&launch, at(4_999)));
        assert!(restraint.allows(&launch, at(5_000)));
        restraint.learn(&[done(Some("no secret"))], at(5_000));
        assert!(!restraint.allows(&launch, at(14_999)));
        (0..60).for_each(|_| restraint.learn(&[done(Some("no secret"))], at(20_000)));
        assert!(restraint.allows(&launch, at(320_000)));
        restraint.learn(&[done(None)], at(320_000));
        assert!(restraint.allows(&launch, at(320_000)));
    }

    #[test]
    fn what_is_undone_as_fast_as_it_is_done_is_done_less_often() {
        let mut restraint = everything();
        let adjust = item(Action::Adjust, vec![Reason::Adjusted { field: "title".to_owned() }]);
        let done = Done { session: adjust.session.clone(), what: "adjust".to_owned(), failure: None };
        for n in 0..5 {
            restraint.learn(std::slice::from_ref(&done), at(n * 100));
            assert!(restraint.allows(&adjust, at(n * 100)));
        }
        restraint.learn(std::slice::from_ref(&done), at(500));
        assert!(!restraint.allows(&adjust, at(600)));
        assert!(restraint.allows(&adjust, at(5_500)));
        restraint.learn(std::slice::from_ref(&done), at(60_000));
        assert!(restraint.allows(&adjust, at(60_000)), "once in a while it may be done");
    }

    #[test]
    fn launches_are_paced_by_the_plan_alone() {
        let mut restraint = everything();
        let launch = item(Action::Launch(Mode::Verbatim), vec![Reason::NotRunning]);
        let done = Done { session: launch.session.clone(), what: "launch, resume".to_owned(), failure: None };
        (0..50).for_each(|n| restraint.learn(std::slice::from_ref(&done), at(n)));
        assert!(restraint.allows(&launch, at(50)));
    }

    #[test]
    fn switches_hold_back_what_they_say() {
        let ended = item(Action::Launch(Mode::Verbatim), vec![Reason::Vanished]);
        let new = item(Action::Launch(Mode::Verbatim), vec![Reason::NotRunning]);
        let change = Reason::Changed { field: Field::Model, old: None, new: None };
        let changed = item(Action::Launch(Mode::Verbatim), vec![Reason::Vanished, change]);
        let stop = item(Action::Stop, vec![Reason::DesiredStopped]);
        let allowed = |heal, apply| {
            let restraint = Restraint::new(Switches { heal, apply });
            [&ended, &new, &changed, &stop].map(|item| restraint.allows(item, at(0)))
        };
        assert_eq!(allowed(true, true), [true; 4]);
        assert_eq!(allowed(false, true), [false, true, true, true]);
        assert_eq!(allowed(true, false), [false; 4]);
    }
}
