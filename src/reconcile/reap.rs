//! Ending processes completely, and proving it.
//!
//! Scopes first, where a launch had one, then always the sweep of the process table: TERM (and HUP for tabs), up to the
//! grace, look again, STOP what is there in up to [`FREEZE_PASSES`] passes, KILL, confirm. Identity is (boot, pid, start
//! time), signals go through pidfds, groups are never signalled. What cannot be confirmed gone is named.
//!
//! Whoever stays does not wait for the grace: it asks, goes on to other things, and comes back with what it remembers.
//!
//! Without a scope one gap remains: a process that detached itself, lost its parent and scrubbed its environment (`env -i
//! setsid …`) carries nothing by which it could be known as ours, and survives.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::host::Host;
use crate::host::clock::{Interrupt, Moment};
use crate::host::process::{ProcessKey, Signal, Signalled};
use crate::state::leaving::{Claim, Stage};

use super::census::Census;

mod target;

pub use target::{Ending, Left, Target};

/// STOP passes after the grace; a last one that still finds something new is a failure.
pub const FREEZE_PASSES: usize = 5;
/// How long a kill is waited for before its survivors are named.
pub const CONFIRM: Duration = Duration::from_secs(2);
/// How long ends may keep whoever stays from anything else.
pub const SLICE: Duration = Duration::from_millis(250);
/// More processes than this are not remembered: they are waited for.
const CROWD: usize = 256;

/// Ends all of `targets` together: they share each reading of the table, and each has its full grace. With a `slice`, what
/// has not ended after that time is [`Left`].
#[must_use]
pub fn end(host: &dyn Host, targets: &[Target], slice: Option<Duration>) -> Vec<Ending> {
    let mut sweep = Sweep::new(host, targets, slice);
    sweep.scopes();
    if sweep.ask() {
        let asked = sweep.asked_processes();
        match slice {
            None => sweep.wait_out(&asked),
            Some(_) => sweep.wait_a_slice(&asked),
        }
    }
    sweep.endings
}

struct Sweep<'a> {
    host: &'a dyn Host,
    targets: &'a [Target],
    slice: Option<Duration>,
    begun: Moment,
    endings: Vec<Ending>,
    /// Every process ever claimed, by target.
    known: Vec<BTreeSet<ProcessKey>>,
    names: BTreeMap<ProcessKey, String>,
    /// Who was asked when, by target.
    asked: Vec<Option<(Stage, Moment)>>,
}

impl<'a> Sweep<'a> {
    fn new(host: &'a dyn Host, targets: &'a [Target], slice: Option<Duration>) -> Self {
        let known = targets.iter().map(|t| t.roots.iter().copied().collect()).collect();
        let endings = vec![Ending::default(); targets.len()];
        let asked = targets.iter().map(|target| target.asked).collect();
        Self { host, targets, slice, begun: host.now(), endings, known, names: BTreeMap::new(), asked }
    }

