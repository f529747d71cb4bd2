//! The truth table: every row of it, every action and every reason code, each as a world and the lines expected of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;

use crate::config::desired::{EnvValue, OnLost, RestartWhen, UpdateWhen};
use crate::host::process::ProcessKey;
use crate::host::tmux::{PaneId, Socket};
use crate::observe::observed::{Activity, AgentSeen, DirSeen, Evidence, ForeignPane, Seen, ServerSeen, TabSeen};
use crate::plan::action::{Action, Item, Mode};
use crate::plan::reason::Reason;
use crate::plan::{Trigger, tabs};
use crate::state::record::{EndedHow, HoldKind, Phase, Provenance};

use super::world::{World, absent, ago, globs, id, name, session, shell_tab};

/// One row: what it shows, the world, and the lines of its plan, `session: action because codes`.
struct Row {
    what: &'static str,
    lines: &'static str,
    world: fn(&mut World),
}

const fn row(what: &'static str, lines: &'static str, world: fn(&mut World)) -> Row {
    Row { what, lines, world }
}

fn lines(items: &[Item]) -> String {
    let line = |item: &Item| {
        let codes: Vec<String> = item.reasons.iter().map(code).collect();
        format!("{}: {} because {}", item.session, action(&item.action), codes.join(" "))
    };
    items
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
        .replace(" because \n", "\n")
        .trim_end_matches(" because ")
        .to_owned()
}

fn code(reason: &Reason) -> String {
    serde_json::to_value(reason).unwrap()["code"].as_str().unwrap().to_owned()
}

fn action(action: &Action) -> String {
    match action {
        Action::Blocked(inner) => format!("blocked({})", self::action(inner)),
        Action::Waiting(inner) => format!("waiting({})", self::action(inner)),
        Action::Launch(mode) => format!("launch {}", self::mode(mode)),
        Action::Restart(mode) => format!("restart {}", self::mode(mode)),
        Action::OpenTab(tab) => format!("open-tab {tab}"),
        Action::CloseTab(tab) => format!("close-tab {tab}"),
        Action::Move { from } => format!("move from {from}"),
        Action::Unchanged => "unchanged".to_owned(),
        Action::Adjust => "adjust".to_owned(),
        Action::Stop => "stop".to_owned(),
        Action::Reap => "reap".to_owned(),
        Action::Adopt => "adopt".to_owned(),
        Action::Unknown => "unknown".to_owned(),
    }
}

fn mode(mode: &Mode) -> &'static str {
    match mode {
        Mode::Fresh { prompt: true } => "fresh+prompt",
        Mode::Fresh { prompt: false } => "fresh",
        Mode::SameId { .. } => "same-id",
        Mode::Resume { .. } => "resume",
        Mode::Verbatim => "verbatim",
    }
}

fn change_model(w: &mut World, text: &str) {
    w.wanted(text).choices.model = Some("opus".to_owned());
}

fn working(w: &mut World, text: &str, activity: Activity) {
    change_model(w, text);
    w.seen(text).activity = activity;
}

fn failing(w: &mut World, failures: u32) {
    w.running("api", "claude").ended("api", EndedHow::Exited(1)).trigger(Trigger::Watch);
    w.record("api").failures = failures;
    w.launch("api").at.wall_ms = ago(20);
}

