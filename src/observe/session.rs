//! What one sight says of each session.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::host::Host;
use crate::host::process::{Markers, MarkersRead, ProcessKey};
use crate::host::tmux::Socket;
use crate::spec::name::Name;
use crate::state::launch_files::LaunchFiles;
use crate::state::leaving::Claim;
use crate::state::record::{EndedHow, Phase, Record, SessionId};
use crate::state::stamp::Stamp;

use super::ending::lost;
use super::look::Ask;
use super::marks::Marks;
use super::observed::{
    Activity, AgentSeen, Evidence, ForeignPane, Observed, PaneRead, PaneSeen, Seen, ServerSeen, TabSeen,
};
use super::sight::Sight;

impl Seen {
    /// A session of which nothing but the agent's state is known.
    pub(crate) fn without_pane(agent: AgentSeen) -> Self {
        Self {
            agent,
            stamp: None,
            leftovers: Vec::new(),
            processes: 0,
            memory: 0,
            tabs: BTreeMap::new(),
            tmux_session: None,
            conversation: Evidence::None,
            activity: Activity::Unknown,
            silence: None,
        }
    }
}

/// A sight, and what is needed to judge it.
pub(super) struct Scene<'a> {
    pub host: &'a dyn Host,
    pub ask: &'a Ask<'a>,
    pub sight: &'a Sight,
    marks: OnceCell<Marks>,
}

/// The panes and the record of one session.
struct Subject<'a> {
    id: SessionId,
    record: Option<&'a Record>,
    /// Panes of its agent, dead ones too.
    agent: Vec<&'a PaneRead>,
    /// Panes of its tabs.
    tabs: Vec<(&'a Name, SessionId, &'a PaneRead)>,
}

impl Subject<'_> {
    fn name(&self) -> Option<&Name> {
        let stamp = || self.agent.iter().find_map(|pane| pane.stamp.as_ref()).map(|stamp| &stamp.session);
        self.record.map(|record| &record.name).or_else(stamp)
    }
}

impl<'a> Scene<'a> {
    pub fn new(host: &'a dyn Host, ask: &'a Ask<'a>, sight: &'a Sight) -> Self {
        Self { host, ask, sight, marks: OnceCell::new() }
    }

    /// What is seen, and the sessions that seem gone by nothing but absence: a second look must agree.
    pub fn judge(&self) -> (Observed, BTreeSet<SessionId>) {
        let subjects = self.subjects();
        let mut agents: Vec<_> = subjects.iter().map(|subject| self.agent(subject)).collect();
        self.never_two_of_a_name(&subjects, &mut agents);
        let doubted = subjects
            .iter()
            .zip(&agents)
            .filter(|(subject, agent)| self.doubtful(subject, agent))
            .map(|(subject, _)| subject.id);
        let doubted = doubted.collect();
        let plain = |agent: &AgentSeen| matches!(agent, AgentSeen::Alive(_) | AgentSeen::Launching { .. });
        if !agents.iter().all(plain) {
            let marks = self.marks.get_or_init(|| Marks::read(self.host, &self.sight.table));
            subjects.iter().zip(&mut agents).for_each(|(subject, agent)| agent_in_a_tab(subject, agent, marks));
        }
        let sessions = subjects.iter().zip(agents).map(|(subject, agent)| (subject.id, self.seen(subject, agent)));
        let observed = Observed {
            at: self.sight.at,
            boot: self.sight.boot.clone(),
            socket: self.ask.socket.clone(),
            servers: self.sight.servers.clone(),
            sessions: sessions.collect(),
            foreign: self.foreign(),
            dirs: BTreeMap::new(),
            panes: self.sight.panes.clone(),
            contents: BTreeMap::new(),
            unmanaged: BTreeMap::new(),
        };
        (observed, doubted)
    }

