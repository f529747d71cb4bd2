//! The one place where the simulation calls the reconciler.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use farhelm::config::desired::Desired;
use farhelm::host::sim::{Killed, World};
use farhelm::host::tmux::Socket;
use farhelm::plan::{Plan, Request};
use farhelm::reconcile::pass::{Patience, Reconciler, Setup};
use farhelm::state::owner::Account;
use farhelm::state::record::SessionId;

use crate::fleet::state_dir;

/// What came of one run of farhelm.
pub enum Applied {
    /// It ended by itself; the plan of what remained.
    Finished(Box<Plan>),
    /// It could not work at all.
    Refused(String),
    /// It was killed.
    Killed,
    /// It panicked: words.
    Panicked(String),
}

/// The account farhelm runs as: the host's name and the user's number.
pub const ACCOUNT: (&str, u32) = ("sim", 1000);

/// The socket of the fleet's tmux server.
pub fn socket() -> Socket {
    Socket(PathBuf::from("/tmp/tmux-1000/farhelm"))
}

/// The surroundings of a run by `actor`.
pub fn setup(actor: &str, attended: bool, inside: Option<SessionId>) -> Setup {
    Setup {
        state_dir: state_dir().to_owned(),
        socket: socket(),
        account: Account { hostname: ACCOUNT.0.to_owned(), uid: ACCOUNT.1 },
        farhelm: PathBuf::from("/usr/bin/farhelm"),
        shell: PathBuf::from("/bin/bash"),
        actor: actor.to_owned(),
        patience: Duration::from_secs(2),
        inside,
        revision: None,
        unmanaged: false,
        thorough: false,
        attended,
        home: Some("/home/u".to_owned()),
    }
}

/// One run of farhelm, which was started in `world` before.
pub fn apply(world: &World, desired: &Desired, request: &Request, inside: Option<SessionId>) -> Applied {
    let setup = setup("apply", true, inside);
    let run = || {
        let reconciler = Reconciler::new(world, &setup).map_err(|error| error.to_string())?;
        let outcome = reconciler.converge(desired, request, Patience::default(), &mut |done| {
            world.remark(format!("done: {} {} {:?}", done.session, done.what, done.failure));
        });
        outcome.map(|outcome| outcome.plan).map_err(|error| error.to_string())
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(plan)) => Applied::Finished(Box::new(plan)),
        Ok(Err(words)) => Applied::Refused(words),
        Err(payload) if payload.is::<Killed>() => Applied::Killed,
        Err(payload) => Applied::Panicked(words_of(payload.as_ref())),
    }
}

/// The words of a panic.
pub fn words_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no words").to_owned()
}
