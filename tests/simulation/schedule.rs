//! One seeded schedule: edits, outside events, faults and runs of farhelm; then quiet, and the way to rest.

use std::path::PathBuf;

use globset::{Glob, GlobSet};

use farhelm::config::desired::Desired;
use farhelm::host::sim::random::Random;
use farhelm::host::sim::{DiskMode, Faults, World};
use farhelm::plan::{Request, Trigger};
use farhelm::spec::name::Name;
use farhelm::state::record::{Hold, HoldKind, SessionId};

use crate::apply::{Applied, apply};
use crate::asking::{Asking, Place};
use crate::fleet::{self, dirs, edit, settle, state_dir};
use crate::invariants::{Before, History, Run, prompts_given_twice};
use crate::memory;
use crate::outside;
use crate::rest;

/// What a seed came to.
pub struct Verdict {
    /// What went wrong, in words; nothing when all held.
    pub wrong: Vec<String>,
    /// Everything that happened, line by line.
    pub trace: Vec<String>,
    /// Runs of farhelm.
    pub runs: usize,
}

/// A schedule under way.
pub struct Schedule {
    pub world: World,
    pub random: Random,
    pub desired: Desired,
    earlier: Vec<Desired>,
    pub history: History,
    /// Where agents ask for sessions.
    pub asking: Option<Asking>,
    pub runs: usize,
}

/// Runs the schedule of `seed`.
pub fn run(seed: u64) -> Verdict {
    let mut random = Random::new(seed);
    let world = World::new(random.bits());
    world.set_scopes(random.chance(200));
    for dir in dirs() {
        world.make_user_dir(&dir);
    }
    let (mut desired, mut asking) = (fleet::fleet(&mut random), Asking::of(seed));
    asking.iter_mut().for_each(|asking| asking.allow(&mut desired));
    let (earlier, history) = (Vec::new(), History::default());
    let mut schedule = Schedule { world, random, desired, earlier, history, asking, runs: 0 };
    for _ in 0..schedule.random.range(3, 12) {
        schedule.trouble();
        if !schedule.world.violations().is_empty() {
            break;
        }
    }
    if schedule.world.violations().is_empty() {
        rest::come_to_rest(&mut schedule);
    }
    schedule.verdict()
}

impl Schedule {
    fn verdict(self) -> Verdict {
        let wrong = self.world.violations();
        let trace =
            if wrong.is_empty() { Vec::new() } else { self.world.happened().iter().map(ToString::to_string).collect() };
        Verdict { wrong, trace, runs: self.runs }
    }

    /// One step of the troubled part.
    fn trouble(&mut self) {
        self.edit();
        self.decide();
        for _ in 0..self.random.below(3) {
            let words = outside::happen(&self.world, &mut self.random, &self.desired);
            self.world.remark(words);
        }
        let faults = faults(&mut self.random);
        self.world.remark(format!("{faults:?}"));
        self.world.set_faults(faults.clone());
        let ms = if self.random.chance(700) { self.random.below(3_000) } else { self.random.below(90_000) };
        self.world.advance(ms);
        if self.random.chance(25) {
            self.world.lose_files(state_dir());
            self.history.forget(&self.world);
            self.asking.iter_mut().for_each(Asking::forget);
        }
        let blind = faults.table_fails == 1000 || faults.boot_fails == 1000;
        self.ask(blind, is_sound(&faults));
        let request = self.request();
        let inside = self.start(&request, 40);
        if self.random.chance(350) {
            let effect = if self.random.chance(700) { self.random.range(1, 30) } else { self.random.range(1, 150) };
            self.world.kill_at(effect, self.random.chance(500));
        }
        if self.random.chance(60) {
            let first = self.random.below(8_000);
            self.world.interrupt_in(first, self.random.chance(500).then_some(first + 2_000));
        }
        self.run(&request, inside, blind);
    }

    /// Agents ask for sessions.
    fn ask(&mut self, blind: bool, sound: bool) {
        let Some(asking) = &mut self.asking else { return };
        for _ in 0..self.random.below(4) {
            let Self { world, history, desired: files, .. } = self;
            asking.happen(&mut Place { world, history, files, blind, sound }, None);
            self.runs += 1;
        }
    }

    fn edit(&mut self) {
        if self.random.chance(150) && !self.earlier.is_empty() {
            self.desired = self.random.pick(&self.earlier).expect("it is not empty").clone();
            self.world.remark("the files are reverted");
        } else if self.random.chance(600) {
            self.earlier.push(self.desired.clone());
            for _ in 0..self.random.range(1, 2) {
                let words = edit(&mut self.random, &mut self.desired);
                self.world.remark(format!("an edit: {words}"));
            }
        }
        if let Some(words) = self.asking.as_mut().and_then(|asking| asking.edit(&mut self.desired)) {
            self.world.remark(format!("an edit: {words}"));
        }
        let elsewhere = self.random.chance(50);
        let source = if elsewhere { "/home/u/copy.yaml" } else { fleet::SOURCE };
        self.desired.sources = vec![PathBuf::from(source)];
    }

