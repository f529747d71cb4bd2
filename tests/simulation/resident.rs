//! One seeded schedule of a resident `watch`: files that change, break and are mended, agents that end, news that are
//! lost, repeated and made up, faults, reboots, SIGKILL of `watch`; then quiet, rest, and nothing more at all.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use farhelm::config::desired::{Desired, Restart};
use farhelm::host::news::News;
use farhelm::host::process::Processes;
use farhelm::host::sim::random::Random;
use farhelm::host::sim::{Killed, World};
use farhelm::plan::{Request, Trigger};
use farhelm::reconcile::watch::files::{Fresh, Source};
use farhelm::reconcile::watch::restraint::Switches;
use farhelm::reconcile::watch::{Said, Watch};

use crate::apply::{setup, words_of};
use crate::asking::{Asking, Place};
use crate::fleet::{self, dirs, edit, settle};
use crate::invariants::{Before, History, Run, prompts_given_twice};
use crate::memory;
use crate::outside;
use crate::rest;
use crate::schedule::{Verdict, faults, is_sound};

/// Times that `watch` may be woken, once the world is quiet, before it must be at rest.
const BOUND: usize = 120;
/// A long wait: `watch` has nothing in mind but its resync.
const LONG: Duration = Duration::from_secs(50);

/// The fleet's files as they are now.
struct Files {
    desired: Desired,
    broken: bool,
    version: u64,
    trail: BTreeSet<PathBuf>,
}

impl Source for Files {
    fn load(&mut self) -> Result<Fresh, String> {
        if self.broken {
            return Err("conflict markers".to_owned());
        }
        Ok(Fresh { desired: self.desired.clone(), revision: None })
    }

    fn trail(&self) -> &BTreeSet<PathBuf> {
        &self.trail
    }

    fn stamp(&self) -> u64 {
        self.version
    }
}

/// A schedule under way.
struct Resident<'w> {
    world: &'w World,
    random: Random,
    files: Files,
    watch: Option<Watch<'w>>,
    /// News that have not been heard yet.
    coming: News,
    history: History,
    /// Where agents ask for sessions.
    asking: Option<Asking>,
    blind: bool,
    /// Nothing goes wrong with the state directory.
    sound: bool,
    runs: usize,
    done: usize,
}

/// Runs the schedule of `seed`.
pub fn run(seed: u64) -> Verdict {
    let mut random = Random::new(seed);
    let world = World::new(random.bits());
    world.set_scopes(random.chance(200));
    dirs().iter().for_each(|dir| world.make_user_dir(dir));
    let mut desired = fleet::fleet(&mut random);
    desired.policy.watch_prune = random.chance(600);
    let mut asking = Asking::of(seed);
    asking.iter_mut().for_each(|asking| asking.allow(&mut desired));
    let trail = BTreeSet::from([PathBuf::from(fleet::SOURCE)]);
    let mut resident = Resident::new(&world, random, Files { desired, broken: false, version: 0, trail });
    resident.asking = asking;
    for _ in 0..resident.random.range(5, 25) {
        resident.trouble();
        if !world.violations().is_empty() {
            break;
        }
    }
    if world.violations().is_empty() {
        resident.come_to_rest();
    }
    let (runs, wrong) = (resident.runs, world.violations());
    let trace = if wrong.is_empty() { Vec::new() } else { world.happened().iter().map(ToString::to_string).collect() };
    Verdict { wrong, trace, runs }
}

/// Launches, in so much simulated time, of one agent that ends by itself again and again.
pub fn launches_in(time: Duration, restart: &Restart) -> usize {
    let mut random = Random::new(1);
    let world = World::new(random.bits());
    dirs().iter().for_each(|dir| world.make_user_dir(dir));
    let mut desired = fleet::one(&mut random, "crash");
    desired.sessions.values_mut().for_each(|session| session.restart = restart.clone());
    let trail = BTreeSet::from([PathBuf::from(fleet::SOURCE)]);
    let files = Files { desired, broken: false, version: 0, trail };
    let mut resident = Resident::new(&world, random, files);
    let begun = world.moment();
    while world.moment().since(&begun) < time && world.violations().is_empty() {
        resident.wake(Duration::from_secs(3_600), false);
    }
    assert_eq!(world.violations(), Vec::<String>::new());
    world.runs().len()
}

