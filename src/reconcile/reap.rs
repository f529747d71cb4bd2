//! Ending processes completely, and proving it.
//!
//! Scopes first, where a launch had one, then always the sweep of the process table: TERM (and HUP for tabs), up to the
//! grace, look again, STOP what is there in up to [`FREEZE_PASSES`] passes, KILL, confirm. Identity is (boot, pid, start
//! time), signals go through pidfds, groups are never signalled. What cannot be confirmed gone is named.
//!
//! Without a scope one gap remains: a process that detached itself, lost its parent and scrubbed its environment (`env -i
//! setsid …`) carries nothing by which it could be known as ours, and survives.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::host::Host;
use crate::host::clock::{Interrupt, Moment};
use crate::host::process::{ProcessKey, Signal, Signalled};
use crate::state::record::SessionId;

use super::census::{Census, Claim};

/// STOP passes after the grace; a last one that still finds something new is a failure.
pub const FREEZE_PASSES: usize = 5;
/// How long a kill is waited for before its survivors are named.
pub const CONFIRM: Duration = Duration::from_secs(2);

/// One thing to end.
#[derive(Debug, Clone)]
pub struct Target {
    /// The session.
    pub session: SessionId,
    /// What of it.
    pub claim: Claim,
    /// Pane processes whose descendants belong to it, marked or not.
    pub roots: Vec<ProcessKey>,
    /// Scopes of its launches.
    pub units: Vec<String>,
    /// Time from TERM to KILL.
    pub grace: Duration,
}

/// What ending a target gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// Processes that were there.
    pub found: usize,
    /// Processes that could not be confirmed gone, in words.
    pub survivors: Vec<String>,
    /// What else went wrong, in words.
    pub errors: Vec<String>,
}

impl Ending {
    /// All of it is gone, and that is known.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.survivors.is_empty() && self.errors.is_empty()
    }

    /// The failure in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts = self.errors.clone();
        if !self.survivors.is_empty() {
            parts.push(format!("still alive: {}", self.survivors.join(", ")));
        }
        parts.join("; ")
    }
}

/// Ends all of `targets` together: they share each reading of the table, and each has its full grace.
#[must_use]
pub fn end(host: &dyn Host, targets: &[Target]) -> Vec<Ending> {
    let mut sweep = Sweep::new(host, targets);
    sweep.scopes();
    if !sweep.ask() {
        return sweep.endings;
    }
    let mut graces: Vec<Duration> = targets.iter().map(|t| t.grace).collect();
    graces.sort_unstable();
    graces.dedup();
    for grace in graces {
        sweep.wait(grace);
        sweep.kill(grace);
    }
    sweep.endings
}

struct Sweep<'a> {
    host: &'a dyn Host,
    targets: &'a [Target],
    endings: Vec<Ending>,
    /// Every process ever claimed, by target.
    known: Vec<BTreeSet<ProcessKey>>,
    names: BTreeMap<ProcessKey, String>,
    asked: Moment,
}

impl<'a> Sweep<'a> {
    fn new(host: &'a dyn Host, targets: &'a [Target]) -> Self {
        let known = targets.iter().map(|t| t.roots.iter().copied().collect()).collect();
        let endings = vec![Ending::default(); targets.len()];
        Self { host, targets, endings, known, names: BTreeMap::new(), asked: host.now() }
    }

