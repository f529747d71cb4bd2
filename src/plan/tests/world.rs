//! A small made-up world to plan in: sessions wanted, remembered and seen, each with one call.

use std::collections::BTreeMap;
use std::path::PathBuf;

use uuid::Uuid;

use crate::agents::kind::{ConversationForms, Kind};
use crate::config::desired::{Departure, Desired, Dir, OnLost, Session, Tab, UpdateWhen};
use crate::host::clock::Moment;
use crate::host::process::{BootId, ProcessKey};
use crate::host::tmux::{PaneId, Socket};
use crate::observe::observed::{Activity, AgentSeen, DirSeen, Evidence, Observed, PaneSeen, Seen, ServerSeen};
use crate::plan::{Inputs, Plan, Request, Trigger, decide};
use crate::spec::name::Name;
use crate::state::fields;
use crate::state::record::{
    Conversation, Ended, EndedHow, FleetRecord, Hold, HoldKind, Launch, OwnerId, Phase, Provenance, Record, Recorded,
    RecordedDir, SessionId, TabRecord, Tombstone,
};
use crate::state::stamp::Stamp;

/// 30 November 2026, 12:00 UTC.
pub const NOW: Moment = Moment { boot_ms: 90_000_000, wall_ms: 1_796_040_000_000 };

pub fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub fn id(text: &str) -> SessionId {
    let bytes = crate::state::digest::short("", ["id", text]);
    SessionId(Uuid::from_u128(u128::from_str_radix(&bytes.repeat(2), 16).unwrap()))
}

pub fn globs(pattern: &str) -> globset::GlobSet {
    let mut set = globset::GlobSetBuilder::new();
    set.add(globset::Glob::new(pattern).unwrap());
    set.build().unwrap()
}

pub fn ago(seconds: i64) -> i64 {
    NOW.wall_ms - seconds * 1_000
}

fn socket() -> Socket {
    Socket(PathBuf::from("/tmp/tmux-1000/farhelm"))
}

/// A kind with conversations and activity reports (`claude`, `codex`), or `generic`.
pub fn kind(of: &str) -> Kind {
    let integrated = of != "generic";
    Kind {
        executables: vec![of.to_owned()],
        conversation: integrated.then(|| ConversationForms {
            resume: vec!["--resume".to_owned(), "{conversation}".to_owned()],
            assign: if of == "claude" { vec!["--session-id".to_owned()] } else { Vec::new() },
            from_other_dir: of == "codex",
            ..ConversationForms::default()
        }),
        reports: if integrated { crate::agents::catalogue::builtin()[&name("claude")].reports.clone() } else { None },
        ..Kind::bare(name(of))
    }
}

pub fn session(text: &str, of: &str) -> Session {
    let dir = Dir { spelling: format!("~/src/{text}"), path: PathBuf::from(format!("/home/op/src/{text}")) };
    let integrated = of != "generic";
    Session {
        update: if integrated { UpdateWhen::Idle } else { UpdateWhen::Now },
        on_lost_conversation: if integrated { OnLost::Block } else { OnLost::Fresh },
        ..Session::bare(name(text), name(of), vec![of.to_owned()], dir)
    }
}

pub fn shell_tab() -> Tab {
    Tab { run: None, dir: None, env: BTreeMap::new() }
}

/// The three inputs and the request, owned.
#[derive(Debug, Clone)]
pub struct World {
    pub desired: Desired,
    pub observed: Observed,
    pub recorded: Recorded,
    pub request: Request,
    pub inside: Option<SessionId>,
}

