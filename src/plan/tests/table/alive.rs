//! Rows of sessions that run.

use super::*;

pub(super) const ALIVE: &[Row] = &[
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