    /// Scopes end on their own terms: TERM, grace, KILL, collected. The sweep runs whatever comes of it.
    fn scopes(&mut self) {
        let host = self.host;
        let mut present: Vec<(usize, String)> = Vec::new();
        for (index, target) in self.targets.iter().enumerate() {
            for unit in &target.units {
                match host.exists(unit) {
                    Ok(true) => present.push((index, unit.clone())),
                    Ok(false) => {}
                    Err(error) => self.endings[index].errors.push(format!("scope {unit}: {error}")),
                }
            }
        }
        if present.is_empty() {
            return;
        }
        let units: Vec<String> = present.iter().map(|(_, unit)| unit.clone()).collect();
        let grace = present.iter().map(|(index, _)| self.targets[*index].grace).max().unwrap_or_default();
        // The exit status of a kill is advisory: the unit's disappearance is the verdict.
        for (index, unit) in &present {
            let _ = host.kill(unit, Signal::Term);
            if matches!(self.targets[*index].claim, Claim::Tab(_) | Claim::Session) {
                let _ = host.kill(unit, Signal::Hup);
            }
        }
        let stubborn = host.wait_collected(&units, grace);
        for unit in &stubborn {
            let _ = host.kill(unit, Signal::Kill);
        }
        let left = if stubborn.is_empty() { stubborn } else { host.wait_collected(&stubborn, CONFIRM) };
        for (index, unit) in present.into_iter().filter(|(_, unit)| left.contains(unit)) {
            self.endings[index].errors.push(format!("scope {unit} is still there"));
        }
    }

    /// The first look, and TERM to everything it finds. Without that look nothing is signalled at all.
    fn ask(&mut self) -> bool {
        let everyone: Vec<usize> = (0..self.targets.len()).collect();
        let Some(census) = self.census(&everyone) else { return false };
        self.claim(&census, &everyone);
        for index in everyone {
            self.endings[index].found = self.known[index].len();
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
        self.asked = self.host.now();
        true
    }

    /// Waits until `grace` after the TERM, or until everything asked is gone.
    fn wait(&mut self, grace: Duration) {
        let left = grace.saturating_sub(self.host.now().since(&self.asked));
        let waiting: BTreeSet<ProcessKey> = (0..self.targets.len())
            .filter(|index| self.targets[*index].grace >= grace)
            .flat_map(|index| self.known[index].iter().copied())
            .collect();
        let _ = self.host.wait_gone(&waiting, left);
    }

    /// Freezes, kills and confirms the targets with exactly this grace.
    ///
    /// tmux sends CONT to a pane's process that was stopped (seen on 3.3a), so that one goes on forking: what it still
    /// started is found by further looks after the kill, until two in a row find nothing.
    fn kill(&mut self, grace: Duration) {
        let group: Vec<usize> = (0..self.targets.len()).filter(|i| self.targets[*i].grace == grace).collect();
        let mut frozen: BTreeSet<ProcessKey> = BTreeSet::new();
        for pass in 0..FREEZE_PASSES {
            let Some(fresh) = self.fresh(&group, &frozen) else { break };
            if fresh.is_empty() && pass == 0 {
                // All left on TERM: nobody is there who could have started anything since.
                return self.finish(&group);
            }
            if fresh.is_empty() {
                break;
            }
            if self.host.interrupt() == Interrupt::Abandon {
                return self.thaw(&group, &frozen);
            }
            for (index, key) in fresh {
                self.signal(index, key, Signal::Stop);
                frozen.insert(key);
            }
        }
        let mut quiet = 0;
        for round in 0..=FREEZE_PASSES + 1 {
            self.finish(&group);
            let killed: BTreeSet<ProcessKey> =
                group.iter().flat_map(|index| self.known[*index].iter().copied()).collect();
            let Some(fresh) = self.fresh(&group, &BTreeSet::new()) else { break };
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
        let census = self.census(group)?;
        self.claim(&census, group);
        let alive = |key: &ProcessKey| !frozen.contains(key) && census.table.alive(*key).is_some();
        let keys = |index: &usize| self.known[*index].iter().filter(|k| alive(k)).map(|key| (*index, *key)).collect();
        Some(group.iter().flat_map(|index| -> Vec<_> { keys(index) }).collect())
    }

    /// Kills what is alive of these targets, and names what survives that.
    fn finish(&mut self, group: &[usize]) {
        let everyone: BTreeSet<ProcessKey> =
            group.iter().flat_map(|index| self.known[*index].iter().copied()).collect();
        let alive = self.host.wait_gone(&everyone, Duration::ZERO);
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