const UNKNOWN: &[Row] = &[
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

const ABSENT: &[Row] = &[
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

const CONFLICTS: &[Row] = &[
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

const ALIVE: &[Row] = &[
    row("alive and equal", "api: unchanged", |w| {
        w.running("api", "claude");
    }),
    row("a changed field restarts with the conversation", "api: restart resume because changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
    }),
    row("never prompted: the same id again", "api: restart same-id because changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::NeverPrompted;
        w.record("api").conversation.as_mut().unwrap().provenance = Provenance::Assigned;
    }),
    row("never prompted, no id of ours: fresh", "api: restart fresh because changed", |w| {
        w.running("api", "codex");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::NeverPrompted;
    }),
    row("nothing reported: blocked", "api: blocked(restart fresh) because conversation changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::None;
    }),
    row("not stored yet: blocked", "api: blocked(restart fresh) because conversation changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::Pending("cleared".into());
    }),
    row("unless allowed", "api: restart fresh because changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::Missing("gone".into());
        w.request.allow_fresh = Some(globs("a*"));
    }),
    row("only assigned: blocked", "api: blocked(restart fresh) because conversation changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::Assigned;
    }),
    row("unless the profile resumes those", "api: restart resume because changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::Assigned;
        w.wanted("api").resume_assigned = true;
    }),
    row("taken by another: blocked", "api: blocked(restart fresh) because conversation changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::TakenBy(name("web"));
    }),
    row("another directory, a kind that cannot", "api: blocked(restart fresh) because conversation changed", |w| {
        w.running("api", "claude");
        w.wanted("api").dir = session("web", "claude").dir;
        w.observed.dirs.insert(name("api"), DirSeen::Present("/home/op/src/web".into()));
    }),
    row("another directory, a kind that can", "api: restart resume because changed", |w| {
        w.running("api", "codex");
        w.wanted("api").dir = session("web", "codex").dir;
        w.observed.dirs.insert(name("api"), DirSeen::Present("/home/op/src/web".into()));
    }),
    row("another kind loses it", "api: blocked(restart fresh) because conversation changed", |w| {
        w.running("api", "claude");
        w.wanted("api").kind = name("codex");
    }),
    row("a generic one has nothing to lose", "api: restart fresh because changed", |w| {
        w.running("api", "generic");
        w.wanted("api").env.insert("A".into(), EnvValue::Literal("1".into()));
    }),
    row("and uses its own resume command", "api: restart verbatim because changed", |w| {
        w.running("api", "generic");
        w.wanted("api").resume = Some(vec!["agent".into(), "--continue".into()]);
        w.wanted("api").invocation.push("-v".into());
    }),
    row("text and policies change in place", "api: adjust because adjusted adjusted", |w| {
        w.running("api", "claude");
        w.wanted("api").title = Some("API".into());
        w.wanted("api").protect = true;
    }),
    row("working: waits", "api: waiting(restart resume) because working changed", |w| {
        w.running("api", "claude");
        working(w, "api", Activity::Working);
    }),
    row("asking: waits", "api: waiting(restart resume) because needs-input changed", |w| {
        w.running("api", "claude");
        working(w, "api", Activity::NeedsInput);
    }),
    row("activity unknown: waits", "api: waiting(restart resume) because activity-unknown changed", |w| {
        w.running("api", "claude");
        working(w, "api", Activity::Unknown);
    }),
    row("--now does not wait", "api: restart resume because changed", |w| {
        w.running("api", "claude");
        working(w, "api", Activity::Working);
        w.request.now = true;
    }),
    row("manual waits for restart", "api: waiting(restart resume) because manual-update changed", |w| {
        w.running("api", "claude");
        working(w, "api", Activity::Idle);
        w.wanted("api").update = UpdateWhen::Manual;
    }),
    row("which is enough", "api: restart resume because asked changed", |w| {
        w.running("api", "claude");
        working(w, "api", Activity::Unknown);
        w.wanted("api").update = UpdateWhen::Manual;
        w.request.again = vec![name("api")];
    }),
    row("but does not cut a turn", "api: waiting(restart resume) because working asked", |w| {
        w.running("api", "claude");
        w.seen("api").activity = Activity::Working;
        w.request.again = vec![name("api")];
    }),
    row("start leaves a running one alone", "api: unchanged", |w| {
        w.running("api", "claude");
        w.request.start = vec![name("api")];
    }),
    row("restart --fresh loses what it was told to", "api: restart fresh+prompt because asked", |w| {
        w.want("api", "claude").prompt = Some("Fix it.".into());
        w.running("api", "claude");
        w.request.again = vec![name("api")];
        w.request.fresh = true;
    }),
    row("a launch under way is awaited", "api: waiting(launch resume) because launching", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        let pane = w.pane("api");
        w.seen("api").agent = AgentSeen::Launching { pane, since: Duration::from_secs(30) };
    }),
    row("until it is stuck", "api: blocked(restart resume) because launch-stuck", |w| {
        w.running("api", "claude");
        let pane = w.pane("api");
        w.seen("api").agent = AgentSeen::Launching { pane, since: Duration::from_millis(30_001) };
    }),
    row("hashes of another version are no change", "api: unchanged", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.record("api").fields_version += 1;
    }),
];