    /// An operator decides about a session.
    fn decide(&mut self) {
        if !self.random.chance(150) {
            return;
        }
        let names: Vec<Name> = self.desired.sessions.keys().cloned().collect();
        let Some(name) = self.random.pick(&names).cloned() else { return };
        let now = self.world.moment();
        let what = match self.random.below(5) {
            0 | 1 => Some(HoldKind::Paused),
            2 => Some(HoldKind::Stopped),
            3 => Some(HoldKind::Started),
            _ => None,
        };
        let until_ms = self.random.chance(300).then_some(now.wall_ms + 120_000);
        let hold = what.map(|what| Hold { what, since: now, until_ms, why: None });
        let unprotect = self.random.chance(200);
        let words =
            format!("an operator decides {:?} for {name}, unprotect {unprotect}", hold.as_ref().map(|h| h.what));
        if memory::change(&self.world, &name, |record| {
            record.hold = hold;
            record.protect &= !unprotect;
        }) {
            self.world.remark(words);
        }
    }

    fn request(&mut self) -> Request {
        let names: Vec<Name> = self.desired.sessions.keys().cloned().collect();
        let again = if self.random.chance(60) { self.random.pick(&names).cloned() } else { None };
        Request {
            trigger: if again.is_none() && self.random.chance(150) { Trigger::Watch } else { Trigger::Apply },
            now: self.random.chance(300),
            take_over: self.random.chance(50),
            fresh: again.is_some() && self.random.chance(200),
            allow_fresh: self
                .random
                .chance(60)
                .then(|| self.random.pick(&names).cloned().map(|name| globs(&[name])))
                .flatten(),
            again: again.into_iter().collect(),
            ..Request::default()
        }
    }

    /// Starts a run of farhelm, in `inside` of a thousand cases inside a session; says which.
    pub fn start(&mut self, request: &Request, inside: u32) -> Option<SessionId> {
        self.runs += 1;
        let ids: Vec<String> = memory::ids(&self.world, "sessions").into_iter().collect();
        let chosen = if self.random.chance(inside) { self.random.pick(&ids).cloned() } else { None };
        let inside = chosen.filter(|id| self.world.start_inside(id));
        if inside.is_none() {
            self.world.start();
        }
        self.world.remark(format!(
            "run {}: {:?}, again {:?}, fresh {}, take over {}, inside {inside:?}",
            self.runs, request.trigger, request.again, request.fresh, request.take_over
        ));
        inside.and_then(|id| id.parse().ok()).map(SessionId)
    }

    /// The run of farhelm that was started, and what must hold after it.
    pub fn run(&mut self, request: &Request, inside: Option<SessionId>, blind: bool) -> Applied {
        let before = Before::look(&self.world, blind);
        let applied = apply(&self.world, &self.desired, request, inside);
        self.world.finish();
        match &applied {
            Applied::Finished(plan) => {
                for item in &plan.items {
                    let words = format!("plan: {} {:?} {:?}", item.session, item.action, item.reasons);
                    self.world.remark(words);
                }
            }
            Applied::Refused(words) => self.world.remark(format!("refused: {words}")),
            Applied::Killed => {}
            Applied::Panicked(words) => self.world.violated(format!("farhelm panicked: {words}")),
        }
        let whole = memory::whole(&self.world, &self.desired);
        Run { world: &self.world, desired: &whole, request }.check(&before, &mut self.history);
        drop(whole);
        if let Some(asking) = &mut self.asking {
            asking.look(&self.world, &self.desired, request.trigger == Trigger::Down);
        }
        for words in prompts_given_twice(&self.world, &self.history) {
            self.world.violated(words);
        }
        applied
    }

    /// Makes the fleet one that can come to rest.
    pub fn settle(&mut self) {
        settle(&mut self.desired);
        self.desired.sources = vec![PathBuf::from(fleet::SOURCE)];
    }
}

/// A glob of exactly these names.
pub fn globs(names: &[Name]) -> GlobSet {
    let globs = names.iter().map(|name| Glob::new(name.as_str()).expect("a name is a glob"));
    GlobSet::new(globs).expect("plain globs")
}

/// Whether nothing goes wrong with the state directory.
pub fn is_sound(faults: &Faults) -> bool {
    faults.disk == DiskMode::Well && faults.disk_fails == 0 && faults.lock_busy == 0
}

/// What goes wrong during one run: nothing in half of them.
pub fn faults(random: &mut Random) -> Faults {
    let mut faults = Faults::none();
    if random.chance(500) {
        return faults;
    }
    for _ in 0..random.range(1, 2) {
        let often = *random.pick(&[20, 100, 400]).unwrap_or(&20);
        match random.below(13) {
            0 | 1 => faults.tmux_timeout = often,
            2 => faults.tmux_fails = often,
            3 => faults.tmux_dies = often,
            4 => faults.status_lost = 500,
            5 => faults.table_fails = if random.chance(500) { 1000 } else { often },
            6 => faults.boot_fails = if random.chance(500) { 1000 } else { often },
            7 => faults.disk = if random.chance(700) { DiskMode::Full } else { DiskMode::ReadOnly },
            8 => faults.disk_fails = often / 10,
            9 => faults.lock_busy = 300,
            10 => faults.shell_stuck = 200,
            11 => faults.shell_dies = often,
            _ => faults.before_launch_fails = 300,
        }
    }
    faults.scope_fails = if random.chance(200) { 300 } else { 0 };
    faults.shim_ms = *random.pick(&[5, 120, 3_000]).unwrap_or(&120);
    faults
}
