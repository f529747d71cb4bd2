//! Where `watch` is asked things: its socket, who is at it, and what each of them waits for.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use jiff::Timestamp;

use crate::cli::protocol::{Answer, Ask, Hello, Overview, PROTOCOL, Request, line};
use crate::host::clock::{Clock, Moment};
use crate::host::process::Processes;
use crate::host::real::Machine;
use crate::host::real::socket::{Hangup, Listener, Peer};
use crate::plan::spawn::Granted;
use crate::reconcile::spawn::SpawnError;
use crate::reconcile::watch::{Said, Watch};
use crate::spec::name::Name;
use crate::state::events::Follower;
use crate::state::layout::Layout;

/// So many may be at the desk at once.
const MAX_GUESTS: usize = 64;
/// So many requests of one guest are heard in a turn: the others are to be heard too, and the fleet is to be kept.
const REQUESTS: usize = 4;
/// Who has said nothing for so long is sent away.
const PATIENCE: Duration = Duration::from_secs(10);

/// The desk.
pub(super) struct Desk<'a> {
    machine: &'a Machine,
    layout: Layout,
    /// None where there can be no socket: the fleet is kept all the same.
    listener: Option<Listener>,
    hello: Vec<u8>,
    guests: BTreeMap<u64, Guest<'a>>,
    next: u64,
}

struct Guest<'a> {
    peer: Peer,
    since: Moment,
    wants: Wants<'a>,
}

/// What a guest waits for.
enum Wants<'a> {
    /// To say what it wants.
    ToSpeak,
    /// The status, whenever it differs from what it was told last.
    Status(Option<Vec<u8>>),
    /// Events.
    Events(Follower<'a>),
    /// What becomes of a session.
    Launch {
        session: Name,
        /// What keeps it, as it was told last.
        told: Option<String>,
    },
}

impl<'a> Desk<'a> {
    /// Opens it. What keeps it closed is returned beside it.
    pub(super) fn open(machine: &'a Machine, layout: &Layout, fleet: &Name) -> (Self, Option<String>) {
        let path = layout.supervisor_socket(fleet);
        let (listener, why) = match Listener::bind(&path) {
            Ok(listener) => (Some(listener), None),
            Err(error) => (None, Some(format!("cannot listen at {}: {error}", path.display()))),
        };
        let farhelm = env!("CARGO_PKG_VERSION").to_owned();
        let hello = Hello { farhelm, protocol: PROTOCOL, fleet: Some(fleet.clone()), pid: machine.own() };
        let (layout, guests) = (layout.clone(), BTreeMap::new());
        (Self { machine, layout, listener, hello: line(&hello), guests, next: 0 }, why)
    }

    /// What is to be waited for, and whether it is to be written to.
    pub(super) fn fds(&self) -> Vec<(BorrowedFd<'_>, bool)> {
        let listener = self.listener.iter().map(|listener| (listener.as_fd(), false));
        let guests = self.guests.values().map(|guest| (guest.peer.as_fd(), guest.peer.is_behind()));
        listener.chain(guests).collect()
    }

    /// How long may be waited before somebody is to be heard again, or sent away.
    pub(super) fn patience(&self, wanted: Duration) -> Duration {
        if self.guests.values().any(|guest| guest.peer.has_line()) {
            return Duration::ZERO;
        }
        let silent = self.guests.values().any(|guest| matches!(guest.wants, Wants::ToSpeak));
        if silent { wanted.min(PATIENCE) } else { wanted }
    }

    /// Hears everybody, and does what they ask.
    pub(super) fn serve(&mut self, watch: &mut Watch<'_>) {
        self.let_in();
        let ids: Vec<u64> = self.guests.keys().copied().collect();
        for id in ids {
            if let Err(hangup) = self.attend(id, watch) {
                if hangup == Hangup::TooLong {
                    self.say(id, &refused("too-long", &hangup));
                }
                self.guests.remove(&id);
            }
        }
        let now = self.machine.now();
        let waits = |guest: &Guest<'_>| matches!(guest.wants, Wants::ToSpeak);
        self.guests.retain(|_, guest| !waits(guest) || now.since(&guest.since) < PATIENCE);
        self.tell_held(watch);
        self.tell_status(watch);
        self.tell_events();
    }

    fn let_in(&mut self) {
        let came = self.listener.as_ref().map(|listener| listener.accept(MAX_GUESTS)).unwrap_or_default();
        for mut peer in came {
            if self.guests.len() < MAX_GUESTS && peer.say(&self.hello).is_ok() {
                let guest = Guest { peer, since: self.machine.now(), wants: Wants::ToSpeak };
                self.guests.insert(self.next, guest);
                self.next += 1;
            } else {
                // A hook says its word and is gone before it hears ours.
                let _ = peer
                    .say(&line(&Answer::Refused { code: "busy".to_owned(), words: "too many are asking".to_owned() }));
            }
        }
    }

    /// Hears one guest, until it has nothing more to say or has had its turn.
    fn attend(&mut self, id: u64, watch: &mut Watch<'_>) -> Result<(), Hangup> {
        for _ in 0..REQUESTS {
            let Some(guest) = self.guests.get_mut(&id) else { return Ok(()) };
            guest.peer.flush()?;
            let Some(said) = guest.peer.line()? else { return Ok(()) };
            if said.starts_with(b"report ") {
                watch.poked();
                return Err(Hangup::Gone);
            }
            let answer = match understood(&said) {
                Ok(ask) => self.answer(id, ask, watch),
                Err(refusal) => Some(refusal),
            };
            if let Some(answer) = answer {
                self.say(id, &answer);
            }
        }
        Ok(())
    }

