//! A resident `watch`, step by step.

use std::collections::BTreeSet;

use super::*;
use crate::host::news::News;
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
    let trail = BTreeSet::from([PathBuf::from("/home/u/fleet.yaml")]);
    let mut files = Files { desired: wanted.clone(), version: 0, trail };
    let setup = Setup { actor: "watch".to_owned(), attended: false, ..bed.setup.clone() };
    bed.world.start();
    let switches = Switches { heal: true, apply: true };
    let mut watch = Watch::start(&bed.world, setup, "key".to_owned(), switches, &mut files, &mut |_| {})
        .expect("the files are right");
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
