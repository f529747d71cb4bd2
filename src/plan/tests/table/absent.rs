//! Rows of what is unknown, not there, or somebody else's too.

use super::*;

pub(super) const UNKNOWN: &[Row] = &[
    row("an agent that could not be observed is left alone", "api: unknown because unobservable", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").agent = AgentSeen::Unknown("tmux did not answer within 2s".into());
    }),
    row("an unknown server makes what is recorded on it unknown", "api: unknown because unobservable", |w| {
        w.running("api", "claude");
        let socket = w.observed.socket.clone();
        w.seen("api").agent = AgentSeen::Absent;
        w.observed.servers.insert(socket, ServerSeen::Unknown("timeout".into()));
    }),
    row("and what would be launched on it", "api: unknown because unobservable", |w| {
        w.want("api", "claude");
        let socket = w.observed.socket.clone();
        w.observed.servers.insert(socket, ServerSeen::Unknown("timeout".into()));
    }),
    row("a server nobody asked is unknown", "api: unknown because unobservable", |w| {
        w.want("api", "claude");
        w.observed.servers.clear();
    }),
    row("a record that was not looked at is unknown", "api: unknown because unobservable", |w| {
        w.running("api", "claude");
        w.observed.sessions.clear();
    }),
    row("another socket for new sessions is no absence of old ones", "api: unchanged", |w| {
        w.running("api", "claude");
        let other = Socket(PathBuf::from("/tmp/tmux-1000/other"));
        w.observed.servers.insert(other.clone(), ServerSeen::Absent);
        w.observed.socket = other;
    }),
];

pub(super) const ABSENT: &[Row] = &[
    row("nothing recorded, nothing there", "api: launch fresh because not-running", |w| {
        w.want("api", "claude");
    }),
    row("the first launch delivers the prompt", "api: launch fresh+prompt because not-running", |w| {
        w.want("api", "claude").prompt = Some("Fix it.".into());
    }),
    row("a removed session comes back with its conversation", "api: launch resume because restored", |w| {
        w.running("api", "claude").bury("api");
    }),
    row("in another directory it starts fresh", "api: launch fresh because not-running", |w| {
        w.running("api", "claude").bury("api");
        w.observed.dirs.insert(name("api"), DirSeen::Present("/elsewhere".into()));
    }),
    row("one that nobody ever prompted starts fresh", "api: launch fresh because not-running", |w| {
        w.running("api", "claude").bury("api");
        w.seen("api").conversation = Evidence::NeverPrompted;
    }),
    row("one that does not verify is blocked", "api: blocked(launch fresh) because conversation not-running", |w| {
        w.running("api", "claude").bury("api");
        w.seen("api").conversation = Evidence::Missing("no transcript".into());
    }),
    row("an intended launch that came to nothing is launched", "api: launch fresh because not-running", |w| {
        w.running("api", "claude");
        w.launch("api").phase = Phase::Intended;
        *w.seen("api") = absent();
    }),
    row("a missing directory blocks", "api: blocked(launch fresh) because dir not-running", |w| {
        w.want("api", "claude");
        w.observed.dirs.insert(name("api"), DirSeen::Missing("not there".into()));
    }),
    row("an unknown directory blocks", "api: blocked(launch fresh) because dir not-running", |w| {
        w.want("api", "claude");
        w.observed.dirs.insert(name("api"), DirSeen::Unknown("timeout".into()));
    }),
    row(
        "a directory that is another one now blocks",
        "api: blocked(launch fresh) because dir conversation killed",
        |w| {
            w.running("api", "claude").ended("api", EndedHow::Killed(9));
            w.observed.dirs.insert(name("api"), DirSeen::Present("/elsewhere".into()));
        },
    ),
    row("unless it is accepted", "api: launch resume because asked killed", |w| {
        w.running("api", "codex").ended("api", EndedHow::Killed(9));
        w.observed.dirs.insert(name("api"), DirSeen::Present("/elsewhere".into()));
        w.request.again = vec![name("api")];
        w.request.accept_dir = true;
    }),
];

pub(super) const CONFLICTS: &[Row] = &[
    row("a live stamped pane without a record is adopted", "api: adopt because no-record", |w| {
        w.running("api", "claude").unrecord("api");
    }),
    row("then compared", "api: adopt because no-record\napi: restart resume because changed", |w| {
        w.running("api", "claude").unrecord("api");
        change_model(w, "api");
    }),
    row("a dead one is adopted as ended", "api: adopt because no-record\napi: launch resume because killed", |w| {
        w.running("api", "claude").ended("api", EndedHow::Killed(9)).unrecord("api");
    }),
    row("another owner's pane blocks", "api: blocked(launch fresh) because other-owner not-running", |w| {
        w.want("api", "claude");
        let pane = ForeignPane { pane: PaneId("%3".into()), owner: "ffff".into() };
        w.observed.foreign.insert(name("api"), vec![pane]);
    }),
    row("two live panes block", "api: blocked(unchanged) because several", |w| {
        w.running("api", "claude");
        w.seen("api").agent = AgentSeen::Several(vec!["pane %1".into(), "pane %2".into()]);
    }),
    row("so does a second one without a record", "api: blocked(unchanged) because several", |w| {
        w.running("api", "claude").running("web", "claude").unrecord("web").unwant("web");
        w.seen("web").stamp.as_mut().unwrap().session = name("api");
    }),
    row("a rename is a move", "web: move from api because moved", |w| {
        w.running("api", "claude").unwant("api");
        let mut renamed = session("api", "claude");
        renamed.name = name("web");
        renamed.moved_from = Some(name("api"));
        w.observed.dirs.insert(name("web"), DirSeen::Present(renamed.dir.path.clone()));
        w.desired.sessions.insert(name("web"), renamed);
    }),
    row("so is a renamed fleet's session", "api: move from api because fleet-moved", |w| {
        w.running("api", "claude");
        w.desired.moved_from = Some(name("payments"));
        w.desired.fleet = Some(name("money"));
    }),
];
