//! A resident `watch`, step by step.

use std::collections::BTreeSet;

use super::*;
use crate::host::news::News;
use crate::host::process::Signal;
use crate::host::sim::What;
use crate::reconcile::watch::files::{Fresh, Source};
use crate::reconcile::watch::restraint::Switches;
use crate::reconcile::watch::{Said, Watch};

/// Files that are always right.
struct Files {
    desired: Desired,
    version: u64,
    trail: BTreeSet<PathBuf>,
}

impl Source for Files {
    fn load(&mut self) -> Result<Fresh, String> {
        Ok(Fresh { desired: self.desired.clone(), revision: None })
    }

    fn trail(&self) -> &BTreeSet<PathBuf> {
        &self.trail
    }

    fn stamp(&self) -> u64 {
        self.version
    }
}

fn files(desired: &Desired) -> Files {
    let trail = BTreeSet::from([PathBuf::from("/home/u/fleet.yaml")]);
    Files { desired: desired.clone(), version: 0, trail }
}

fn start<'b>(bed: &'b Bed, files: &mut Files) -> Watch<'b> {
    let setup = Setup { actor: "watch".to_owned(), attended: false, ..bed.setup.clone() };
    let switches = Switches { heal: true, apply: true };
    Watch::start(&bed.world, setup, "key".to_owned(), switches, files, &mut |_| {}).expect("the files are right")
}

/// A `watch` that is woken when it is due, for so much simulated time; says whether it was killed.
fn stay(bed: &Bed, files: &mut Files, time: Duration, killed_at: u64) -> bool {
    bed.world.start();
    bed.world.kill_at(killed_at, false);
    let run = || {
        let mut watch = start(bed, files);
        let begun = bed.world.moment();
        while bed.world.moment().since(&begun) < time {
            watch.hear(&News::default(), files, &mut |_| {});
            bed.world.advance(u64::try_from(watch.patience().as_millis()).expect("it is short").clamp(1, 1_000));
        }
    };
    let killed = catch_unwind(AssertUnwindSafe(run)).is_err_and(|payload| payload.is::<Killed>());
    bed.world.finish();
    killed
}

/// When these signals were sent.
fn signals(bed: &Bed, wanted: Signal) -> Vec<u64> {
    let sent = |what: &What| matches!(what, What::Signalled { signal, .. } if *signal == wanted);
    bed.world.happened().iter().filter(|event| sent(&event.what)).map(|event| event.at).collect()
}

#[test]
fn what_takes_its_time_to_end_has_its_whole_grace_wherever_watch_is_killed_meanwhile() {
    for effect in 1.. {
        let mut bed = Bed::new(effect, "stubborn");
        bed.session().stop_grace = Duration::from_secs(4);
        bed.apply();
        bed.session().running = false;
        let mut files = files(&bed.desired);
        let killed = stay(&bed, &mut files, Duration::from_secs(20), effect);
        if killed {
            stay(&bed, &mut files, Duration::from_secs(20), u64::from(u32::MAX));
        }
        let (asked, ended) = (signals(&bed, Signal::Term), signals(&bed, Signal::Kill));
        let late = format!("killed at effect {effect}: asked at {asked:?}, ended at {ended:?}\n{}", bed.trace());
        // Killed before it was written down, it is asked again: once.
        assert!(asked.len() <= 1 + usize::from(killed), "{late}");
        assert!(ended[0] - asked[asked.len() - 1] >= 4_000, "{late}");
        assert!(bed.world.agents(&bed.record().id.to_string()).is_empty(), "{late}");
        assert!(bed.record().leaving.is_empty(), "{late}");
        assert_eq!(bed.world.frozen(), [], "{late}");
        assert_eq!(bed.world.violations(), [""; 0], "{late}");
        if !killed {
            assert_eq!(asked.len(), 1, "{late}");
            assert!(effect > 5, "an ending has effects");
            return;
        }
    }
}

/// Saves the files, lets them settle and a pass be made; what was done in it, if anything.
fn save(world: &World, watch: &mut Watch<'_>, files: &mut Files, desired: &Desired) -> Vec<String> {
    files.desired = desired.clone();
    files.version += 1;
    let mut done = Vec::new();
    let changed = News { changed: files.trail.clone(), ..News::default() };
    for news in [changed, News::default()] {
        watch.hear(&news, files, &mut |said| {
            if let Said::Done(one) = said {
                done.push(one.what.clone());
            }
        });
        world.advance(500);
    }
    done
}

#[test]
fn what_came_back_in_between_is_reaped_after_two_looks_again() {
    let bed = Bed::new(1, "steady");
    let mut wanted = bed.desired.clone();
    wanted.policy.watch_prune = true;
    let without = Desired { sessions: BTreeMap::new(), ..wanted.clone() };
    let mut files = files(&wanted);
    bed.world.start();
    let mut watch = start(&bed, &mut files);
    watch.hear(&News::default(), &mut files, &mut |_| {});
    bed.world.advance(5_000);

    assert_eq!(save(&bed.world, &mut watch, &mut files, &without), [""; 0], "the first look");
    assert_eq!(save(&bed.world, &mut watch, &mut files, &wanted), [""; 0], "it is wanted again");
    bed.world.advance(60_000);
    assert_eq!(save(&bed.world, &mut watch, &mut files, &without), [""; 0], "the first look again");
    bed.world.advance(2_000);
    let mut done = Vec::new();
    watch.hear(&News::default(), &mut files, &mut |said| done.extend(matches!(said, Said::Done(_)).then_some(())));
    assert_eq!(done.len(), 1, "the second look: {}", bed.trace());
    assert_eq!(bed.world.violations(), [""; 0]);
}
