//! Rows of changes that concern many.

use super::*;

pub(super) const ROLLOUT: &[Row] = &[
    row("watch: a change of many is tried on one", FIRST, many),
    row("watch: until it has run for a while", UNDER_WAY, |w| {
        many(w);
        tried(w, 3);
    }),
    row("watch: then all get it", WELL, |w| {
        many(w);
        tried(w, 12);
    }),
    row("watch: one that does not come up stops the rest", FAILED, |w| {
        many(w);
        tried(w, 12);
        w.ended("z", EndedHow::Exited(1));
        w.wanted("z").restart.when = RestartWhen::Never;
    }),
    row("watch: what others run with already needs no trial", KNOWN, |w| {
        many(w);
        w.running("z", "codex");
        w.wanted("a").choices.model = None;
        w.wanted("b").choices.model = None;
        w.wanted("c").choices.model = None;
        for name in ["a", "b", "c"] {
            let mut before = w.wanted(name).clone();
            before.choices.model = Some("old".to_owned());
            let salt = w.record(name).salt.clone();
            w.record(name).fields = crate::state::fields::hashes(&before, &salt, &Default::default());
            w.record(name).shown = crate::state::fields::shown(&before);
        }
    }),
    row("apply: all at once", ALL, |w| {
        many(w);
        w.trigger(Trigger::Apply);
    }),
    row("up to max_unavailable", LIMITED, |w| {
        many(w);
        w.trigger(Trigger::Apply);
        w.desired.policy.max_unavailable = Some(2);
    }),
    row("of which those that are down anyway take a place", DOWN, |w| {
        many(w);
        w.trigger(Trigger::Apply);
        w.desired.policy.max_unavailable = Some(2);
        w.running("z", "codex").ended("z", EndedHow::Exited(1));
    }),
];

const FIRST: &str = "a: restart resume because changed
b: waiting(restart resume) because canary changed
c: waiting(restart resume) because canary changed";
const UNDER_WAY: &str = "a: waiting(restart resume) because canary changed
b: waiting(restart resume) because canary changed
c: waiting(restart resume) because canary changed
z: unchanged";
const WELL: &str = "a: restart resume because changed
b: restart resume because changed
c: restart resume because changed
z: unchanged";
const FAILED: &str = "a: blocked(restart resume) because canary-failed changed
b: blocked(restart resume) because canary-failed changed
c: blocked(restart resume) because canary-failed changed
z: unchanged because not-restarted";
const KNOWN: &str = WELL;
const ALL: &str = "a: restart resume because changed
b: restart resume because changed
c: restart resume because changed";
const LIMITED: &str = "a: restart resume because changed
b: restart resume because changed
c: waiting(restart resume) because max-unavailable changed";
const DOWN: &str = "a: restart resume because changed
b: waiting(restart resume) because max-unavailable changed
c: waiting(restart resume) because max-unavailable changed
z: launch resume because exited";

/// Three whose model changed, under `watch`.
fn many(w: &mut World) {
    w.trigger(Trigger::Watch);
    for name in ["a", "b", "c"] {
        w.running(name, "codex");
        change_model(w, name);
    }
}

/// Another one that was started with that model so many seconds ago.
fn tried(w: &mut World, seconds: u64) {
    w.running("z", "codex");
    change_model(w, "z");
    let (want, salt) = (w.wanted("z").clone(), w.record("z").salt.clone());
    w.record("z").fields = crate::state::fields::hashes(&want, &salt, &Default::default());
    w.record("z").shown = crate::state::fields::shown(&want);
    w.launch("z").at.boot_ms = super::super::world::NOW.boot_ms - seconds * 1_000;
    w.launch("z").at.wall_ms = ago(i64::try_from(seconds).unwrap());
}
