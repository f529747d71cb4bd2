//! Rows of sessions that ended, and of an operator's holds.

use super::*;

const TRIPPED: &str = "a: blocked(launch resume) because kind-tripped exited
b: blocked(launch resume) because kind-tripped exited
c: blocked(launch resume) because kind-tripped exited
d: blocked(launch resume) because kind-tripped exited
e: blocked(launch resume) because kind-tripped exited
new: blocked(launch fresh) because kind-tripped not-running
other: launch fresh because not-running
runs: unchanged";

const NOT_TRIPPED: &str = "a: launch resume because killed
b: launch resume because killed
c: launch resume because killed
d: launch resume because killed
e: launch resume because killed";

fn many_ended(w: &mut World, how: &EndedHow) {
    w.trigger(Trigger::Watch);
    for name in ["a", "b", "c", "d", "e"] {
        w.running(name, "codex").ended(name, how.clone());
        w.launch(name).at.wall_ms = ago(15);
        w.record(name).failures = 1;
    }
}

pub(super) const ENDED: &[Row] = &[
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
    row(
        "so does one that was reported last and is not there",
        "api: blocked(launch fresh) because conversation killed",
        |w| {
            w.running("api", "codex").ended("api", EndedHow::Killed(9));
            w.seen("api").conversation = Evidence::Unproven { conversation: "new".into(), words: "gone".into() };
        },
    ),
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
    row("watch: the first at once", "api: launch resume because exited", |w| failing(w, 1)),
    row("watch: then through backoff", "api: waiting(launch resume) because backoff exited", |w| {
        failing(w, 5);
        w.wanted("api").restart.initial = Duration::from_secs(2);
    }),
    row("watch: whatever the clock on the wall says", "api: launch resume because exited", |w| {
        failing(w, 3);
        w.launch("api").over = Some(crate::host::clock::Moment {
            boot_ms: super::super::world::NOW.boot_ms - 9_000,
            wall_ms: ago(-3_600),
        });
        w.launch("api").ended.as_mut().unwrap().at_ms = Some(ago(-3_600));
    }),
    row("watch: which ends", "api: launch resume because exited", |w| failing(w, 3)),
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
    row("watch: many of a kind that do not come up hold it", TRIPPED, |w| {
        many_ended(w, &EndedHow::Exited(1));
        w.running("runs", "codex").want("new", "codex");
        w.want("other", "claude");
    }),
    row("watch: killed from outside, they say nothing of it", NOT_TRIPPED, |w| many_ended(w, &EndedHow::Killed(9))),
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

pub(super) const HOLDS: &[Row] = &[
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
        w.hold("api", HoldKind::Paused).until_ms = Some(super::super::world::NOW.wall_ms);
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