const ENDED: &[Row] = &[
    row("exit 0 is completed", "api: unchanged because completed", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(0));
    }),
    row("a change launches it again", "api: launch resume because exited changed", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(0));
        change_model(w, "api");
    }),
    row("so does start", "api: launch resume because exited", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(0));
        w.request.start = vec![name("api")];
    }),
    row("always launches again", "api: launch resume because exited", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(0));
        w.wanted("api").restart.when = RestartWhen::Always;
    }),
    row("a failure is launched again", "api: launch resume because killed", |w| {
        w.running("api", "claude").ended("api", EndedHow::Killed(9));
    }),
    row("its lost conversation blocks", "api: blocked(launch fresh) because conversation exited", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(1));
        w.seen("api").conversation = Evidence::Changed("another id".into());
    }),
    row("unless fresh is its policy", "api: launch fresh because exited", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(1));
        w.seen("api").conversation = Evidence::Missing("gone".into());
        w.wanted("api").on_lost_conversation = OnLost::Fresh;
    }),
    row("prompted and never reported: blocked", "api: blocked(launch fresh) because conversation killed", |w| {
        w.want("api", "codex").prompt = Some("Fix it.".into());
        w.running("api", "codex").ended("api", EndedHow::Killed(9));
        w.record("api").conversation = None;
        w.seen("api").conversation = Evidence::None;
    }),
    row("never, failed: stays", "api: unchanged because not-restarted", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(1));
        w.wanted("api").restart.when = RestartWhen::Never;
    }),
    row("gone without a word", "api: launch resume because vanished", |w| {
        w.running("api", "claude");
        w.seen("api").agent = AgentSeen::Absent;
    }),
    row("never ran", "api: launch fresh because launch-failed", |w| {
        w.running("api", "claude").ended("api", EndedHow::LaunchFailed("claude: not found".into()));
        w.record("api").conversation = None;
        w.seen("api").conversation = Evidence::None;
        w.wanted("api").restart.when = RestartWhen::Never;
    }),
    row("killed while it was being stopped", "api: launch resume because wanted-again", |w| {
        w.running("api", "claude");
        w.launch("api").phase = Phase::Stopping;
        w.seen("api").agent = AgentSeen::Absent;
    }),
    row("leftovers are ended first", "api: restart resume because leftovers vanished", |w| {
        w.running("api", "claude");
        w.wanted("api").restart.when = RestartWhen::Never;
        w.seen("api").agent = AgentSeen::Absent;
        w.seen("api").leftovers = vec![ProcessKey { pid: 9, start: 9 }];
    }),
    row("also those of a launch that never was", "api: restart fresh because leftovers", |w| {
        w.running("api", "generic");
        w.launch("api").phase = Phase::Intended;
        w.seen("api").agent = AgentSeen::Absent;
        w.seen("api").leftovers = vec![ProcessKey { pid: 9, start: 9 }];
    }),
    row("a dead server is an interruption", "api: launch resume because server-died", |w| {
        w.running("api", "claude").ended("api", EndedHow::ServerDied).trigger(Trigger::Watch);
        w.wanted("api").restart.when = RestartWhen::Never;
        w.record("api").failures = 99;
    }),
    row("so is a reboot", "api: launch resume because rebooted", |w| {
        w.running("api", "claude").ended("api", EndedHow::Rebooted);
    }),
    row("watch: the first at once", "api: launch resume because exited", |w| failing(w, 0)),
    row("watch: then through backoff", "api: waiting(launch resume) because backoff exited", |w| failing(w, 5)),
    row("watch: which ends", "api: launch resume because exited", |w| failing(w, 2)),
    row("watch: then not any more", "api: blocked(launch resume) because crash-loop exited", |w| failing(w, 6)),
    row("watch: health forgets failures", "api: launch resume because exited", |w| {
        failing(w, 6);
        w.wanted("api").restart.reset_after = Duration::from_secs(8);
    }),
    row("watch: a change is a new attempt", "api: launch resume because exited changed", |w| {
        failing(w, 6);
        change_model(w, "api");
    }),
    row("apply does not wait", "api: launch resume because exited", |w| {
        failing(w, 6);
        w.trigger(Trigger::Apply);
    }),
    row("a fleet that is down stays down", "api: blocked(launch fresh) because fleet-down not-running", |w| {
        w.want("api", "claude");
        w.recorded.fleet.down = true;
        w.trigger(Trigger::Watch);
    }),
    row("until apply", "api: launch fresh because not-running", |w| {
        w.want("api", "claude");
        w.recorded.fleet.down = true;
    }),
];

