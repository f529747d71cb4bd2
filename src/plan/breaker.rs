//! The breaker: many agents of one kind that do not come up have one cause (an expired login, a rate limit, a broken
//! upgrade), and starting the rest of them only makes it worse. `watch` then starts none of that kind; whoever asks
//! otherwise gets what they ask for, and if it comes up, the kind is free again.
//!
//! Nothing is remembered for it: as long as they are not started again, their records say it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::spec::name::Name;
use crate::state::record::{EndedHow, Launch, Record};

use super::action::Action;
use super::reason::Reason;
use super::verdict::Case;
use super::{Inputs, Trigger, units};

/// An agent that ends by itself within this time of its launch has not come up.
const QUICK: Duration = Duration::from_secs(10);
/// So many of a kind have one cause…
const MANY: usize = 5;
/// …when their ends lie within this time.
const TOGETHER: Duration = Duration::from_secs(30);

/// Holds back the launches of kinds that have tripped.
pub(super) fn apply(cases: &mut [Case<'_>], inputs: &Inputs<'_>) {
    if inputs.request.trigger != Trigger::Watch {
        return;
    }
    let tripped = tripped(inputs.recorded.records.values());
    if tripped.is_empty() {
        return;
    }
    for case in cases.iter_mut().filter(|case| matches!(case.verdict.action, Action::Launch(_) | Action::Restart(_))) {
        let Some(want) = case.subject.want else { continue };
        let asked = case.subject.again || case.subject.start;
        let changed = case.verdict.why.iter().any(|why| matches!(why, Reason::Changed { .. }));
        if let Some(ended) = tripped.get(&want.kind).filter(|_| !asked && !changed && !case.subject.runs()) {
            let reason = Reason::KindTripped { kind: want.kind.clone(), ended: *ended };
            case.verdict.obstacles.push(reason);
        }
    }
}

/// The kinds of which many ended together right after their launch, at least half of those launched meanwhile, and how
/// many.
fn tripped<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<Name, usize> {
    let mut kinds: BTreeMap<&Name, Vec<&Launch>> = BTreeMap::new();
    for record in records {
        kinds.entry(&record.kind).or_default().extend(record.launch());
    }
    let tripped = kinds.into_iter().filter_map(|(kind, launches)| Some((kind.clone(), together(&launches)?)));
    tripped.collect()
}

fn together(launches: &[&Launch]) -> Option<usize> {
    let mut ends: Vec<i64> = launches.iter().filter_map(|launch| quick_end(launch)).collect();
    ends.sort_unstable();
    let most = ends.iter().enumerate().map(|(first, begin)| {
        let last = ends.partition_point(|end| units::since(*begin, *end) <= TOGETHER);
        (last - first, *begin, ends[last - 1])
    });
    let (many, begin, end) = most.max_by_key(|(many, ..)| *many)?;
    let meanwhile = |launch: &&&Launch| {
        let at = launch.at.wall_ms;
        units::since(at, begin) <= QUICK && at <= begin || (begin..=end).contains(&at)
    };
    let begun = launches.iter().filter(meanwhile).count();
    (many >= MANY && many * 2 >= begun).then_some(many)
}

/// When a launch ended that did not come up by itself: interruptions and signals say nothing of its kind.
fn quick_end(launch: &Launch) -> Option<i64> {
    let ended = launch.ended.as_ref()?;
    let own = match ended.how {
        EndedHow::Exited(status) => status != 0,
        EndedHow::LaunchFailed(_) => true,
        _ => false,
    };
    let at = ended.at_ms.filter(|_| own)?;
    (units::since(launch.at.wall_ms, at) <= QUICK).then_some(at)
}