    /// The sessions there is a record or a stamped pane of, with their panes.
    fn subjects(&self) -> Vec<Subject<'a>> {
        let mut subjects: BTreeMap<SessionId, Subject<'a>> = BTreeMap::new();
        let empty = |id, record| Subject { id, record, agent: Vec::new(), tabs: Vec::new() };
        for record in self.ask.records.values() {
            subjects.insert(record.id, empty(record.id, Some(record)));
        }
        for pane in &self.sight.panes {
            match &pane.stamp {
                Some(stamp) if stamp.owner == *self.ask.owner => {
                    let recorded = subjects.contains_key(&stamp.id);
                    if recorded || self.ask.is_of(&stamp.fleet) {
                        let subject = subjects.entry(stamp.id).or_insert_with(|| empty(stamp.id, None));
                        match &stamp.tab {
                            Some((name, tab)) => subject.tabs.push((name, *tab, pane)),
                            None => subject.agent.push(pane),
                        }
                    }
                }
                Some(_) => {}
                // Somebody removed the options: the record still knows the pane by its process.
                None => {
                    let owner =
                        subjects.values_mut().find(|subject| subject.record.is_some_and(|r| self.is_pane_of(pane, r)));
                    owner.into_iter().for_each(|subject| subject.agent.push(pane));
                }
            }
        }
        subjects.into_values().collect()
    }

    fn is_pane_of(&self, pane: &PaneRead, record: &Record) -> bool {
        let Some(launch) = record.launch().filter(|launch| launch.boot == self.sight.boot) else { return false };
        let Some(process) = launch.process else { return false };
        let server = launch.server.map(|process| ServerSeen::Up { process });
        let dead_there = pane.pane.end.is_some()
            && pane.pane.pid == process.pid
            && launch.pane.as_ref() == Some(&pane.pane.id)
            && self.sight.servers.get(&pane.socket) == server.as_ref();
        pane.process == Some(process) || dead_there
    }

    fn agent(&self, subject: &Subject) -> AgentSeen {
        if let Some(words) = self.unknown_tab(subject) {
            return AgentSeen::Unknown(words);
        }
        let live: Vec<_> = subject.agent.iter().filter_map(|pane| Some((*pane, pane.process?))).collect();
        match live[..] {
            [] => {}
            [(pane, process)] => return self.live(subject, pane, process),
            _ => return AgentSeen::Several(live.iter().map(|(pane, process)| words(pane, *process)).collect()),
        }
        if let Some(pane) = subject.agent.iter().find(|pane| pane.vanishing()) {
            return AgentSeen::Unknown(format!("the process of pane {} ended while it was looked at", pane.pane.id));
        }
        if let Some(words) = self.out_of_sight(subject).or_else(|| self.around_us(subject.id)) {
            return AgentSeen::Unknown(words);
        }
        self.gone(subject.id, subject.record, &subject.agent)
    }

    /// One live pane: its agent runs, or is about to.
    fn live(&self, subject: &Subject, pane: &PaneRead, process: ProcessKey) -> AgentSeen {
        let launches = subject.record.map(|record| &record.launches[..]).unwrap_or_default();
        let here = || launches.iter().rev().filter(|launch| launch.boot == self.sight.boot);
        let recorded = here().find(|launch| launch.process == Some(process));
        let stamped = pane.stamp.as_ref().map(|stamp| stamp.generation);
        let generation = stamped.or(recorded.map(|launch| launch.generation)).unwrap_or(0);
        let seen = PaneSeen {
            pane: pane.pane.id.clone(),
            socket: pane.socket.clone(),
            process,
            clients: pane.pane.clients,
            generation,
            agent: recorded.and_then(|launch| self.behind_wrapper(subject.record?, launch)),
        };
        // A launch given up as stuck is recorded as ended, and its shell is there all the same.
        let known = recorded.is_some_and(|launch| launch.phase == Phase::Running);
        if known || self.exec_proven(subject.id, generation, process) {
            let exited = recorded.is_some_and(|launch| self.exited_behind_wrapper(subject.record, launch));
            return if exited { AgentSeen::Ended { pane: None, how: lost() } } else { AgentSeen::Alive(seen) };
        }
        let launch = here().find(|launch| launch.generation == generation);
        match launch.and_then(|launch| launch.process).filter(|other| *other != process) {
            Some(other) => AgentSeen::Unknown(format!(
                "pane {} runs {process}, which is not what was launched in it ({other}) and carries no marks; close the \
                 pane, or end what runs in it",
                pane.pane.id
            )),
            None => {
                let begun = launch.map_or_else(|| self.host.started(process.start), |launch| launch.at);
                AgentSeen::Launching { pane: seen, since: self.sight.at.since(&begun) }
            }
        }
    }

    /// The program runs in the pane's process once that carries the agent's marks: only the shim's exec sets them. A
    /// program that hides its environment is told by the file that the shim leaves right before its exec.
    fn exec_proven(&self, id: SessionId, generation: u32, process: ProcessKey) -> bool {
        match self.host.markers(process) {
            MarkersRead::Read(marks) => marks.agent == Some(id.to_string()),
            MarkersRead::Unreadable => {
                let files = LaunchFiles::new(self.ask.launch_dir, id, generation, None);
                files.exec_reached(self.host).unwrap_or(false) && matches!(files.failure(self.host), Ok(None))
            }
            MarkersRead::Gone | MarkersRead::Foreign => false,
        }
    }

    /// Why a recorded tab could be there all the same.
    fn unknown_tab(&self, subject: &Subject) -> Option<String> {
        let tabs = subject.record.into_iter().flat_map(|record| record.tabs.values());
        let tabs = tabs.filter(|tab| tab.boot.as_ref() == Some(&self.sight.boot));
        tabs.filter_map(|tab| tab.socket.as_ref()).find_map(|socket| self.unknown_server(socket))
    }

    fn unknown_server(&self, socket: &Socket) -> Option<String> {
        match self.sight.servers.get(socket) {
            Some(ServerSeen::Unknown(words)) => Some(words.clone()),
            _ => None,
        }
    }

    /// Why a session without a live pane could have one all the same.
    fn out_of_sight(&self, subject: &Subject) -> Option<String> {
        let launch = subject.record.and_then(Record::launch).filter(|launch| launch.boot == self.sight.boot);
        let mut sockets = launch.map(|launch| &launch.socket).into_iter().chain([self.ask.socket]);
        if let Some(words) = sockets.find_map(|socket| self.unknown_server(socket)) {
            return Some(words);
        }
        let launch = launch.filter(|launch| launch.ended.is_none())?;
        let server = launch.server.or(self.sight.unrecorded);
        let recorded = server.filter(|server| self.sight.table.alive(*server).is_some())?;
        match self.sight.servers.get(&launch.socket) {
            Some(ServerSeen::Up { process }) if *process != recorded => Some(format!(
                "it is on a tmux server ({recorded}) that lives, while another ({process}) answers on {}; end the other, \
                 then `kill -USR1 {}`",
                launch.socket, recorded.pid
            )),
            _ => None,
        }
    }

    /// Why a session without a live pane lives all the same: farhelm runs inside its agent, which has lost its terminal,
    /// and which nobody but farhelm's ancestry tells of where it is spared.
    fn around_us(&self, id: SessionId) -> Option<String> {
        let id = Some(id.to_string());
        let own = self.host.own();
        let is_agent = |marks: &Markers| marks.session == id && marks.agent == id;
        let marked = |pid| match self.sight.table.running(pid).map(|process| self.host.markers(process.key)) {
            Some(MarkersRead::Read(marks)) => is_agent(&marks),
            _ => false,
        };
        let line = self.sight.table.ancestors(own);
        let mut above = line.into_iter().filter(|key| key.pid != own);
        let found = above.find(|key| match self.host.markers(*key) {
            MarkersRead::Read(marks) => is_agent(&marks),
            // It hides its marks, and farhelm inherited them.
            MarkersRead::Unreadable => marked(own),
            MarkersRead::Gone | MarkersRead::Foreign => false,
        })?;
        Some(format!("farhelm runs inside its agent ({found}), whose terminal is gone; run farhelm outside of it"))
    }

    /// Nothing but absence says that it is gone.
    fn doubtful(&self, subject: &Subject, agent: &AgentSeen) -> bool {
        let open = subject.record.and_then(Record::launch).is_some_and(|launch| launch.ended.is_none());
        match agent {
            AgentSeen::Absent => open,
            AgentSeen::Ended { how, .. } => {
                open && matches!(how.how, EndedHow::Lost | EndedHow::ServerDied | EndedHow::Stopped)
            }
            AgentSeen::Unknown(_) => subject.agent.iter().any(|pane| pane.vanishing()),
            _ => false,
        }
    }

    /// Two live agents of one session name under different ids (a restored state directory, say): neither is chosen.
    fn never_two_of_a_name(&self, subjects: &[Subject], agents: &mut [AgentSeen]) {
        let mut live: BTreeMap<&Name, Vec<(usize, String)>> = BTreeMap::new();
        for (at, (subject, agent)) in subjects.iter().zip(agents.iter()).enumerate() {
            if let (Some(name), AgentSeen::Alive(pane) | AgentSeen::Launching { pane, .. }) = (subject.name(), agent) {
                let words = format!("pane {} ({}) of session {}", pane.pane, pane.process, subject.id);
                live.entry(name).or_default().push((at, words));
            }
        }
        for group in live.values().filter(|group| group.len() > 1) {
            let words: Vec<_> = group.iter().map(|(_, words)| words.clone()).collect();
            group.iter().for_each(|(at, _)| agents[*at] = AgentSeen::Several(words.clone()));
        }
    }

    fn seen(&self, subject: &Subject, agent: AgentSeen) -> Seen {
        let table = &self.sight.table;
        let roots: Vec<_> = subject.agent.iter().filter_map(|pane| pane.process).collect();
        let alive = !matches!(agent, AgentSeen::Ended { .. });
        let held = table.trees(if alive { &roots } else { &[] });
        let leftovers = self.leftovers(subject, &held);
        let tabs = subject.tabs.iter().filter_map(|(_, _, pane)| pane.process);
        let all: Vec<_> = roots.iter().copied().chain(tabs).chain(leftovers.iter().copied()).collect();
        let all = table.trees(&all);
        let living: Vec<_> = all.iter().filter_map(|key| table.alive(*key)).collect();
        let stamps = subject.agent.iter().max_by_key(|pane| (pane.process.is_some(), generation(pane))).into_iter();
        let stamps = stamps.chain(subject.tabs.iter().map(|(_, _, pane)| pane));
        Seen {
            stamp: stamps.clone().find_map(|pane| pane.stamp.clone()),
            tmux_session: stamps.map(|pane| pane.pane.session.clone()).next(),
            processes: living.len(),
            memory: living.iter().map(|process| process.memory).sum(),
            tabs: tabs_of(subject),
            leftovers,
            ..Seen::without_pane(agent)
        }
    }

    /// Living processes of the agent outside a live agent pane: marked ones, those its launches recorded, and those that
    /// were asked to end with it.
    fn leftovers(&self, subject: &Subject, held: &BTreeSet<ProcessKey>) -> Vec<ProcessKey> {
        let Some(marks) = self.marks.get() else { return Vec::new() };
        let launches = subject.record.into_iter().flat_map(|record| &record.launches);
        let launches = launches.filter(|launch| launch.boot == self.sight.boot);
        let recorded = launches.flat_map(|launch| [launch.process, launch.agent]).flatten();
        let asked = subject.record.and_then(|record| record.leaves(&Claim::Agent, &self.sight.boot));
        let recorded = recorded.chain(asked.into_iter().flat_map(|asked| asked.processes.iter().copied()));
        let recorded = recorded.filter(|key| self.sight.table.alive(*key).is_some());
        let all: BTreeSet<_> = marks.of_agent(subject.id).chain(recorded).filter(|key| !held.contains(key)).collect();
        all.into_iter().collect()
    }

    /// Live panes that say they are of this fleet and another owner made.
    fn foreign(&self) -> BTreeMap<Name, Vec<ForeignPane>> {
        let mut foreign: BTreeMap<Name, Vec<ForeignPane>> = BTreeMap::new();
        for pane in self.sight.panes.iter().filter(|pane| pane.pane.end.is_none()) {
            if let Some(Stamp { owner, fleet, session, .. }) = &pane.stamp
                && self.ask.is_of(fleet)
                && owner != self.ask.owner
            {
                let of = foreign.entry(session.clone()).or_default();
                of.push(ForeignPane { pane: pane.pane.id.clone(), owner: owner.0.clone() });
            }
        }
        foreign
    }
}