    /// Does what is asked; none where the answer comes by itself.
    fn answer(&mut self, id: u64, ask: Ask, watch: &mut Watch<'_>) -> Option<Answer> {
        let guest = self.guests.get_mut(&id)?;
        let process = guest.peer.pid;
        match ask {
            Ask::Status => {
                guest.wants = Wants::Status(None);
                None
            }
            Ask::Events { since_ms } => {
                let since = since_ms.and_then(|at| Timestamp::from_millisecond(at).ok());
                guest.wants = Wants::Events(Follower::new(self.machine, &self.layout, since));
                None
            }
            Ask::Spawn { who, ask } => Some(match watch.spawn(&who.of_process(process), &ask) {
                Ok(Granted::New(child)) => {
                    guest.wants = Wants::Launch { session: child.name.clone(), told: None };
                    Answer::Spawned(child.name)
                }
                Ok(Granted::Before(child)) => Answer::Known(child.name),
                Err(error) => refusal(&error),
            }),
            Ask::Dismiss { who, names } => Some(
                watch
                    .dismiss(&who.of_process(process), &names)
                    .map_or_else(|error| refusal(&error), |()| Answer::Dismissed),
            ),
            Ask::Who(who) => {
                Some(watch.who(&who).map_or_else(|error| refusal(&error), |who| Answer::Who(Box::new(who))))
            }
        }
    }

    /// Tells those who wait for it.
    pub(super) fn told(&mut self, said: &Said) {
        if let Said::Done(done) = said {
            let waits =
                |guest: &Guest<'_>| matches!(&guest.wants, Wants::Launch { session, .. } if *session == done.session);
            let ids: Vec<u64> = self.guests.iter().filter(|(_, guest)| waits(guest)).map(|(id, _)| *id).collect();
            for id in ids {
                self.say(id, &Answer::Done(done.clone()));
            }
        }
        self.tell_events();
    }

    /// Tells those who wait for a launch what keeps it, whether or not it keeps others too.
    fn tell_held(&mut self, watch: &Watch<'_>) {
        self.guests.retain(|_, guest| {
            let Wants::Launch { session, told } = &mut guest.wants else { return true };
            let Some(words) = watch.keeps(session).filter(|words| told.as_deref() != Some(*words)) else { return true };
            *told = Some(words.to_owned());
            guest.peer.say(&line(&Answer::Held(words.to_owned()))).is_ok()
        });
    }

    fn tell_status(&mut self, watch: &Watch<'_>) {
        if !self.guests.values().any(|guest| matches!(guest.wants, Wants::Status(_))) {
            return;
        }
        let overview = line(&Answer::Status(Overview {
            fleet: watch.desired().fleet.clone(),
            revision: watch.revision().map(str::to_owned),
            unfit: watch.unfit().map(str::to_owned),
            sessions: watch.sessions().to_vec(),
        }));
        self.guests.retain(|_, guest| match &mut guest.wants {
            Wants::Status(last) if last.as_ref() != Some(&overview) => {
                *last = Some(overview.clone());
                guest.peer.say(&overview).is_ok()
            }
            _ => true,
        });
    }

    fn tell_events(&mut self) {
        self.guests.retain(|_, guest| {
            let Wants::Events(follower) = &mut guest.wants else { return true };
            // Whoever is behind gets more when it has read what it was sent.
            if guest.peer.is_behind() {
                return true;
            }
            let Ok(events) = follower.next_events() else { return false };
            events.into_iter().all(|event| guest.peer.say(&line(&Answer::Event(Box::new(event)))).is_ok())
        });
    }

    fn say(&mut self, id: u64, answer: &Answer) {
        if let Some(guest) = self.guests.get_mut(&id)
            && guest.peer.say(&line(answer)).is_err()
        {
            self.guests.remove(&id);
        }
    }
}

/// What a line asks, or why that is not known.
fn understood(said: &[u8]) -> Result<Ask, Answer> {
    /// What every version says.
    #[derive(serde::Deserialize)]
    struct Version {
        protocol: u32,
    }
    match serde_json::from_slice::<Version>(said) {
        Ok(Version { protocol: PROTOCOL }) => {}
        Ok(Version { protocol }) => {
            let words = format!("this `watch` speaks version {PROTOCOL} and was asked in version {protocol}");
            return Err(refused("version", &format!("{words}; restart it, so that both are the same farhelm")));
        }
        Err(error) => return Err(refused("not-understood", &error)),
    }
    let request: Request = serde_json::from_slice(said).map_err(|error| refused("not-understood", &error))?;
    Ok(request.ask)
}

fn refusal(error: &SpawnError) -> Answer {
    match error {
        SpawnError::Refused(refusal) => refused(refusal.code(), refusal),
        SpawnError::Pass(error) => refused("failed", error),
    }
}

fn refused(code: &str, words: &dyn ToString) -> Answer {
    Answer::Refused { code: code.to_owned(), words: words.to_string() }
}