    /// Scopes end on their own terms: TERM, grace, KILL, collected. The sweep runs whatever comes of it.
    fn scopes(&mut self) {
        let host = self.host;
        let present = self.present();
        // The exit status of a kill is advisory: the unit's disappearance is the verdict.
        for (index, unit) in present.iter().filter(|(index, _)| self.asked[*index].is_none()) {
            let _ = host.kill(unit, Signal::Term);
            if matches!(self.targets[*index].claim, Claim::Tab(_) | Claim::Session) {
                let _ = host.kill(unit, Signal::Hup);
            }
        }
        let now = host.now();
        for (index, _) in &present {
            self.asked[*index].get_or_insert((Stage::Scopes, now));
        }
        let units: Vec<String> = present.iter().map(|(_, unit)| unit.clone()).collect();
        let patience = present.iter().map(|(index, _)| self.patience(*index)).max().unwrap_or_default();
        let stubborn = if units.is_empty() { units } else { host.wait_collected(&units, patience) };
        let (young, over): (Vec<_>, Vec<_>) = present
            .into_iter()
            .filter(|(_, unit)| stubborn.contains(unit))
            .partition(|(index, _)| self.has_time(*index));
        let units: Vec<String> = over.iter().map(|(_, unit)| unit.clone()).collect();
        for unit in &units {
            let _ = host.kill(unit, Signal::Kill);
        }
        let left = if units.is_empty() { units } else { host.wait_collected(&units, CONFIRM) };
        for (index, unit) in over.into_iter().filter(|(_, unit)| left.contains(unit)) {
            self.endings[index].errors.push(format!("scope {unit} is still there"));
        }
        for index in young.iter().map(|(index, _)| *index) {
            self.leave(index, BTreeSet::new());
        }
        for index in 0..self.targets.len() {
            let over = self.endings[index].left.is_none();
            // What is not in them is asked by itself.
            self.asked[index] = self.asked[index].filter(|(stage, _)| !over || *stage == Stage::Processes);
        }
    }

    /// The scopes that are there of targets of which no more was asked than these.
    fn present(&mut self) -> Vec<(usize, String)> {
        let mut present = Vec::new();
        for (index, target) in self.targets.iter().enumerate() {
            if matches!(target.asked, Some((Stage::Processes, _))) {
                continue;
            }
            for unit in &target.units {
                match self.host.exists(unit) {
                    Ok(true) => present.push((index, unit.clone())),
                    Ok(false) => {}
                    Err(error) => self.endings[index].errors.push(format!("scope {unit}: {error}")),
                }
            }
        }
        present
    }

    /// How long a target is waited for now: what was asked before is only looked at.
    fn patience(&self, index: usize) -> Duration {
        let left = self.left(index);
        let Some(slice) = self.slice else { return left };
        let slice = slice.saturating_sub(self.host.now().since(&self.begun));
        if self.targets[index].asked.is_none() { left.min(slice) } else { Duration::ZERO }
    }

    /// Time it still has to end by itself.
    fn left(&self, index: usize) -> Duration {
        let asked = self.asked[index].map(|(_, at)| self.host.now().since(&at));
        asked.map_or(Duration::ZERO, |since| self.targets[index].grace.saturating_sub(since))
    }

    fn has_time(&self, index: usize) -> bool {
        self.slice.is_some() && !self.left(index).is_zero()
    }

    fn leave(&mut self, index: usize, processes: BTreeSet<ProcessKey>) {
        self.endings[index].left = self.asked[index].map(|(stage, at)| Left { stage, at, processes });
    }

    /// The first look, and TERM to everything it finds that was not asked before. Without that look nothing is signalled
    /// at all.
    fn ask(&mut self) -> bool {
        let everyone: Vec<usize> = (0..self.targets.len()).collect();
        let Some(census) = self.census(&everyone) else { return false };
        self.claim(&census, &everyone);
        for index in everyone.iter().copied() {
            self.endings[index].found = self.known[index].len();
            if let Some(left) = &mut self.endings[index].left {
                let alive = self.known[index].iter().filter(|key| census.table.alive(**key).is_some());
                left.processes = alive.copied().take(CROWD).collect();
            }
        }
        let asked: Vec<usize> = everyone.into_iter().filter(|index| self.asked[*index].is_none()).collect();
        for index in asked.iter().copied() {
            for key in self.known[index].clone() {
                self.signal(index, key, Signal::Term);
                // An interactive shell ignores TERM and leaves on the hangup its terminal would have sent.
                if census.marked.get(&key).is_some_and(|marks| marks.tab.is_some())
                    || matches!(self.targets[index].claim, Claim::Tab(_))
                {
                    self.signal(index, key, Signal::Hup);
                }
            }
        }
        let now = self.host.now();
        asked.into_iter().for_each(|index| self.asked[index] = Some((Stage::Processes, now)));
        true
    }