/// A second agent that runs in a tab's pane.
fn agent_in_a_tab(subject: &Subject, agent: &mut AgentSeen, marks: &Marks) {
    let AgentSeen::Alive(PaneSeen { pane, process, socket, .. }) = agent else { return };
    let mut tabs = subject.tabs.iter().filter_map(|(_, _, pane)| Some((pane, pane.process?)));
    if let Some((tab, other)) = tabs.find(|(_, other)| marks.of_agent(subject.id).any(|key| key == *other)) {
        let first = format!("pane {pane} ({process}) on {socket}");
        *agent = AgentSeen::Several(vec![first, words(tab, other)]);
    }
}

fn generation(pane: &PaneRead) -> u32 {
    pane.stamp.as_ref().map_or(0, |stamp| stamp.generation)
}

fn words(pane: &PaneRead, process: ProcessKey) -> String {
    format!("pane {} ({process}) on {}", pane.pane.id, pane.socket)
}

/// Recorded tabs, found by the id in their panes' stamps, and tabs that only a stamp knows: also one of a recorded tab's
/// name that lives where nothing has the recorded id (a server that was out of reach came back, say).
fn tabs_of(subject: &Subject) -> BTreeMap<Name, TabSeen> {
    let open = |(id, pane): (SessionId, &PaneRead)| {
        let (pane, process) = (pane.pane.id.clone(), pane.process);
        TabSeen::Open { id, pane, process }
    };
    let mut panes = subject.tabs.clone();
    // Of two panes of a name the living one counts.
    panes.sort_by_key(|(_, _, pane)| pane.process.is_some());
    let mut tabs: BTreeMap<Name, TabSeen> =
        panes.iter().map(|(name, id, pane)| ((*name).clone(), open((*id, pane)))).collect();
    for (name, tab) in subject.record.into_iter().flat_map(|record| &record.tabs) {
        let own = panes.iter().find(|(_, id, _)| *id == tab.id).map(|(_, id, pane)| open((*id, pane)));
        match (own, tabs.get(name)) {
            (None, Some(TabSeen::Open { process: Some(_), .. })) => {}
            (own, _) => drop(tabs.insert(name.clone(), own.unwrap_or(TabSeen::Missing))),
        }
    }
    tabs
}
