//! What no session can decide alone: `max_reap`, `max_running`, removed sessions that look renamed, and what has rooms of
//! its own: the breaker and rollouts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::observe::observed::DirSeen;
use crate::spec::name::Name;

use super::action::Action;
use super::reason::Reason;
use super::subject::Subject;
use super::verdict::Case;
use super::{Inputs, Trigger, breaker, rollout};

/// Holds back what is too much at once. `rest` are the sessions that are not selected.
pub(super) fn apply(cases: &mut [Case<'_>], rest: &[Subject<'_>], inputs: &Inputs<'_>) {
    if inputs.request.trigger == Trigger::Down {
        return;
    }
    maybe_moved(cases);
    max_reap(cases, inputs);
    breaker::apply(cases, inputs);
    rollout::apply(cases, inputs);
    max_running(cases, rest, inputs);
}

/// A removed session and a new one in the same directory: both are blocked, for renaming was probably meant.
fn maybe_moved(cases: &mut [Case<'_>]) {
    let mut removed: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        let canonical = case.subject.memory.as_ref().and_then(|memory| memory.canonical);
        if let Some(dir) = canonical.filter(|_| case.verdict.why.contains(&Reason::Removed)) {
            removed.entry(dir.to_owned()).or_default().push(index);
        }
    }
    let mut partners: BTreeMap<usize, Name> = BTreeMap::new();
    for index in 0..cases.len() {
        let Some(old) = launched_dir(&cases[index]).and_then(|dir| removed.get(dir)) else { continue };
        let kind = cases[index].subject.want.map(|want| &want.kind);
        let same_kind =
            |old: &&usize| cases[**old].subject.memory.as_ref().and_then(|m| m.record).map(|r| &r.kind) == kind;
        let Some(nearest) = old.iter().find(same_kind).or(old.first()).copied() else { continue };
        partners.insert(index, cases[nearest].subject.name.clone());
        for old in old {
            partners.entry(*old).or_insert_with(|| cases[index].subject.name.clone());
        }
    }
    for (index, other) in partners {
        let verdict = &mut cases[index].verdict;
        if !verdict.frozen {
            verdict.obstacles.push(Reason::MaybeMoved { other });
        }
    }
}

/// The directory in which the session would be launched for the first time.
fn launched_dir<'a>(case: &Case<'a>) -> Option<&'a Path> {
    let declared = case.subject.want.is_some_and(|want| want.parent.is_none());
    let new = declared && case.subject.memory.is_none() && !case.verdict.why.contains(&Reason::Restored);
    match case.subject.dir {
        Some(DirSeen::Present(dir)) if new && matches!(case.verdict.action, Action::Launch(_)) => Some(dir),
        _ => None,
    }
}

/// More reaps than allowed are blocked as a whole.
fn max_reap(cases: &mut [Case<'_>], inputs: &Inputs<'_>) {
    let limit = inputs.request.max_reap.unwrap_or(inputs.desired.policy.max_reap);
    let reaps = |case: &&mut Case<'_>| case.verdict.action == Action::Reap && case.verdict.goes();
    let wanted = cases.iter_mut().filter(reaps).count();
    if wanted > limit {
        for case in cases.iter_mut().filter(reaps) {
            case.verdict.obstacles.push(Reason::MaxReap { limit, wanted });
        }
    }
}

/// The launches for which no place is left wait. Places are counted over the whole fleet, selected or not; what is
/// ended by this plan gives up its place, what could not be observed keeps it.
fn max_running(cases: &mut [Case<'_>], rest: &[Subject<'_>], inputs: &Inputs<'_>) {
    let Some(limit) = inputs.desired.policy.max_running else { return };
    // Whoever stays launches before all has ended that is ended: it has a place when that is free.
    let waits = inputs.request.trigger != Trigger::Watch;
    let stays = |case: &&Case<'_>| {
        let ends = waits && case.verdict.goes() && matches!(case.verdict.action, Action::Stop | Action::Reap);
        let unknown = case.verdict.action == Action::Unknown && case.subject.memory.is_some();
        (case.subject.runs() && !ends) || unknown
    };
    let running = rest.iter().filter(|subject| subject.runs()).count() + cases.iter().filter(stays).count();
    let starts = |case: &Case<'_>| {
        let start = matches!(case.verdict.action, Action::Launch(_) | Action::Restart(_));
        start && case.verdict.goes() && !case.subject.runs()
    };
    let mut launches: Vec<&mut Case<'_>> = cases.iter_mut().filter(|case| starts(case)).collect();
    launches.sort_by_key(|case| (Reverse(case.subject.want.map_or(0, |want| want.priority)), case.subject.name));
    for case in launches.into_iter().skip(limit.saturating_sub(running)) {
        case.verdict.waits.push(Reason::MaxRunning { limit });
    }
}