const HOLDS: &[Row] = &[
    row("desired: stopped", "api: stop because desired-stopped", |w| {
        w.running("api", "claude");
        w.wanted("api").running = false;
    }),
    row("and not running", "api: unchanged because desired-stopped", |w| {
        w.want("api", "claude").running = false;
    }),
    row("and only leftovers", "api: stop because desired-stopped", |w| {
        w.running("api", "claude").ended("api", EndedHow::Stopped);
        w.wanted("api").running = false;
        w.seen("api").leftovers = vec![ProcessKey { pid: 9, start: 9 }];
    }),
    row("held stopped", "api: stop because held-stopped", |w| {
        w.running("api", "claude");
        w.hold("api", HoldKind::Stopped);
    }),
    row("held started", "api: launch resume because wanted-again", |w| {
        w.running("api", "claude").ended("api", EndedHow::Stopped);
        w.wanted("api").running = false;
        w.hold("api", HoldKind::Started);
    }),
    row("paused: nothing is done", "api: blocked(restart resume) because paused changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.wanted("api").title = Some("API".into());
        w.hold("api", HoldKind::Paused);
    }),
    row("paused, and nothing to do", "api: unchanged because paused", |w| {
        w.running("api", "claude");
        w.hold("api", HoldKind::Paused);
    }),
    row("a pause ends at its time", "api: restart resume because changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.hold("api", HoldKind::Paused).until_ms = Some(super::world::NOW.wall_ms);
    }),
    row("protected: resumed all the same", "api: restart resume because changed", |w| {
        w.want("api", "claude").protect = true;
        w.running("api", "claude");
        change_model(w, "api");
    }),
    row("protected: never fresh", "api: blocked(restart fresh) because protected changed", |w| {
        w.want("api", "claude").protect = true;
        w.running("api", "claude");
        change_model(w, "api");
        w.seen("api").conversation = Evidence::Missing("gone".into());
        w.request.allow_fresh = Some(globs("*"));
    }),
    row(
        "protected: not launched fresh either when that loses it",
        "api: blocked(launch fresh) because protected killed",
        |w| {
            w.want("api", "claude").protect = true;
            w.running("api", "claude").ended("api", EndedHow::Killed(9));
            w.seen("api").conversation = Evidence::Missing("gone".into());
            w.request.allow_fresh = Some(globs("*"));
        },
    ),
    row("farhelm inside of it", "api: blocked(restart resume) because inside changed", |w| {
        w.running("api", "claude");
        change_model(w, "api");
        w.inside = Some(id("api"));
    }),
];

