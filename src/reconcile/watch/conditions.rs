//! What keeps sessions from being as the files say: told when it begins, not at every look. Pure.

use std::collections::BTreeMap;

use crate::host::clock::Moment;
use crate::plan::action::{Action, Item};
use crate::plan::reason::Reason;
use crate::reconcile::ledger::Done;
use crate::spec::name::Name;
use crate::state::events::Outcome;

/// Whom a condition concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    /// A session.
    Session(Name),
    /// All of a kind: one cause, and one way out.
    Kind(Name),
}

/// What is so with somebody, without anything that changes while it stays so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    whom: Whom,
    sign: &'static str,
    codes: Vec<String>,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Whom it concerns.
    pub whom: Whom,
    /// What of it: `waiting`, `blocked`, `unknown`, `held back`.
    pub sign: &'static str,
    /// The code of the first reason.
    pub code: String,
    /// All reasons, in words.
    pub words: String,
}

impl Condition {
    /// The session, where it concerns one.
    #[must_use]
    pub fn session(&self) -> Option<&Name> {
        match &self.whom {
            Whom::Session(name) => Some(name),
            Whom::Kind(_) => None,
        }
    }

    /// What it is in the event log.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.sign == UNKNOWN { Outcome::Unknown } else { Outcome::Refused }
    }
}

const UNKNOWN: &str = "unknown";

/// Failures that were told, by session: not again while the same fails of it.
#[derive(Debug, Default)]
pub struct Failures(BTreeMap<Name, String>);

impl Failures {
    /// Takes notice of something done. Answers whether it is to be told.
    pub fn is_news(&mut self, done: &Done) -> bool {
        let Some(words) = &done.failure else {
            self.0.remove(&done.session);
            return true;
        };
        // Without what may differ at each try: numbers, and names of files.
        let plain = |word: &&str| !word.contains(|c: char| c.is_ascii_digit() || c == '/');
        let sign = [done.what.as_str()].into_iter().chain(words.split_whitespace().filter(plain));
        let sign = sign.collect::<Vec<_>>().join(" ");
        let known = self.0.insert(done.session.clone(), sign.clone());
        known != Some(sign)
    }
}

/// The conditions that are known, and since when.
#[derive(Debug, Default)]
pub struct Conditions(BTreeMap<Key, Moment>);

impl Conditions {
    /// Takes the conditions of a plan's items, and returns those that are new. `held`: what would be done and is not.
    pub fn learn<'i>(
        &mut self,
        items: impl Iterator<Item = &'i Item>,
        held: &dyn Fn(&Item) -> bool,
        now: Moment,
    ) -> Vec<Condition> {
        let mut found = BTreeMap::new();
        let mut new = Vec::new();
        for item in items {
            let Some((key, reasons)) = key(item, held) else { continue };
            let since = self.0.get(&key).copied();
            if since.is_none() && !found.contains_key(&key) {
                new.push(condition(&key, reasons, &item.session));
            }
            found.entry(key).or_insert(since.unwrap_or(now));
        }
        self.0 = found;
        new
    }

    /// What keeps an item's session from being as it is wanted, for whoever waits for it; of a whole kind, since when.
    #[must_use]
    pub fn keeping(&self, item: &Item, held: &dyn Fn(&Item) -> bool) -> Option<String> {
        let (key, reasons) = key(item, held)?;
        let words: Vec<String> = reasons.iter().map(Reason::words).collect();
        let words = words.join("; ");
        Some(match (&key.whom, self.0.get(&key)) {
            (Whom::Kind(kind), Some(since)) => {
                let since = jiff::Timestamp::from_millisecond(since.wall_ms).unwrap_or_default();
                let since = since.strftime("%H:%M:%S UTC");
                format!("launches of {kind} are held since {since}: {words}; `farhelm apply` releases them")
            }
            _ => words,
        })
    }
}

/// The condition of an item, and its reasons.
fn key<'i>(item: &'i Item, held: &dyn Fn(&Item) -> bool) -> Option<(Key, &'i [Reason])> {
    let sign = sign(item, held)?;
    let tripped = item.reasons.iter().find_map(|reason| match reason {
        Reason::KindTripped { kind, .. } => Some((Whom::Kind(kind.clone()), std::slice::from_ref(reason))),
        _ => None,
    });
    let (whom, reasons) = tripped.unwrap_or((Whom::Session(item.session.clone()), &item.reasons));
    Some((Key { whom, sign, codes: reasons.iter().map(Reason::code).collect() }, reasons))
}

fn condition(key: &Key, reasons: &[Reason], session: &Name) -> Condition {
    let mut words: Vec<String> = reasons.iter().map(Reason::words).collect();
    if let (Whom::Kind(_), Some(way_out)) = (&key.whom, reasons.first().and_then(|reason| reason.way_out(session))) {
        words.push(way_out);
    }
    let code = key.codes.first().cloned().unwrap_or_default();
    Condition { whom: key.whom.clone(), sign: key.sign, code, words: words.join("; ") }
}

fn sign(item: &Item, held: &dyn Fn(&Item) -> bool) -> Option<&'static str> {
    match &item.action {
        Action::Waiting(_) => Some("waiting"),
        Action::Blocked(_) => Some("blocked"),
        Action::Unknown => Some(UNKNOWN),
        action if action.effective() && held(item) => Some("held back"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(what: &str, failure: Option<&str>) -> Done {
        let session = Name::new("api").expect("a name");
        Done { session, what: what.to_owned(), failure: failure.map(str::to_owned) }
    }

    fn at(ms: i64) -> Moment {
        Moment { boot_ms: 0, wall_ms: ms }
    }

    #[test]
    fn what_fails_in_the_same_way_is_told_once() {
        let mut failures = Failures::default();
        assert!(failures.is_news(&done("launch", Some("cannot write /s/.tmpA1: no space left"))));
        assert!(!failures.is_news(&done("launch", Some("cannot write /s/.tmpB2: no space left"))));
        assert!(failures.is_news(&done("launch", Some("no such secret"))));
        assert!(failures.is_news(&done("launch", None)));
        assert!(failures.is_news(&done("launch", Some("no such secret"))));
    }

    #[test]
    fn a_tripped_kind_is_one_condition_whatever_the_number_of_its_sessions() {
        let kind = Name::new("claude").expect("a name");
        let item = |name: &str| Item {
            session: Name::new(name).expect("a name"),
            id: None,
            kind: Some(kind.clone()),
            parent: None,
            dir: None,
            action: Action::Blocked(Box::new(Action::Adopt)),
            reasons: vec![Reason::KindTripped { kind: kind.clone(), ended: 5 }, Reason::Vanished],
            cost: crate::plan::action::Cost::default(),
            notes: Vec::new(),
        };
        let items = [item("a"), item("b"), item("c")];
        let mut conditions = Conditions::default();
        let told = conditions.learn(items.iter(), &|_| false, at(0));
        assert_eq!(told.iter().map(|one| one.whom.clone()).collect::<Vec<_>>(), [Whom::Kind(kind.clone())]);
        assert!(told[0].words.contains("farhelm apply"), "{}", told[0].words);
        assert_eq!(conditions.learn(items.iter(), &|_| false, at(60_000)), []);
        let words = conditions.keeping(&items[2], &|_| false).expect("it is kept");
        assert!(words.starts_with("launches of claude are held since 00:00:00 UTC: 5 agents"), "{words}");
        assert!(words.ends_with("`farhelm apply` releases them"), "{words}");
    }
}