    /// The targets whose scopes are gone.
    fn asked_processes(&self) -> Vec<usize> {
        (0..self.targets.len()).filter(|index| self.endings[*index].left.is_none()).collect()
    }

    /// Each of these gets its full grace, and is killed when that is over.
    fn wait_out(&mut self, group: &[usize]) {
        let asked = |index: usize| self.asked[index].map_or(0, |(_, at)| at.boot_ms);
        let until = |index: usize| asked(index).saturating_add(millis(self.targets[index].grace));
        let ends: Vec<(u64, usize)> = group.iter().map(|index| (until(*index), *index)).collect();
        let mut times: Vec<u64> = ends.iter().map(|(time, _)| *time).collect();
        times.sort_unstable();
        times.dedup();
        for time in times {
            let waiting: Vec<usize> = ends.iter().filter(|(end, _)| *end >= time).map(|(_, index)| *index).collect();
            let left = time.saturating_sub(self.host.now().boot_ms);
            let _ = self.host.wait_gone(&self.everything(&waiting), Duration::from_millis(left));
            let over: Vec<usize> = ends.iter().filter(|(end, _)| *end == time).map(|(_, index)| *index).collect();
            self.kill(&over);
        }
    }

    /// Waits for a moment. What is gone then is finished, what has had its grace is killed, the rest is left.
    fn wait_a_slice(&mut self, group: &[usize]) {
        let waiting: Vec<usize> = group.iter().copied().filter(|index| !self.patience(*index).is_zero()).collect();
        let patience = waiting.iter().map(|index| self.patience(*index)).max().unwrap_or_default();
        let _ = self.host.wait_gone(&self.everything(&waiting), patience);
        let (young, over): (Vec<usize>, Vec<usize>) = group.iter().partition(|index| self.has_time(**index));
        let alive = self.fresh(&young, &BTreeSet::new());
        let (mut gone, mut crowds) = (Vec::new(), Vec::new());
        for index in young {
            let of = |(one, key): &(usize, ProcessKey)| (*one == index).then_some(*key);
            let alive = alive.as_ref().map(|alive| alive.iter().filter_map(of).collect::<BTreeSet<_>>());
            match alive {
                Some(alive) if alive.is_empty() => gone.push(index),
                Some(alive) if alive.len() > CROWD => crowds.push(index),
                Some(alive) => self.leave(index, alive),
                None => self.leave(index, self.known[index].iter().copied().take(CROWD).collect()),
            }
        }
        self.finish(&gone);
        self.kill(&over);
        self.wait_out(&crowds);
    }

    fn everything(&self, group: &[usize]) -> BTreeSet<ProcessKey> {
        group.iter().flat_map(|index| self.known[*index].iter().copied()).collect()
    }

    /// Freezes, kills and confirms these targets.
    ///
    /// tmux sends CONT to a pane's process that was stopped (seen on 3.3a), so that one goes on forking: what it still
    /// started is found by further looks after the kill, until two in a row find nothing.
    fn kill(&mut self, group: &[usize]) {
        if group.is_empty() {
            return;
        }
        let mut frozen: BTreeSet<ProcessKey> = BTreeSet::new();
        for pass in 0..FREEZE_PASSES {
            let Some(fresh) = self.fresh(group, &frozen) else { break };
            if fresh.is_empty() && pass == 0 {
                // All left on TERM: nobody is there who could have started anything since.
                return self.finish(group);
            }
            if fresh.is_empty() {
                break;
            }
            if self.host.interrupt() == Interrupt::Abandon {
                return self.thaw(group, &frozen);
            }
            for (index, key) in fresh {
                // What nobody would let go on again is not frozen.
                let signal = if self.targets[index].noted { Signal::Stop } else { Signal::Kill };
                self.signal(index, key, signal);
                frozen.insert(key);
            }
        }
        let mut quiet = 0;
        for round in 0..=FREEZE_PASSES + 1 {
            self.finish(group);
            let killed = self.everything(group);
            let Some(fresh) = self.fresh(group, &BTreeSet::new()) else { break };
            quiet = if fresh.is_empty() { quiet + 1 } else { 0 };
            let stuck = !fresh.is_empty() && fresh.iter().all(|(_, key)| killed.contains(key));
            if quiet == 2 || stuck {
                break;
            }
            if round == FREEZE_PASSES + 1 {
                for (index, key) in fresh {
                    self.endings[index].errors.push(format!("{key} is new after {FREEZE_PASSES} rounds of killing"));
                }
            }
        }
    }