const REMOVED: &[Row] = &[
    row("removed", "api: reap because removed", |w| {
        w.running("api", "claude").unwant("api");
    }),
    row("removed and dead", "api: reap because removed", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(0)).unwant("api");
    }),
    row("removed without a record", "api: reap because removed no-record", |w| {
        w.running("api", "claude").unrecord("api").unwant("api");
    }),
    row("removed, protected", "api: blocked(reap) because protected removed", |w| {
        w.want("api", "claude").protect = true;
        w.running("api", "claude").unwant("api");
    }),
    row("removed, prune off", "api: blocked(reap) because no-prune removed", |w| {
        w.running("api", "claude").unwant("api");
        w.desired.policy.prune = false;
    }),
    row("removed, under watch", "api: blocked(reap) because no-prune removed", |w| {
        w.running("api", "claude").unwant("api").trigger(Trigger::Watch);
    }),
    row("removed, watch prunes when idle", "api: waiting(reap) because working removed", |w| {
        w.running("api", "claude").unwant("api").trigger(Trigger::Watch);
        w.desired.policy.watch_prune = true;
        w.seen("api").activity = Activity::Working;
    }),
    row(
        "too many reaps are blocked as a whole",
        "a: blocked(reap) because max-reap removed\nb: blocked(reap) because max-reap removed",
        |w| {
            w.running("a", "claude").unwant("a").running("b", "claude").unwant("b");
            w.desired.policy.max_reap = 1;
        },
    ),
    row("other files destroy nothing", "api: blocked(reap) because other-sources removed", |w| {
        w.running("api", "claude").unwant("api");
        w.desired.sources = vec![PathBuf::from("/copy/fleet.yaml")];
    }),
    row("nor do any when none are known", "api: blocked(reap) because other-sources removed", |w| {
        w.running("api", "claude").unwant("api");
        w.recorded.fleet.sources.clear();
        w.record("api").sources.clear();
    }),
    row("until they take over", "api: reap because removed", |w| {
        w.running("api", "claude").unwant("api");
        w.desired.sources = vec![PathBuf::from("/copy/fleet.yaml")];
        w.request.take_over = true;
    }),
    row("a lost fleet record is made up for by records", "api: reap because removed", |w| {
        w.running("api", "claude").unwant("api");
        w.recorded.fleet.sources.clear();
    }),
    row(
        "a removed and a new one in one directory",
        "api: blocked(reap) because maybe-moved removed\nweb: blocked(launch fresh) because maybe-moved not-running",
        |w| {
            w.running("api", "claude").unwant("api");
            w.want("web", "claude");
            w.observed.dirs.insert(name("web"), DirSeen::Present("/home/op/src/api".into()));
        },
    ),
    row(
        "down reaps all but the protected and the paused",
        "a: reap because down\nb: blocked(reap) because protected down\nc: blocked(reap) because paused down\nd: unchanged because down",
        |w| {
            w.running("a", "claude").want("b", "claude").protect = true;
            w.running("b", "claude").running("c", "claude").trigger(Trigger::Down);
            w.hold("c", HoldKind::Paused);
            w.want("d", "claude");
            w.desired.policy.max_reap = 0;
        },
    ),
    row(
        "by priority, then name, up to max_running",
        "a: waiting(launch fresh) because max-running not-running\nb: launch fresh because not-running\nc: unchanged",
        |w| {
            w.want("a", "claude");
            w.want("b", "claude").priority = 1;
            w.running("c", "claude");
            w.desired.policy.max_running = Some(2);
        },
    ),
];

const TABS: &[Row] = &[
    row("a new tab opens", "api: open-tab logs because tab-missing", |w| {
        w.running("api", "claude").trigger(Trigger::Watch);
        w.wanted("api").tabs.insert(name("logs"), shell_tab());
    }),
    row(
        "a launch opens its tabs",
        "api: launch fresh because not-running\napi: open-tab logs because tab-missing",
        |w| {
            w.want("api", "claude").tabs.insert(name("logs"), shell_tab());
        },
    ),
    row("a removed one closes", "api: close-tab logs because tab-removed", |w| {
        w.running("api", "claude").open_tab("api", "logs", "x".into());
    }),
    row(
        "a changed one closes and opens",
        "api: close-tab logs because tab-changed\napi: open-tab logs because tab-changed",
        |w| {
            w.running("api", "claude").open_tab("api", "logs", "x".into());
            w.wanted("api").tabs.insert(name("logs"), shell_tab());
        },
    ),
    row("one whose command ended stays", "api: unchanged", |w| {
        w.running("api", "claude").open_tab("api", "logs", tabs::definition(&shell_tab(), "salt-api"));
        w.wanted("api").tabs.insert(name("logs"), shell_tab());
    }),
    row("a missing one is drift", "api: open-tab logs because tab-missing", |w| {
        w.running("api", "claude").open_tab("api", "logs", tabs::definition(&shell_tab(), "salt-api"));
        w.wanted("api").tabs.insert(name("logs"), shell_tab());
        w.seen("api").tabs.insert(name("logs"), TabSeen::Missing);
    }),
    row("which watch leaves until the next launch", "api: unchanged", |w| {
        w.running("api", "claude").open_tab("api", "logs", tabs::definition(&shell_tab(), "salt-api"));
        w.wanted("api").tabs.insert(name("logs"), shell_tab());
        w.seen("api").tabs.insert(name("logs"), TabSeen::Missing);
        w.trigger(Trigger::Watch);
    }),
    row("other files close none", "api: blocked(close-tab logs) because other-sources tab-removed", |w| {
        w.running("api", "claude").open_tab("api", "logs", "x".into());
        w.desired.sources = vec![PathBuf::from("/copy/fleet.yaml")];
    }),
    row("a session that is not to run gets none", "api: unchanged because desired-stopped", |w| {
        w.want("api", "claude").running = false;
        w.wanted("api").tabs.insert(name("logs"), shell_tab());
    }),
];

