//! Random worlds. A world is built from bytes, so that a failing one shrinks towards the plainest.

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;

use crate::config::desired::{EnvValue, OnLost, RestartWhen, UpdateWhen};
use crate::host::process::ProcessKey;
use crate::host::tmux::PaneId;
use crate::observe::observed::{Activity, AgentSeen, DirSeen, Evidence, ForeignPane, ServerSeen, TabSeen};
use crate::plan::{Trigger, tabs};
use crate::state::record::{EndedHow, HoldKind, Phase, Provenance};

use super::world::{World, globs, id, name, shell_tab};

/// Literal values that must never be seen outside.
pub const SECRET: &str = "s3cr3t-of-a-session";

/// Bytes that are used up one by one; the plain answer when there are none left.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn below(&mut self, limit: u8) -> u8 {
        self.0.next().copied().unwrap_or(0) % limit
    }

    /// True once in `odds`, for the bytes that are not zero.
    fn once_in(&mut self, odds: u8) -> bool {
        self.below(odds) == odds - 1
    }
}

pub fn worlds() -> impl Strategy<Value = World> {
    let session = proptest::collection::vec(any::<u8>(), 28);
    (proptest::collection::vec(any::<u8>(), 16), proptest::collection::vec(session, 1..7)).prop_map(
        |(fleet, sessions)| {
            let mut world = World::new();
            for (number, bytes) in sessions.iter().enumerate() {
                add(&mut world, &format!("s{number}"), &mut Bytes(bytes.iter()));
            }
            shape(&mut world, &mut Bytes(fleet.iter()));
            world
        },
    )
}

fn shape(w: &mut World, b: &mut Bytes<'_>) {
    w.trigger([Trigger::Apply, Trigger::Watch, Trigger::Apply, Trigger::Down][usize::from(b.below(4))]);
    w.desired.policy.prune = !b.once_in(4);
    w.desired.policy.watch_prune = b.once_in(2);
    w.desired.policy.max_reap = usize::from(b.below(4)) + 1;
    w.desired.policy.max_running = b.once_in(3).then(|| usize::from(b.below(6)));
    w.recorded.fleet.down = b.once_in(6);
    w.request.now = b.once_in(4);
    w.request.take_over = b.once_in(6);
    w.request.allow_fresh = b.once_in(3).then(|| globs("s[0-2]"));
    if b.once_in(5) {
        w.desired.sources = vec![PathBuf::from("/copy/fleet.yaml")];
    }
    if b.once_in(6) {
        w.recorded.fleet.sources.clear();
    }
    if b.once_in(8) {
        w.inside = Some(id("s0"));
    }
    if b.once_in(20) {
        let socket = w.observed.socket.clone();
        w.observed.servers.insert(socket, ServerSeen::Unknown("timeout".to_owned()));
    }
}

fn add(w: &mut World, text: &str, b: &mut Bytes<'_>) {
    let of = ["claude", "codex", "generic"][usize::from(b.below(3))];
    wanted(w, text, of, b);
    match b.below(5) {
        0 => return,
        memory => {
            w.running(text, of);
            remembered(w, text, b);
            seen(w, text, b);
            match memory {
                3 => drop(w.unrecord(text)),
                4 => drop(w.bury(text)),
                _ => {}
            }
        }
    }
    changed(w, text, b);
    if b.once_in(5) {
        w.unwant(text);
    }
    if b.once_in(8) {
        w.request.again.push(name(text));
        w.request.fresh = b.once_in(3);
    }
}

fn wanted(w: &mut World, text: &str, of: &str, b: &mut Bytes<'_>) {
    let session = w.want(text, of);
    session.env.insert("TOKEN".to_owned(), EnvValue::Literal(SECRET.to_owned()));
    session.running = !b.once_in(6);
    session.protect = b.once_in(6);
    session.priority = i64::from(b.below(3));
    session.prompt = b.once_in(3).then(|| "Fix it.".to_owned());
    session.update = [session.update, UpdateWhen::Now, UpdateWhen::Idle, UpdateWhen::Manual][usize::from(b.below(4))];
    session.restart.when = [RestartWhen::OnFailure, RestartWhen::Never, RestartWhen::Always][usize::from(b.below(3))];
    session.on_lost_conversation = [OnLost::Block, OnLost::Fresh][usize::from(b.below(2))];
    session.resume_assigned = b.once_in(2);
    match b.below(12) {
        10 => drop(w.observed.dirs.insert(name(text), DirSeen::Missing("not there".to_owned()))),
        11 => drop(w.observed.dirs.insert(name(text), DirSeen::Unknown("timeout".to_owned()))),
        _ => {}
    }
    if b.once_in(16) {
        let pane = ForeignPane { pane: PaneId("%99".to_owned()), owner: "ffff".to_owned() };
        w.observed.foreign.insert(name(text), vec![pane]);
    }
}

