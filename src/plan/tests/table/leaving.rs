//! Rows of sessions and tabs that are in the files no more.

use super::*;

pub(super) const REMOVED: &[Row] = &[
    row("removed", "api: reap because removed", |w| {
        w.running("api", "claude").unwant("api");
    }),
    row("removed and dead", "api: reap because removed", |w| {
        w.running("api", "claude").ended("api", EndedHow::Exited(0)).unwant("api");
    }),
    row("removed without a record", "api: reap because removed no-record", |w| {
        w.running("api", "claude").unrecord("api").unwant("api");
    }),
    row("a child whose parent left", "api: reap because parent-gone", |w| {
        w.running("api", "claude").unwant("api").departed("api", Departure::ParentGone(name("web")));
    }),
    row("a child whose profile is no longer allowed", "api: reap because profile-gone", |w| {
        w.running("api", "claude").unwant("api").departed("api", Departure::ProfileGone(name("helper")));
    }),
    row(
        "a child that was dismissed, in the directory of a new session",
        "api: reap because dismissed\nweb: launch fresh because not-running",
        |w| {
            w.running("api", "claude").unwant("api").departed("api", Departure::Dismissed);
            w.want("web", "claude").dir = session("api", "claude").dir;
        },
    ),
    row("a child that was dismissed, under watch, in a turn", "api: reap because dismissed", |w| {
        w.running("api", "claude").unwant("api").departed("api", Departure::Dismissed).trigger(Trigger::Watch);
        w.seen("api").activity = Activity::Working;
    }),
    row(
        "a child beside a removed session in one directory",
        "api: reap because removed\nweb: launch fresh because not-running",
        |w| {
            w.running("api", "claude").unwant("api");
            let web = w.want("web", "claude");
            (web.dir, web.parent) = (session("api", "claude").dir, Some(name("boss")));
        },
    ),
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

pub(super) const TABS: &[Row] = &[
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