impl<'w> Resident<'w> {
    fn new(world: &'w World, random: Random, files: Files) -> Self {
        let (coming, history) = (News::default(), History::default());
        let (watch, asking) = (None, None);
        Self { world, random, files, watch, coming, history, asking, blind: false, sound: true, runs: 0, done: 0 }
    }

    /// Something happens, time goes by, and `watch` hears of it, or of something else.
    fn trouble(&mut self) {
        self.change_files();
        for _ in 0..self.random.below(3) {
            let words = outside::happen(self.world, &mut self.random, &self.files.desired);
            if words == "rebooted" {
                self.watch = None;
            }
            self.world.remark(words);
        }
        let faults = faults(&mut self.random);
        self.world.remark(format!("{faults:?}"));
        self.blind = faults.table_fails == 1000 || faults.boot_fails == 1000;
        self.sound = is_sound(&faults);
        self.world.set_faults(faults);
        if self.random.chance(200) {
            let effect = self.random.range(1, 60);
            self.world.kill_at(effect, self.random.chance(500));
        }
        for _ in 0..self.random.range(1, 6) {
            let ms = if self.random.chance(700) { self.random.below(3_000) } else { self.random.below(90_000) };
            self.ask();
            self.wake(Duration::from_millis(ms), true);
        }
    }

    /// An agent asks for a session, or an operator decides about one.
    fn ask(&mut self) {
        let Some(asking) = self.asking.as_mut().filter(|_| self.random.chance(400)) else { return };
        let (world, history, files) = (self.world, &mut self.history, &self.files.desired);
        let mut place = Place { world, history, files, blind: self.blind, sound: self.sound };
        if !asking.happen(&mut place, self.watch.as_mut()) {
            self.watch = None;
        }
    }

    fn change_files(&mut self) {
        if self.random.chance(400) {
            let words = edit(&mut self.random, &mut self.files.desired);
            self.world.remark(format!("an edit: {words}"));
            self.saved();
        }
        if let Some(words) = self.asking.as_mut().and_then(|asking| asking.edit(&mut self.files.desired)) {
            self.world.remark(format!("an edit: {words}"));
            self.saved();
        }
        let broken = if self.files.broken { !self.random.chance(500) } else { self.random.chance(100) };
        if broken != self.files.broken {
            self.files.broken = broken;
            self.world.remark(format!("the files are broken: {broken}"));
            self.saved();
        }
    }

    fn saved(&mut self) {
        self.files.version += 1;
        if !self.random.chance(100) {
            self.coming.changed.insert(PathBuf::from(fleet::SOURCE));
        }
    }

    /// Lets time go by, at most as long as `watch` waits, and wakes it.
    fn wake(&mut self, time: Duration, unreliable: bool) {
        let Some(watch) = self.watch.as_ref() else { return self.begin() };
        let patience = watch.patience().min(time);
        self.world.remark(format!("watch waits {patience:?} of {:?}", watch.patience()));
        self.world.advance(u64::try_from(patience.as_millis()).unwrap_or(0) + 1);
        let watched = watch.interest().processes;
        let alive = self.world.wait_gone(&watched, Duration::ZERO);
        let mut news = std::mem::take(&mut self.coming);
        news.changed.extend(self.world.reported());
        news.ended.extend(watched.difference(&alive));
        if unreliable {
            self.garble(&mut news);
        }
        self.world.remark(format!("it hears {news:?}"));
        self.hear(&news);
    }

