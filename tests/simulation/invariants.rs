//! What must hold of every run of farhelm, whatever went wrong in it. What can be seen the moment it happens, the
//! world checks by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use farhelm::config::desired::{Desired, OnLost, Session};
use farhelm::host::process::{ProcessKey, Signal};
use farhelm::host::sim::{Happened, Received, TalkSeen, Told, What, World};
use farhelm::plan::{Request, Trigger};
use farhelm::spec::name::Name;
use farhelm::state::fields;
use farhelm::state::record::{HoldKind, Record};

use crate::fleet::{GENERIC, SCRIBE, is_speaker, speaks};
use crate::memory;
use crate::talks::{self, Heard};

/// What was so before a run, and what farhelm could see in it.
pub struct Before {
    pub records: BTreeMap<String, Record>,
    tombstones: BTreeSet<String>,
    /// Of the records, those whose burial was cut short.
    buried: BTreeSet<String>,
    agents: BTreeMap<String, Vec<ProcessKey>>,
    sources: Vec<PathBuf>,
    /// How much had happened.
    events: usize,
    /// Nothing could be observed during the whole run.
    pub blind: bool,
    /// What farhelm could know of conversations.
    pub heard: Heard,
}

/// The launches' history: as what each session's latest pane was opened, and whether its end was begun.
#[derive(Default)]
pub struct History {
    pub launched: BTreeMap<String, Session>,
    ending: BTreeSet<String>,
    /// An operator asked to start these afresh.
    pub afresh: BTreeSet<String>,
    /// Nothing remembers which prompts these were given.
    pub unprompted: BTreeSet<String>,
    /// Their records were lost while they lived.
    pub lost: BTreeSet<String>,
    /// Records were lost at some time.
    pub forgetful: bool,
    /// What was heard of a session when this launch of it was decided, and when that was.
    pub heard: BTreeMap<(String, u32), ((Told, TalkSeen), u64)>,
    /// Agents looked at.
    runs: usize,
    /// Prompts that reached their agents looked at.
    pub received: usize,
    /// The latest such prompt of each session.
    pub prompts: BTreeMap<String, Received>,
}

impl History {
    /// The records are lost.
    pub fn forget(&mut self, world: &World) {
        self.lost.extend(world.live_sessions());
        self.lost.extend(world.marked_sessions());
        self.unprompted.extend(world.runs().into_iter().map(|run| run.origin.session));
        self.forgetful = true;
    }
}

/// One run: what was asked.
pub struct Run<'a> {
    pub world: &'a World,
    pub desired: &'a Desired,
    pub request: &'a Request,
}

impl Before {
    pub fn look(world: &World, blind: bool) -> Self {
        let records = memory::records(world);
        let tombstones = memory::ids(world, "tombstones");
        let agents = records.keys().map(|id| (id.clone(), world.housed_agents(id))).collect();
        let events = world.review(usize::MAX, |_| {});
        let buried = memory::buried(world);
        let heard = Heard::look(world, &records);
        Self { records, tombstones, buried, agents, sources: memory::sources(world), events, blind, heard }
    }
}

fn touches(what: &What) -> bool {
    matches!(what, What::Opened { .. } | What::Closed { .. } | What::Signalled { .. })
}