    /// What of these targets is alive and not in `frozen`; none when it cannot be known.
    fn fresh(&mut self, group: &[usize], frozen: &BTreeSet<ProcessKey>) -> Option<Vec<(usize, ProcessKey)>> {
        if group.is_empty() {
            return Some(Vec::new());
        }
        let census = self.census(group)?;
        self.claim(&census, group);
        let alive = |key: &ProcessKey| !frozen.contains(key) && census.table.alive(*key).is_some();
        let keys = |index: &usize| self.known[*index].iter().filter(|k| alive(k)).map(|key| (*index, *key)).collect();
        Some(group.iter().flat_map(|index| -> Vec<_> { keys(index) }).collect())
    }

    /// Kills what is alive of these targets, and names what survives that.
    fn finish(&mut self, group: &[usize]) {
        let alive = self.host.wait_gone(&self.everything(group), Duration::ZERO);
        for index in group {
            for key in self.known[*index].intersection(&alive).copied().collect::<Vec<_>>() {
                self.signal(*index, key, Signal::Kill);
            }
        }
        let left = if alive.is_empty() { alive } else { self.host.wait_gone(&alive, CONFIRM) };
        for index in group {
            self.endings[*index].survivors = self.known[*index]
                .intersection(&left)
                .map(|key| format!("{} ({key})", self.names.get(key).map_or("?", String::as_str)))
                .collect();
        }
    }

    /// The operator gave up waiting: nothing may stay frozen.
    fn thaw(&mut self, group: &[usize], frozen: &BTreeSet<ProcessKey>) {
        for key in frozen {
            let _ = self.host.signal(*key, Signal::Cont);
        }
        for index in group {
            self.endings[*index].errors.push("interrupted before its processes were killed".to_owned());
        }
    }

    /// A failed reading is reported for everyone it was for, and never read as empty.
    fn census(&mut self, group: &[usize]) -> Option<Census> {
        match Census::take(self.host) {
            Ok(census) => Some(census),
            Err(error) => {
                for index in group {
                    self.endings[*index].errors.push(error.to_string());
                }
                None
            }
        }
    }

    fn claim(&mut self, census: &Census, group: &[usize]) {
        let (spared, own) = (census.spared(self.host), self.host.own());
        for index in group {
            let target = &self.targets[*index];
            // Children of what was known count too: their parent may have lost its own parent meanwhile.
            let roots: Vec<ProcessKey> = self.known[*index].iter().copied().collect();
            let mut claimed = census.claimed(target.session, &target.claim, &roots);
            if claimed.iter().any(|key| key.pid == own) {
                self.endings[*index].errors.push("farhelm itself runs inside it".to_owned());
            }
            claimed.retain(|key| !spared.contains(key));
            for key in &claimed {
                if let Some(process) = census.table.alive(*key) {
                    self.names.insert(*key, process.comm.clone());
                }
            }
            self.known[*index].retain(|key| !spared.contains(key));
            self.known[*index].extend(claimed);
        }
    }

    fn signal(&mut self, index: usize, key: ProcessKey, signal: Signal) {
        if let Signalled::Refused(words) = self.host.signal(key, signal) {
            self.endings[index].errors.push(format!("{key}: {words}"));
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