    /// News are lost, late, repeated and made up.
    fn garble(&mut self, news: &mut News) {
        match self.random.below(20) {
            0 => *news = News::default(),
            1 => self.coming = std::mem::take(news),
            2 => self.coming = news.clone(),
            3 => news.lost = true,
            4 => news.reload = true,
            5 => drop(news.changed.insert(PathBuf::from("/home/u/state/reports/made-up/1-1.start.json"))),
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.world.start();
        self.runs += 1;
        let (world, files) = (self.world, &mut self.files);
        let switches = Switches { heal: true, apply: true };
        let setup = setup("watch", false, None);
        let started = catch_unwind(AssertUnwindSafe(|| {
            Watch::start(world, setup, "key".to_owned(), switches, files, &mut |_| {})
        }));
        match started {
            Ok(Ok(watch)) => self.watch = Some(watch),
            Ok(Err(error)) => {
                self.world.remark(format!("watch does not start: {error}"));
                self.world.finish();
            }
            Err(payload) => self.unwound(payload.as_ref()),
        }
    }

    fn hear(&mut self, news: &News) {
        let Some(mut watch) = self.watch.take() else { return };
        let request = Request { trigger: Trigger::Watch, ..Request::default() };
        let before = Before::look(self.world, self.blind);
        let (world, files, mut done) = (self.world, &mut self.files, 0);
        let heard = catch_unwind(AssertUnwindSafe(|| {
            watch.hear(news, files, &mut |said| {
                done += usize::from(matches!(said, Said::Done(_)));
                world.remark(format!("said: {said:?}"));
            });
        }));
        self.done += done;
        let whole = memory::whole(world, watch.desired());
        Run { world, desired: &whole, request: &request }.check(&before, &mut self.history);
        if let Some(asking) = &mut self.asking {
            asking.look(world, watch.desired(), false);
        }
        for words in prompts_given_twice(world, &self.history) {
            world.violated(words);
        }
        match heard {
            Ok(()) => self.watch = Some(watch),
            Err(payload) => self.unwound(payload.as_ref()),
        }
    }

    fn unwound(&mut self, payload: &(dyn std::any::Any + Send)) {
        self.watch = None;
        if !payload.is::<Killed>() {
            self.world.violated(format!("farhelm panicked: {}", words_of(payload)));
        }
    }

    /// The trouble stops: a bounded number of wakings leads to rest, and then nothing at all is done.
    fn come_to_rest(&mut self) {
        rest::quiet(self.world);
        self.world.kill_at(u64::from(u32::MAX), false);
        settle(&mut self.files.desired);
        self.files.desired.sources = vec![PathBuf::from(fleet::SOURCE)];
        self.files.broken = false;
        self.blind = false;
        self.saved();
        if !self.rests() {
            return;
        }
        let from = self.world.review(usize::MAX, |_| {});
        for _ in 0..5 {
            self.wake(Duration::from_secs(120), false);
        }
        for words in rest::changes_since(self.world, from) {
            self.world.violated(words);
        }
        self.check();
        if self.asks_well() && self.rests() {
            self.check();
        }
    }

    /// In a quiet world a request with which nothing is wrong is granted, and comes to rest.
    fn asks_well(&mut self) -> bool {
        let (Some(asking), Some(watch)) = (&mut self.asking, &mut self.watch) else { return false };
        let files = watch.desired().clone();
        let mut place =
            Place { world: self.world, history: &mut self.history, files: &files, blind: false, sound: true };
        asking.ask_well(&mut place, Some(watch))
    }

    fn rests(&mut self) -> bool {
        let mut still = 0;
        for _ in 0..BOUND {
            let before = self.done;
            self.wake(Duration::from_secs(120), false);
            let long = self.watch.as_ref().is_some_and(|watch| watch.patience() >= LONG);
            still = if long && self.done == before { still + 1 } else { 0 };
            if still == 3 || !self.world.violations().is_empty() {
                break;
            }
        }
        if still < 3 {
            self.world.violated(format!("watch is not at rest after {BOUND} quiet wakings"));
        }
        still == 3 && self.world.violations().is_empty()
    }

    /// Every session that is to run, and that nobody has to decide about, does.
    fn check(&self) {
        let Some(watch) = &self.watch else { return };
        let request = Request { trigger: Trigger::Watch, ..Request::default() };
        let whole = memory::whole(self.world, watch.desired());
        let Some(plan) = rest::plan(self.world, watch.desired(), &request) else {
            return self.world.violated("a quiet world cannot be planned");
        };
        for item in &plan.items {
            if item.action.effective() {
                let words = format!("{} is left {:?}: {:?}", item.session, item.action, item.reasons);
                self.world.violated(format!("watch does not do what is to be done: {words}"));
            }
            rest::check_session(self.world, &whole, item);
        }
        if let Some(asking) = &self.asking {
            asking.family.check_rest(self.world, watch.desired(), &plan);
        }
    }
}