fn rows() -> impl Iterator<Item = &'static Row> {
    [UNKNOWN, ABSENT, CONFLICTS, ALIVE, ENDED, HOLDS, REMOVED, TABS].into_iter().flatten()
}

fn planned(row: &Row) -> Vec<Item> {
    let mut world = World::new();
    (row.world)(&mut world);
    world.plan().items
}

#[test]
fn every_row_of_the_truth_table_gives_its_lines() {
    let wrong: Vec<String> = rows()
        .map(|row| (row, lines(&planned(row))))
        .filter(|(row, lines)| row.lines != lines)
        .map(|(row, lines)| format!("{}\n  wanted: {}\n  got:    {lines}", row.what, row.lines))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_reason_code_has_a_row_and_words() {
    let schema = Reason::json_schema(&mut schemars::SchemaGenerator::default());
    let variants = schema.get("oneOf").unwrap().as_array().unwrap().clone();
    let codes: BTreeSet<String> =
        variants.iter().map(|variant| variant["properties"]["code"]["const"].as_str().unwrap().to_owned()).collect();
    let reasons: Vec<Reason> = rows().flat_map(planned).flat_map(|item| item.reasons).collect();
    let used: BTreeSet<String> = reasons.iter().map(code).collect();
    assert_eq!(codes, used);
    for reason in &reasons {
        assert!(!reason.words().is_empty(), "{reason:?}");
    }
}

#[test]
fn every_action_has_a_row() {
    let all = rows().flat_map(planned).map(|item| action(&item.action)).collect::<Vec<_>>().join(" ");
    for word in [
        "unchanged",
        "launch",
        "adjust",
        "open-tab",
        "restart",
        "stop",
        "reap",
        "close-tab",
        "adopt",
        "move",
        "waiting",
        "blocked",
        "unknown",
    ] {
        assert!(all.contains(word), "{word}");
    }
    for word in ["fresh+prompt", "same-id", "resume", "verbatim"] {
        assert!(all.contains(word), "{word}");
    }
}

#[test]
fn what_hinders_comes_first_and_only_where_something_is_held_back() {
    for item in rows().flat_map(planned) {
        let held = matches!(item.action, Action::Blocked(_) | Action::Waiting(_) | Action::Unknown);
        let first = item.reasons.first().is_some_and(Reason::hinders);
        assert_eq!(held, first && item.action != Action::Unchanged, "{item:?}");
        assert!(item.reasons.is_sorted_by_key(|reason| !reason.hinders()), "{item:?}");
    }
}

#[test]
fn a_tab_of_a_lost_record_is_never_taken_for_changed() {
    let mut world = World::new();
    world.running("api", "claude").open_tab("api", "logs", "x".into());
    world.wanted("api").tabs.insert(name("logs"), shell_tab());
    world.unrecord("api");
    assert_eq!(lines(&world.plan().items), "api: adopt because no-record");
}

#[test]
fn a_pane_of_another_fleet_is_not_adopted() {
    let mut world = World::new();
    world.running("api", "claude").unrecord("api").unwant("api");
    world.seen("api").stamp.as_mut().unwrap().fleet = name("other");
    assert!(world.plan().items.is_empty());
}

#[test]
fn seen_but_absent_sessions_without_memory_are_nobodys() {
    let mut world = World::new();
    world.observed.sessions.insert(id("ghost"), Seen { ..absent() });
    assert!(world.plan().items.is_empty());
}
