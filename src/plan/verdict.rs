//! The answer of the truth table for one session, before caps and before it becomes items.

use super::action::{Action, Cost, Item};
use super::reason::Reason;
use super::subject::Subject;

/// What is to be done about a session, why, and what stands in the way.
#[derive(Debug)]
pub(super) struct Verdict {
    /// What would be done if nothing stood in the way.
    pub action: Action,
    /// Why.
    pub why: Vec<Reason>,
    /// What it would cost.
    pub cost: Cost,
    /// Why it must not be done, the strongest first.
    pub obstacles: Vec<Reason>,
    /// Why it must wait.
    pub waits: Vec<Reason>,
    /// Nothing else may be done about the session either.
    pub frozen: bool,
}

/// A session and its verdict.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub subject: Subject<'a>,
    pub verdict: Verdict,
}

impl Verdict {
    /// `action`, because of `why`, with nothing in its way.
    pub(super) fn of(action: Action, why: Vec<Reason>) -> Self {
        Self { action, why, cost: Cost::default(), obstacles: Vec::new(), waits: Vec::new(), frozen: false }
    }

    /// Nothing at all, because something could not be observed.
    pub(super) fn unknown(words: String) -> Self {
        Self { frozen: true, ..Self::of(Action::Unknown, vec![Reason::Unobservable { words }]) }
    }

    /// Whether its action is carried out.
    pub(super) fn goes(&self) -> bool {
        self.action.effective() && self.obstacles.is_empty() && self.waits.is_empty()
    }
}

/// The line for `verdict` about `subject`.
pub(super) fn item(subject: &Subject<'_>, verdict: Verdict) -> Item {
    let Verdict { action, why, mut cost, mut obstacles, mut waits, .. } = verdict;
    cost.destructive &= obstacles.is_empty() && waits.is_empty();
    let action = match (obstacles.is_empty(), waits.is_empty()) {
        (false, _) => Action::Blocked(Box::new(action)),
        (true, false) => Action::Waiting(Box::new(action)),
        (true, true) => action,
    };
    obstacles.append(&mut waits);
    let restored = subject.tombstone.filter(|_| why.contains(&Reason::Restored)).map(|grave| grave.record.id);
    obstacles.extend(why);
    let record = subject.memory.as_ref().and_then(|memory| memory.record);
    Item {
        session: subject.name.clone(),
        id: subject.memory.as_ref().map(|memory| memory.id).or(restored),
        kind: subject.want.map(|want| &want.kind).or(record.map(|record| &record.kind)).cloned(),
        dir: subject.want.map(|want| &want.dir.spelling).or(record.map(|record| &record.dir.spelling)).cloned(),
        parent: subject.want.and_then(|want| want.parent.clone()),
        action,
        reasons: obstacles,
        cost,
        notes: Vec::new(),
    }
}
