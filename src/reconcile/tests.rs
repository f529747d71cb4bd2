//! The reconciler on a simulated machine, and what it makes of records without one.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agents::kind::{ConversationForms, Kind, PromptForm};
use crate::config::desired::{Desired, Dir, OnLost, Session, Tab};
use crate::host::sim::{Faults, Killed, World};
use crate::host::tmux::Socket;
use crate::plan::action::{Action, Item};
use crate::plan::{Plan, Request};
use crate::state::owner::Account;
use crate::state::record::Record;
use crate::state::tests::name;

use super::pass::{Patience, Reconciler, Setup};

mod adoption;
mod completing;
mod interrupted;
mod staying;
mod tabs;

const STATE: &str = "/home/u/state";

/// A fleet of one session, `api`, on a quiet machine.
struct Bed {
    world: World,
    desired: Desired,
    setup: Setup,
}

impl Bed {
    /// `program` is one of the simulated machine's, run as a kind whose conversation ids are assigned at launch.
    fn new(seed: u64, program: &str) -> Self {
        let world = World::new(seed);
        world.set_faults(Faults::none());
        world.make_user_dir(Path::new("/home/u/api"));
        let desired = Desired {
            fleet: Some(name("web")),
            sources: vec![PathBuf::from("/home/u/fleet.yaml")],
            kinds: [(name("scribe"), scribe())].into(),
            sessions: [(name("api"), session(program))].into(),
            ..Desired::default()
        };
        let setup = Setup {
            state_dir: PathBuf::from(STATE),
            socket: socket(),
            account: Account { hostname: "sim".to_owned(), uid: 1000 },
            farhelm: PathBuf::from("/usr/bin/farhelm"),
            shell: PathBuf::from("/bin/bash"),
            actor: "apply".to_owned(),
            patience: Duration::from_secs(2),
            inside: None,
            unmanaged: false,
            thorough: false,
            home: None,
            revision: None,
            attended: true,
        };
        Self { world, desired, setup }
    }

    /// A fleet that has been applied.
    fn applied(seed: u64, program: &str) -> Self {
        let bed = Self::new(seed, program);
        bed.apply();
        bed
    }

    fn session(&mut self) -> &mut Session {
        self.desired.sessions.values_mut().next().expect("there is one")
    }

    /// Gives the session another name, by `moved`.
    fn rename(&mut self, to: &str) {
        let (from, mut session) = self.desired.sessions.pop_first().expect("there is one");
        (session.name, session.moved_from) = (name(to), Some(from));
        self.desired.sessions.insert(name(to), session);
    }

    fn reconciler(&self) -> Reconciler<'_> {
        Reconciler::new(&self.world, &self.setup).expect("the disk is well")
    }

    /// One `apply`; the plan of what remains.
    fn apply(&self) -> Plan {
        self.world.start();
        let outcome =
            self.reconciler().converge(&self.desired, &Request::default(), Patience::default(), &mut |_| ()).unwrap();
        self.world.finish();
        outcome.plan
    }

    /// One `apply` that is killed at its effect number `effect`, if it comes so far; says whether.
    fn apply_killed_at(&self, effect: u64) -> bool {
        self.world.start();
        self.world.kill_at(effect, false);
        let run = || {
            let reconciler = self.reconciler();
            drop(reconciler.converge(&self.desired, &Request::default(), Patience::default(), &mut |_| ()));
        };
        let killed = catch_unwind(AssertUnwindSafe(run)).is_err_and(|payload| payload.is::<Killed>());
        self.world.finish();
        killed
    }

    /// The only record.
    fn record(&self) -> Record {
        let files = self.world.files_below(&Path::new(STATE).join("sessions"));
        let [file] = &files[..] else { panic!("{files:?}") };
        serde_json::from_slice(&self.world.file(file).unwrap()).unwrap()
    }

    /// Everything that happened, a line each.
    fn trace(&self) -> String {
        self.world.happened().iter().map(|event| format!("{event}\n")).collect()
    }

    fn rewrite(&self, change: impl FnOnce(&mut Record)) {
        let mut record = self.record();
        change(&mut record);
        let path = Path::new(STATE).join("sessions").join(format!("{}.json", record.id));
        self.world.rewrite_file(&path, &serde_json::to_vec(&record).unwrap());
    }
}

fn socket() -> Socket {
    Socket(PathBuf::from("/tmp/tmux-1000/farhelm"))
}

fn scribe() -> Kind {
    let conversation = ConversationForms {
        resume: vec!["--resume".into(), "{conversation}".into()],
        assign: vec!["--session-id".into(), "{conversation}".into()],
        ..ConversationForms::default()
    };
    Kind {
        prompt: Some(PromptForm::Positional),
        conversation: Some(conversation),
        executables: crate::host::sim::PROGRAMS.map(str::to_owned).to_vec(),
        ..Kind::bare(name("scribe"))
    }
}

fn session(program: &str) -> Session {
    let dir = Dir { spelling: "~/api".to_owned(), path: PathBuf::from("/home/u/api") };
    Session {
        stop_grace: Duration::from_secs(1),
        on_lost_conversation: OnLost::Block,
        resume_assigned: true,
        ..Session::bare(name("api"), name("scribe"), vec![program.to_owned()], dir)
    }
}

fn tab(program: &str) -> Tab {
    Tab { run: Some(vec![program.to_owned()]), dir: None, env: BTreeMap::new() }
}

/// Nothing is left to do.
fn at_rest(plan: &Plan) -> bool {
    plan.items.iter().all(|item| item.action == Action::Unchanged)
}