impl Run<'_> {
    /// Checks a run that is over against what was before.
    pub fn check(&self, before: &Before, history: &mut History) {
        let mut wrong = Vec::new();
        let mut ended = BTreeSet::new();
        let records = memory::records(self.world);
        self.world.review(before.events, |event| {
            match event.what {
                What::Ended { key, .. } => drop(ended.insert(key)),
                // Its agents have no terminal any more, whether or not they live on.
                What::ServerGone { .. } => ended.extend(before.agents.values().flatten()),
                _ => {}
            }
            if event.effect > 0 && touches(&event.what) {
                wrong.extend(self.check_declared(before, &records, event));
                wrong.extend(self.check_effect(before, history, &ended, event));
                self.remember(before, &records, history, event);
            }
        });
        let allowed =
            |name: &Name| self.request.allow_fresh.as_ref().is_some_and(|globs| globs.is_match(name.as_str()));
        let told = |name: &Name| self.request.fresh && self.request.again.contains(name);
        let asked = |record: &&Record| told(&record.name) || allowed(&record.name);
        history.afresh.extend(records.values().filter(asked).map(|record| record.id.to_string()));
        let tombstones = memory::ids(self.world, "tombstones");
        for (id, record) in before.records.iter().filter(|(id, _)| !records.contains_key(*id)) {
            wrong.extend(self.check_buried(before, id, record, tombstones.contains(id)));
        }
        history.lost.retain(|id| !records.contains_key(id));
        let listed = |id: &String| records.contains_key(id) || history.lost.contains(id);
        for id in self.world.live_sessions().iter().filter(|id| !listed(id)) {
            wrong.push(format!("a terminal of {id} is alive and no record lists it"));
        }
        wrong.extend(self.check_conversations(history));
        wrong.extend(talks::believed(self.world, &records));
        wrong.extend(talks::prompts_received_twice(self.world, history));
        for words in wrong {
            self.world.violated(words);
        }
    }

    /// The block of a record's session, which may have been renamed unless another already had the new name.
    fn session_of(&self, records: &BTreeMap<String, Record>, record: &Record) -> Option<&Session> {
        let taken = |name: &Name| records.values().any(|other| other.name == *name);
        let moves = |s: &&Session| s.moved_from.as_ref() == Some(&record.name) && !taken(&s.name);
        let moved = || self.desired.sessions.values().find(moves);
        self.desired.sessions.get(&record.name).or_else(moved)
    }

    /// Nothing is launched that neither the files declare nor an agent was granted.
    fn check_declared(&self, before: &Before, records: &BTreeMap<String, Record>, event: &Happened) -> Option<String> {
        let id = &event.origin.as_ref().filter(|_| matches!(event.what, What::Opened { .. }))?.session;
        let known = [records.get(id), before.records.get(id)];
        let declared = known.into_iter().flatten().any(|record| {
            let called = |s: &Session| s.name == record.name || s.moved_from.as_ref() == Some(&record.name);
            self.desired.sessions.values().any(called)
        });
        (!declared).then(|| format!("something was launched that is not in the fleet: {event}"))
    }

    fn check_effect(
        &self,
        before: &Before,
        history: &History,
        ended: &BTreeSet<ProcessKey>,
        event: &Happened,
    ) -> Option<String> {
        if before.blind {
            return Some(format!("something was done although nothing could be observed: {event}"));
        }
        let id = &event.origin.as_ref()?.session;
        let record = before.records.get(id)?;
        let session = self.session_of(&before.records, record);
        let now = self.world.moment().wall_ms;
        // What an operator decided of a session that was reaped does not bind the one that comes back.
        let hold = record
            .hold
            .as_ref()
            .filter(|_| !before.buried.contains(id))
            .filter(|hold| hold.until_ms.is_none_or(|until| until > now));
        let asked = [Some(&record.name), session.map(|s| &s.name)];
        let asked = asked.into_iter().flatten().any(|name| self.request.again.contains(name));
        match hold.map(|hold| hold.what) {
            Some(HoldKind::Paused) => return Some(format!("a paused session was touched: {event}")),
            Some(HoldKind::Stopped) if matches!(event.what, What::Opened { .. }) && !asked && is_agent(event) => {
                return Some(format!("a stopped session was launched: {event}"));
            }
            _ => {}
        }
        let alive = before.agents.get(id).is_some_and(|agents| agents.iter().any(|agent| !ended.contains(agent)));
        let stopping = hold.is_some_and(|hold| hold.what == HoldKind::Stopped) || session.is_some_and(|s| !s.running);
        let ends = matches!(event.what, What::Signalled { signal, .. } if signal != Signal::Cont) && is_agent(event);
        if !ends || !alive || stopping || asked || self.request.trigger == Trigger::Down {
            return None;
        }
        let protected = record.protect || session.is_some_and(|s| s.protect);
        if protected && record.kind.as_str() == GENERIC {
            return Some(format!("a protected session without a conversation was ended: {event}"));
        }
        let session = session?;
        let launched = history.launched.get(id).filter(|_| !history.ending.contains(id))?;
        let same = fields::shown(launched) == fields::shown(session) && launched.env == session.env;
        let wanted = hold.is_none_or(|hold| hold.what != HoldKind::Stopped);
        (same && wanted).then(|| format!("a session that had not changed was signalled: {event}"))
    }

    fn remember(&self, before: &Before, records: &BTreeMap<String, Record>, history: &mut History, event: &Happened) {
        let Some(origin) = event.origin.as_ref().filter(|_| is_agent(event)) else { return };
        let id = &origin.session;
        match &event.what {
            What::Signalled { .. } => {
                history.ending.insert(id.clone());
            }
            What::Opened { .. } => {
                history.ending.remove(id);
                if let Some(heard) = before.heard.counting(id, origin.generation) {
                    history.heard.insert((id.clone(), origin.generation), (heard, before.heard.at));
                }
                match records.get(id).and_then(|record| self.session_of(records, record)) {
                    Some(session) => history.launched.insert(id.clone(), session.clone()),
                    None => history.launched.remove(id),
                };
            }
            _ => {}
        }
    }

    /// A conversation goes on in every later launch, unless somebody said that it may be lost.
    fn check_conversations(&self, history: &mut History) -> Vec<String> {
        let runs = self.world.runs();
        let mut wrong = Vec::new();
        for (at, run) in runs.iter().enumerate().skip(history.runs) {
            let id = &run.origin.session;
            let Some(launched) = history.launched.get(id) else { continue };
            if speaks(&launched.kind) {
                wrong.extend(talks::check(self.world, history, run));
                continue;
            }
            let earlier = runs[..at].iter().rev().find(|earlier| earlier.origin.session == *id);
            let earlier = earlier.filter(|earlier| !is_speaker(&earlier.argv));
            let earlier = earlier.and_then(|earlier| earlier.conversation());
            let may_end = launched.on_lost_conversation == OnLost::Fresh
                || launched.kind.as_str() != SCRIBE
                || history.afresh.contains(id)
                || history.lost.contains(id);
            if run.resumed.is_some() && !launched.resume_assigned {
                wrong.push(format!("{} resumes a conversation that was only assigned", run.origin));
            }
            if earlier.is_some() && run.conversation() != earlier && !may_end {
                wrong.push(format!("the conversation of {} was dropped: {earlier:?}", run.origin));
            }
        }
        history.runs = runs.len();
        wrong
    }

    fn check_buried(&self, before: &Before, id: &str, record: &Record, kept: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let who = format!("{}/{}", record.name, id.get(..8).unwrap_or(id));
        if record.protect {
            wrong.push(format!("although protected, {who} was reaped"));
        }
        if !kept {
            wrong.push(format!("the record of {who} is gone and there is no tombstone"));
        }
        let own = before.sources.iter().all(|source| self.desired.sources.contains(source));
        // A power cut can bring a buried record back: to bury it again is no new reap.
        let again = before.tombstones.contains(id);
        if !own && !again && !self.request.take_over && self.request.trigger != Trigger::Down {
            wrong.push(format!("{who} was reaped by other sources"));
        }
        if !again {
            wrong.extend(self.left_of(id).into_iter().map(|left| format!("{who} was reaped and left {left}")));
        }
        wrong
    }

    /// What is left of a session that is gone.
    pub fn left_of(&self, id: &str) -> Vec<String> {
        let mut left: Vec<String> = self.world.remains(id).iter().map(|key| format!("process {key}")).collect();
        left.extend(self.world.panes_of(id).into_iter().map(|pane| format!("pane {pane}")));
        let launch = crate::fleet::state_dir().join("launch");
        let files = self.world.files_below(&launch);
        let of = |path: &&PathBuf| path.to_string_lossy().contains(id);
        left.extend(files.iter().filter(of).map(|path| format!("file {}", path.display())));
        left
    }
}

fn is_agent(event: &Happened) -> bool {
    event.origin.as_ref().is_some_and(|origin| origin.tab.is_none())
}

/// Prompts given again without having changed; sessions that an operator asked to start afresh are left out.
pub fn prompts_given_twice(world: &World, history: &History) -> Vec<String> {
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    let mut twice = Vec::new();
    // Of agents that speak it is known which prompts reached them.
    for run in world.runs().into_iter().filter(|run| !is_speaker(&run.argv)) {
        for prompt in run.argv.iter().filter(|word| word.starts_with("prompt of ")) {
            let session = run.origin.session.clone();
            let again = last.insert(session.clone(), prompt.clone()).as_ref() == Some(prompt);
            let excused = history.afresh.contains(&session) || history.unprompted.contains(&session);
            if again && !excused {
                twice.push(format!("`{prompt}` was given to {} again", run.origin));
            }
        }
    }
    twice
}