impl World {
    pub fn new() -> Self {
        let kinds = ["claude", "codex", "generic"].map(|of| (name(of), kind(of)));
        let sources = vec![PathBuf::from("/fleets/fleet.yaml")];
        Self {
            desired: Desired {
                fleet: Some(name("payments")),
                sources: sources.clone(),
                kinds: BTreeMap::from(kinds),
                ..Desired::default()
            },
            observed: Observed {
                at: NOW,
                boot: BootId("boot".to_owned()),
                socket: socket(),
                servers: BTreeMap::from([(socket(), ServerSeen::Up { process: ProcessKey { pid: 2, start: 2 } })]),
                sessions: BTreeMap::new(),
                foreign: BTreeMap::new(),
                dirs: BTreeMap::new(),
                panes: Vec::new(),
                contents: BTreeMap::new(),
                unmanaged: BTreeMap::new(),
            },
            recorded: Recorded {
                owner: OwnerId("0123456789abcdef0123456789abcdef".to_owned()),
                fleet: FleetRecord { version: 1, sources, down: false },
                records: BTreeMap::new(),
                tombstones: BTreeMap::new(),
                damaged: Vec::new(),
            },
            request: Request::default(),
            inside: None,
        }
    }

    /// A session in the files, its directory there, nothing else of it.
    pub fn want(&mut self, text: &str, of: &str) -> &mut Session {
        let session = session(text, of);
        self.observed.dirs.insert(name(text), DirSeen::Present(session.dir.path.clone()));
        self.desired.sessions.entry(name(text)).or_insert(session)
    }

    /// A session in the files, running and recorded as they say, idle, its conversation verified.
    pub fn running(&mut self, text: &str, of: &str) -> &mut Self {
        self.want(text, of);
        self.recorded_alive(text, of)
    }

    /// The same, no longer in the files.
    pub fn recorded_alive(&mut self, text: &str, of: &str) -> &mut Self {
        let session = self.desired.sessions.get(&name(text)).cloned().unwrap_or_else(|| session(text, of));
        self.recorded.records.insert(name(text), record(&session));
        let pane = self.pane(text);
        let seen = Seen {
            conversation: evidence(text, of),
            activity: Activity::Idle,
            processes: 7,
            memory: 412_000_000,
            ..absent()
        };
        self.observed.sessions.insert(id(text), Seen { agent: AgentSeen::Alive(pane), ..seen });
        self
    }

    pub fn pane(&self, text: &str) -> PaneSeen {
        PaneSeen {
            pane: PaneId(format!("%{}", self.observed.sessions.len())),
            socket: socket(),
            process: ProcessKey { pid: 100 + i32::try_from(text.len()).unwrap(), start: 5 },
            clients: 0,
            generation: 1,
            agent: None,
        }
    }

    /// Ends the running session in the given way, some seconds ago.
    pub fn ended(&mut self, text: &str, how: EndedHow) -> &mut Self {
        let how = Ended { how, at_ms: Some(ago(12)) };
        self.launch(text).ended = Some(how.clone());
        self.launch(text).phase = Phase::Ended;
        let seen = self.seen(text);
        seen.agent = AgentSeen::Ended { pane: None, how };
        seen.activity = Activity::Unknown;
        self
    }

    /// Forgets the record; the stamp still says what it said.
    pub fn unrecord(&mut self, text: &str) -> &mut Self {
        let record = self.recorded.records.remove(&name(text)).unwrap();
        let owner = self.recorded.owner.clone();
        self.seen(text).stamp = Some(Stamp {
            id: record.id,
            owner,
            fleet: record.fleet,
            session: record.name,
            generation: 1,
            tab: None,
            salt: record.salt,
            fields: record.fields,
            fields_version: record.fields_version,
            provenance: record.conversation.as_ref().map(|conversation| conversation.provenance),
            dir: Some(record.dir.canonical),
            conversation: record.conversation.map(|conversation| conversation.id),
            protect: record.protect,
            sources: record.sources,
        });
        self
    }

    /// Buries the record.
    pub fn bury(&mut self, text: &str) -> &mut Self {
        let record = self.recorded.records.remove(&name(text)).unwrap();
        let tombstone = Tombstone { reaped_ms: ago(3_600), record };
        self.recorded.tombstones.insert(name(text), tombstone);
        let conversation = self.seen(text).conversation.clone();
        *self.seen(text) = Seen { conversation, ..absent() };
        self
    }

    pub fn unwant(&mut self, text: &str) -> &mut Self {
        self.desired.sessions.remove(&name(text));
        self
    }

