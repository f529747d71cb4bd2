//! Where a reconcile stands: what is recorded, completed from what is there, and the plan of it. Nothing is written.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::agents::catalogue;
use crate::config::desired::Desired;
use crate::host::secrets::Fetcher;
use crate::observe::look::{self, Ask};
use crate::observe::observed::{Observed, Seen};
use crate::observe::reading::Reading;
use crate::observe::reports::{self, Judged, Judgement};
use crate::observe::{conversation, silence};
use crate::plan::decide;
use crate::plan::{Inputs, Plan, Request};
use crate::spec::name::Name;
use crate::state::error::StateError;
use crate::state::launch_files::LaunchFiles;
use crate::state::record::{Record, Recorded};

use super::complete::complete;
use super::cost;
use super::execute::Execution;
use super::pass::{PassError, Reconciler};

/// What is recorded and what is there.
#[derive(Debug, Clone)]
pub struct Situation<'d> {
    /// The fleet as its files say, and what agents asked for.
    pub desired: Cow<'d, Desired>,
    /// The records, completed from what was seen.
    pub recorded: Recorded,
    /// What was seen.
    pub observed: Observed,
    /// Records that differ from what is on disk.
    pub changed: Vec<Name>,
    /// What came of the reports that were found.
    pub judged: Vec<Judged>,
}

impl Reconciler<'_> {
    /// What is recorded and what is there; nothing is written.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub fn look<'d>(&self, desired: &'d Desired) -> Result<Situation<'d>, PassError> {
        self.look_from(desired, || None)
    }

    /// [`Self::look`], from what was read meanwhile: `early` is asked for it when the records are known.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn look_from<'d>(
        &self,
        desired: &'d Desired,
        early: impl FnOnce() -> Option<Reading>,
    ) -> Result<Situation<'d>, PassError> {
        let fleet = desired.fleet.as_ref().ok_or(PassError::NoFleet)?;
        let children = self.store.children(fleet, desired.moved_from.as_ref())?;
        let asked_for: Vec<&Name> = children.live().map(|child| &child.name).collect();
        let memory = self.store.records_for(fleet, &desired.sessions.keys().chain(asked_for.iter().copied()))?;
        let whole = children.join(desired, |id| memory.records.get(&id).map(|record| record.name.clone()));
        let desired: &Desired = &whole;
        let mut recorded = self.store.select(&memory, fleet, desired.moved_from.as_ref())?;
        let boot = self.host.boot().ok();
        let launch_dir = self.store.layout().launch();
        let ask = Ask {
            socket: &self.setup.socket,
            owner: self.store.owner(),
            fleet,
            moved_from: desired.moved_from.as_ref(),
            records: &recorded.records,
            servers: &boot.map(|boot| memory.servers(&boot)).unwrap_or_default(),
            dirs: desired.sessions.values().map(|s| (s.name.clone(), s.dir.path.clone())).collect(),
            launch_dir: &launch_dir,
            kinds: &desired.kinds,
            unmanaged: self.setup.unmanaged,
        };
        let mut observed = look::look(self.host, &ask, early());
        // Without the marks it is not known which programs ever ran, and so which prompts were delivered.
        let names = self.host.list(&launch_dir).map_err(StateError::from)?;
        let marks: BTreeSet<PathBuf> = names.iter().map(|name| launch_dir.join(name)).collect();
        let executed = |record: &Record, generation: u32| {
            marks.contains(&LaunchFiles::new(&launch_dir, record.id, generation, None).exec)
        };
        observed.contents = Fetcher::new(self.host).contents(desired.sessions.values());
        let before = recorded.records.clone();
        complete(&mut recorded, &observed, desired, &executed);
        let kind_of = |kind: &Name| desired.kinds.get(kind).or_else(|| catalogue::builtin().get(kind));
        let Judgement { judged, unread, unproven } =
            reports::judge(self.host, self.store.layout(), &mut recorded, &mut observed, &kind_of);
        silence::look(self.host, desired, &mut observed, &recorded, &kind_of);
        let ask = conversation::Ask { desired, thorough: self.setup.thorough, home: self.setup.home.as_deref() };
        conversation::add(self.host, &ask, &mut observed, &recorded, &kind_of);
        conversation::supersede(&mut observed, unproven);
        conversation::doubt(&mut observed, &unread);
        conversation::note_found(&observed, &mut recorded);
        let changed = recorded.records.iter().filter(|(name, record)| before.get(*name) != Some(record));
        let changed = changed.map(|(name, _)| name.clone()).collect();
        Ok(Situation { recorded, observed, changed, judged, desired: whole })
    }

    /// The plan of a situation.
    #[must_use]
    pub fn plan(&self, situation: &Situation<'_>, request: &Request) -> Plan {
        decide::plan(&self.inputs(situation, request))
    }

    /// The plan of a situation as it is shown: what its reaps would end is counted in full.
    #[must_use]
    pub fn plan_in_full(&self, situation: &mut Situation<'_>, request: &Request) -> Plan {
        let plan = self.plan(situation, request);
        if cost::count(self.host, &plan, situation) { self.plan(situation, request) } else { plan }
    }

    /// What a plan of this situation is made from.
    #[must_use]
    pub fn inputs<'i>(&self, situation: &'i Situation<'_>, request: &'i Request) -> Inputs<'i> {
        Inputs {
            desired: &situation.desired,
            observed: &situation.observed,
            recorded: &situation.recorded,
            now: self.host.now(),
            request,
            inside: self.setup.inside,
            revision: self.setup.revision.clone(),
        }
    }

    /// The record of a session that has none, rebuilt from the stamp of its pane; nothing is written.
    #[must_use]
    pub fn rebuilt(&self, situation: &Situation<'_>, name: &Name) -> Option<Record> {
        let stamped = |seen: &Seen| seen.stamp.as_ref().is_some_and(|stamp| stamp.session == *name);
        let (id, _) = situation.observed.sessions.iter().find(|(_, seen)| stamped(seen))?;
        let (host, store, setup) = (self.host, &self.store, self.setup);
        let Situation { desired, observed, .. } = situation;
        Execution { host, store, setup, desired, observed }.rebuilt(*id)
    }
}