fn remembered(w: &mut World, text: &str, b: &mut Bytes<'_>) {
    match b.below(6) {
        3 => drop(w.hold(text, HoldKind::Paused)),
        4 => drop(w.hold(text, HoldKind::Stopped)),
        5 => drop(w.hold(text, HoldKind::Started)),
        _ => {}
    }
    w.record(text).failures = u32::from(b.below(8));
    w.record(text).protect |= b.once_in(8);
    if b.once_in(2)
        && let Some(conversation) = &mut w.record(text).conversation
    {
        conversation.provenance = Provenance::Assigned;
    }
    match b.below(4) {
        1 => drop(w.open_tab(text, "logs", tabs::definition(&shell_tab(), &format!("salt-{text}")))),
        2 => drop(w.open_tab(text, "logs", "changed".to_owned())),
        3 => {
            w.open_tab(text, "logs", tabs::definition(&shell_tab(), &format!("salt-{text}")));
            w.seen(text).tabs.insert(name("logs"), TabSeen::Missing);
        }
        _ => {}
    }
    if b.once_in(2) {
        w.wanted(text).tabs.insert(name("logs"), shell_tab());
    }
}

fn seen(w: &mut World, text: &str, b: &mut Bytes<'_>) {
    let words = || "words".to_owned();
    let ends = [EndedHow::Exited(0), EndedHow::Exited(1), EndedHow::Killed(9), EndedHow::ServerDied, EndedHow::Stopped];
    match b.below(14) {
        0..5 => {}
        ended @ 5..10 => drop(w.ended(text, ends[usize::from(ended) - 5].clone())),
        10 => w.seen(text).agent = AgentSeen::Absent,
        11 => w.seen(text).agent = AgentSeen::Unknown(words()),
        12 => w.seen(text).agent = AgentSeen::Several(vec![words(), words()]),
        _ => {
            let pane = w.pane(text);
            let since = Duration::from_secs(u64::from(b.below(60)));
            w.seen(text).agent = AgentSeen::Launching { pane, since };
        }
    }
    let evidence = match b.below(9) {
        0 => return,
        1 => Evidence::None,
        2 => Evidence::NeverPrompted,
        3 => Evidence::Assigned,
        4 => Evidence::Pending(words()),
        5 => Evidence::Missing(words()),
        6 => Evidence::Changed(words()),
        7 => Evidence::Unproven { conversation: words(), words: words() },
        _ => Evidence::TakenBy(name("other")),
    };
    w.seen(text).conversation = evidence;
    w.seen(text).activity =
        [Activity::Idle, Activity::Working, Activity::Unknown, Activity::NeedsInput][usize::from(b.below(4))];
    if b.once_in(4) {
        w.seen(text).leftovers = vec![ProcessKey { pid: 77, start: 7 }];
    }
    if b.once_in(8) && w.recorded.records.contains_key(&name(text)) {
        w.launch(text).phase = Phase::Stopping;
    }
}

fn changed(w: &mut World, text: &str, b: &mut Bytes<'_>) {
    let session = w.wanted(text);
    match b.below(8) {
        4 => session.choices.model = Some("opus".to_owned()),
        5 => drop(session.env.insert("TOKEN".to_owned(), EnvValue::Literal(format!("{SECRET}-2")))),
        6 => session.kind = name("codex"),
        7 => {
            session.dir.spelling = "~/elsewhere".to_owned();
            w.observed.dirs.insert(name(text), DirSeen::Present(PathBuf::from("/home/op/elsewhere")));
        }
        _ => {}
    }
    let session = w.wanted(text);
    if b.once_in(4) {
        session.title = Some("A title".to_owned());
    }
    if b.once_in(6) {
        session.protect = !session.protect;
    }
    if b.once_in(8) {
        w.observed.dirs.insert(name(text), DirSeen::Present(PathBuf::from("/mnt/other")));
    }
}