    pub fn departed(&mut self, text: &str, why: Departure) -> &mut Self {
        self.desired.departed.insert(name(text), why);
        self
    }

    pub fn wanted(&mut self, text: &str) -> &mut Session {
        self.desired.sessions.get_mut(&name(text)).unwrap()
    }

    pub fn record(&mut self, text: &str) -> &mut Record {
        self.recorded.records.get_mut(&name(text)).unwrap()
    }

    pub fn launch(&mut self, text: &str) -> &mut Launch {
        self.record(text).launches.last_mut().unwrap()
    }

    pub fn seen(&mut self, text: &str) -> &mut Seen {
        self.observed.sessions.get_mut(&id(text)).unwrap()
    }

    pub fn hold(&mut self, text: &str, what: HoldKind) -> &mut Hold {
        let hold = Hold { what, since: NOW, until_ms: None, why: None };
        self.record(text).hold.insert(hold)
    }

    /// A recorded tab, open with `definition`.
    pub fn open_tab(&mut self, text: &str, tab: &str, definition: String) -> &mut Self {
        let record =
            TabRecord { id: id(tab), definition, pane: None, process: None, boot: None, socket: None, scoped: false };
        self.record(text).tabs.insert(name(tab), record);
        let open =
            crate::observe::observed::TabSeen::Open { id: id(tab), pane: PaneId("%90".to_owned()), process: None };
        self.seen(text).tabs.insert(name(tab), open);
        self
    }

    pub fn trigger(&mut self, trigger: Trigger) -> &mut Self {
        self.request.trigger = trigger;
        self
    }

    pub fn inputs(&self) -> Inputs<'_> {
        Inputs {
            desired: &self.desired,
            observed: &self.observed,
            recorded: &self.recorded,
            now: NOW,
            request: &self.request,
            inside: self.inside,
            revision: None,
        }
    }

    pub fn plan(&self) -> Plan {
        decide::plan(&self.inputs())
    }
}

/// The evidence of a conversation that its id resumes.
pub fn evidence(session: &str, of: &str) -> Evidence {
    if of == "generic" { Evidence::None } else { Evidence::Verified(id(session).to_string()) }
}

pub fn absent() -> Seen {
    Seen {
        agent: AgentSeen::Absent,
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

/// The record of a session launched once as `session` says.
pub fn record(session: &Session) -> Record {
    let salt = format!("salt-{}", session.name);
    let integrated = session.kind.as_str() != "generic";
    let at = Moment { boot_ms: NOW.boot_ms - 10_800_000, wall_ms: ago(10_800) };
    let uuid = format!("{}", id(session.name.as_str()));
    Record {
        version: 1,
        id: id(session.name.as_str()),
        fleet: name("payments"),
        name: session.name.clone(),
        kind: session.kind.clone(),
        dir: RecordedDir { spelling: session.dir.spelling.clone(), canonical: session.dir.path.clone() },
        fields_version: fields::VERSION,
        fields: fields::hashes(session, &salt, &fields::Contents::new()),
        shown: fields::shown(session),
        protect: session.protect,
        hold: None,
        sources: vec![PathBuf::from("/fleets/fleet.yaml")],
        conversation: integrated.then_some(Conversation { id: uuid, provenance: Provenance::Reported, at }),
        identity: None,
        activity: None,
        prompt_delivered: session.prompt.as_ref().map(|prompt| crate::plan::prompt_hash(&salt, prompt)),
        launches: vec![Launch {
            generation: 1,
            phase: Phase::Running,
            at,
            boot: BootId("boot".to_owned()),
            socket: socket(),
            server: None,
            pane: None,
            process: None,
            agent: None,
            scoped: false,
            resumed: false,
            prompt: None,
            hook: crate::state::record::HookState::None,
            ran: false,
            over: None,
            refused: None,
            contradicted: None,
            ended: None,
        }],
        tabs: BTreeMap::new(),
        failures: 0,
        title: session.title.clone(),
        stop_grace_ms: Some(5_000),
        ending: false,
        leaving: Vec::new(),
        salt,
    }
}
