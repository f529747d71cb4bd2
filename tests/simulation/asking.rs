//! What agents ask for between the runs of farhelm, of a `watch` or of the verb alone, and what operators decide about it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use farhelm::config::desired::{Desired, Dir, Session};
use farhelm::host::sim::random::Random;
use farhelm::host::sim::{Killed, What, World};
use farhelm::plan::spawn::{Ask, Granted, Refusal};
use farhelm::plan::{Request, Selection};
use farhelm::reconcile::pass::{Patience, Reconciler};
use farhelm::reconcile::spawn::{Credentials, SpawnError};
use farhelm::reconcile::watch::Watch;
use farhelm::spec::name::Name;
use farhelm::state::kept;
use farhelm::state::record::SessionId;

use crate::apply::{setup, words_of};
use crate::family::{Cause, Family};
use crate::fleet::{self, NAMES, PROFILES, dirs, name};
use crate::invariants::{Before, History, Run};
use crate::memory;
use crate::schedule::globs;

/// In one schedule of so many agents ask.
const SHARE: u64 = 15;

const NOBODY: SessionId = SessionId(uuid::Uuid::nil());

/// What is asked.
#[derive(Debug, Clone)]
enum Wish {
    /// An agent asks for a session.
    Spawn(Ask),
    /// An agent says that sessions are no longer wanted.
    Dismiss(Vec<Name>),
    /// An operator says so.
    DismissAny(Vec<Name>),
    /// An operator says that sessions stay, or do no more.
    Keep(Vec<Name>, bool),
}

/// An agent as it shows itself.
#[derive(Clone)]
struct Asker {
    session: SessionId,
    token: String,
    /// The token is its own.
    own: bool,
}

/// What came of it.
#[derive(Debug)]
enum Came {
    Given(Granted),
    Done,
    Refused(Refusal),
    #[expect(dead_code, reason = "for the trace")]
    Failed(String),
    Killed,
    Panicked(String),
}

/// Where it is asked.
pub struct Place<'a> {
    pub world: &'a World,
    pub history: &'a mut History,
    pub files: &'a Desired,
    /// Nothing can be observed.
    pub blind: bool,
    /// Nothing goes wrong with the state directory.
    pub sound: bool,
}

/// The requests of a schedule.
pub struct Asking {
    random: Random,
    pub family: Family,
    /// Those that had a key.
    asked: Vec<(SessionId, Ask)>,
    /// Keys so far.
    keys: u32,
    /// farhelm is killed in the middle of requests.
    kills: bool,
}

impl Asking {
    /// The requests of a seed; none where nobody asks.
    pub fn of(seed: u64) -> Option<Self> {
        let random = Random::new(seed.wrapping_mul(31).wrapping_add(7));
        seed.is_multiple_of(SHARE).then(|| Self {
            random,
            family: Family::default(),
            asked: Vec::new(),
            keys: 0,
            kills: true,
        })
    }

    /// Lets the fleet allow something.
    pub fn allow(&mut self, files: &mut Desired) {
        files.spawn = fleet::spawn(&mut self.random);
    }

    /// Perhaps changes what may be asked for, or takes a child over into the files; says how.
    pub fn edit(&mut self, files: &mut Desired) -> Option<String> {
        if self.random.chance(250) {
            return Some(fleet::edit_spawn(&mut self.random, &mut files.spawn));
        }
        if !self.random.chance(60) {
            return None;
        }
        let children: Vec<_> = self.family.live().cloned().collect();
        let child = self.random.pick(&children)?;
        let template = files.spawn.templates.get(&child.profile)?;
        let moved = self.random.chance(400);
        let called = if moved { name(&format!("own-{}", self.random.below(100_000))) } else { child.name.clone() };
        let session = Session {
            name: called.clone(),
            moved_from: moved.then(|| child.name.clone()),
            dir: Dir { spelling: child.dir.display().to_string(), path: child.dir.clone() },
            prompt: child.prompt.clone(),
            ..template.clone()
        };
        files.sessions.insert(called.clone(), session);
        Some(format!("takes {} over as {called}", child.name))
    }

    /// The memory is lost.
    pub fn forget(&mut self) {
        self.family.forget();
        self.asked.clear();
    }

    /// After a run of farhelm that nobody asked anything of.
    pub fn look(&mut self, world: &World, files: &Desired, down: bool) {
        self.family.look(world, files, &Cause { down, ..Cause::default() });
    }

    /// Perhaps somebody asks. Returns whether farhelm survived it.
    pub fn happen(&mut self, place: &mut Place<'_>, watch: Option<&mut Watch<'_>>) -> bool {
        let Some((asker, wish)) = self.wish(place.world) else { return true };
        self.ask(place, watch, asker.as_ref(), &wish)
    }

    /// A request with which nothing is wrong, for as long as there is one to make; says whether it was granted.
    pub fn ask_well(&mut self, place: &mut Place<'_>, watch: Option<&mut Watch<'_>>) -> bool {
        let tokens: Vec<(String, String)> = place.world.tokens().into_iter().collect();
        let Some(asker) = self.random.pick(&tokens).and_then(|own| asker(own, own)) else { return false };
        let profiles: Vec<Name> = place.files.spawn.templates.keys().cloned().collect();
        let Some(profile) = self.random.pick(&profiles).cloned() else { return false };
        let ask = Ask { name: None, profile, ..self.fresh() };
        let before = self.family.live().count();
        self.kills = false;
        self.ask(place, watch, Some(&asker), &Wish::Spawn(ask)) && self.family.live().count() > before
    }

    fn wish(&mut self, world: &World) -> Option<(Option<Asker>, Wish)> {
        let children: Vec<Name> = self.family.live().map(|child| child.name.clone()).collect();
        let some = self.random.pick(&children).cloned().unwrap_or_else(|| name("api"));
        match self.random.below(12) {
            0 => return Some((None, Wish::DismissAny(vec![some]))),
            1 | 2 => return Some((None, Wish::Keep(vec![some], self.random.chance(700)))),
            _ => {}
        }
        let tokens: Vec<(String, String)> = world.tokens().into_iter().collect();
        let own = self.random.pick(&tokens)?.clone();
        let shown = if self.random.chance(100) { self.random.pick(&tokens)?.clone() } else { own.clone() };
        let asker = asker(&own, &shown)?;
        if self.random.chance(200) {
            return Some((Some(asker), Wish::Dismiss(vec![some])));
        }
        let ask = self.any(asker.session);
        Some((Some(asker), Wish::Spawn(ask)))
    }

    /// A request that is new, or was made before, or has the key of another one.
    fn any(&mut self, who: SessionId) -> Ask {
        let own: Vec<Ask> = self.asked.iter().filter(|(asker, _)| *asker == who).map(|(_, ask)| ask.clone()).collect();
        let all: Vec<Ask> = self.asked.iter().map(|(_, ask)| ask.clone()).collect();
        let ask = match self.random.below(10) {
            0..=2 => self.random.pick(&own).cloned(),
            3 => self.random.pick(&own).cloned().map(|ask| Ask { key: ask.key, ..self.fresh() }),
            4 => self.random.pick(&all).cloned(),
            _ => None,
        };
        let ask = ask.unwrap_or_else(|| self.fresh());
        if ask.key.is_some() {
            self.asked.push((who, ask.clone()));
        }
        ask
    }

    fn fresh(&mut self) -> Ask {
        let random = &mut self.random;
        self.keys += 1;
        let named = random.chance(150);
        let kid = format!("kid-{}", random.below(4));
        let named =
            named.then(|| if random.chance(300) { name(random.pick(&NAMES).unwrap_or(&"api")) } else { name(&kid) });
        Ask {
            profile: name(random.pick(&PROFILES).expect("there are profiles")),
            dir: random.pick(&dirs()).cloned().unwrap_or_else(|| PathBuf::from("/home/u/api")),
            prompt: random.chance(500).then(|| fleet::prompt(random, "asked")),
            title: None,
            name: named,
            key: random.chance(600).then(|| format!("key-{}", self.keys)),
        }
    }

    fn ask(
        &mut self,
        place: &mut Place<'_>,
        watch: Option<&mut Watch<'_>>,
        asker: Option<&Asker>,
        wish: &Wish,
    ) -> bool {
        let world = place.world;
        let who = asker.map(|asker| (asker.session, asker.own));
        world.remark(format!("asked by {who:?}: {wish:?}"));
        let (before, known) = (Before::look(world, place.blind), memory::children(world));
        let from = world.review(usize::MAX, |_| {});
        let alone = watch.is_none();
        if alone && !asker.is_some_and(|asker| world.start_inside(&asker.session.to_string())) {
            world.start();
        }
        if self.kills && self.random.chance(250) {
            world.kill_at(self.random.range(1, if alone { 40 } else { 6 }), self.random.chance(500));
        }
        let mut judged = place.files.clone();
        let forbidden = |judged: &Desired| match wish {
            Wish::Spawn(ask) => self.family.forbids(world, judged, who.unwrap_or((NOBODY, false)), ask),
            _ => None,
        };
        // What farhelm is about to know, before it changes it.
        let early = watch.as_ref().map(|watch| forbidden(watch.desired()));
        let layout = farhelm::state::layout::Layout::new(fleet::state_dir());
        // The disk that may fail farhelm may not fail whoever checks it.
        let applied = || (0..1000).find_map(|_| kept::of_fleet(world, &layout, &name("sim")).ok()).flatten();
        let early = match early {
            Some(early) => early,
            // Without it nothing is granted.
            None => match applied() {
                Some(kept) => forbidden(&kept.desired),
                None => Some("no fleet was applied"),
            },
        };
        let came = catch_unwind(AssertUnwindSafe(|| match watch {
            Some(watch) => {
                judged = watch.desired().clone();
                of_watch(world, watch, asker, wish)
            }
            None => of_verb(world, &mut judged, asker, wish),
        }));
        let came = match came {
            Ok(Ok(came)) => came,
            Ok(Err(SpawnError::Refused(refusal))) => Came::Refused(refusal),
            Ok(Err(SpawnError::Pass(error))) => Came::Failed(error.to_string()),
            Err(payload) if payload.is::<Killed>() => Came::Killed,
            Err(payload) => Came::Panicked(words_of(payload.as_ref())),
        };
        world.remark(format!("it is answered: {came:?}"));
        if alone {
            world.finish();
            let request = Request { selection: selection(wish, &came), ..Request::default() };
            Run { world, desired: &memory::whole(world, &judged), request: &request }.check(&before, place.history);
        }
        self.check(place, (asker, wish), early, &came);
        if matches!(came, Came::Refused(_)) {
            check_untouched(world, &known, from);
        }
        let none: &[Name] = &[];
        let own = |name: &Name| who.is_some_and(|(who, own)| own && self.family.is_child(who, name));
        let cause = Cause {
            attempt: match wish {
                Wish::Spawn(ask) => who.filter(|(_, own)| *own).map(|(who, _)| (who, ask)),
                _ => None,
            },
            dismissed: match wish {
                Wish::DismissAny(names) => names,
                Wish::Dismiss(names) if names.iter().all(own) => names,
                _ => none,
            },
            kept: if let Wish::Keep(names, _) = wish { names } else { none },
            down: false,
        };
        self.family.look(world, &judged, &cause);
        !matches!(came, Came::Killed | Came::Panicked(_))
    }

    fn check(
        &self,
        place: &Place<'_>,
        (asker, wish): (Option<&Asker>, &Wish),
        forbidden: Option<&'static str>,
        came: &Came,
    ) {
        let world = place.world;
        match (wish, came) {
            (_, Came::Panicked(words)) => world.violated(format!("farhelm panicked: {words}")),
            (Wish::Spawn(_), Came::Given(Granted::New(child))) => {
                if let Some(why) = forbidden {
                    world.violated(format!("a request was granted although {why} ({})", child.name));
                }
            }
            (Wish::Spawn(ask), Came::Given(Granted::Before(child))) => {
                let who = asker.map_or(NOBODY, |asker| asker.session);
                if self.family.of_key(who, ask).is_none_or(|known| known.name != child.name) || forbidden.is_some() {
                    world.violated(format!("a request got {}, which it was not given before", child.name));
                }
            }
            (Wish::Spawn(_), Came::Refused(refusal)) if forbidden.is_none() && place.sound => {
                let may = matches!(
                    refusal,
                    Refusal::Taken(_)
                        | Refusal::Buried(_)
                        | Refusal::Dir(_)
                        | Refusal::NotApplied(_)
                        | Refusal::Left(_)
                        | Refusal::Children { .. }
                );
                let lost =
                    place.history.forgetful && matches!(refusal, Refusal::WrongToken(_) | Refusal::UnknownSession(_));
                if !may && !lost {
                    world.violated(format!("a request was refused without a cause: {}", refusal.code()));
                }
            }
            (Wish::Dismiss(names), Came::Done) => {
                let child = |name: &Name| asker.is_some_and(|a| a.own && self.family.is_child(a.session, name));
                if !names.iter().all(child) {
                    world.violated(format!("a session dismissed what was not its own: {names:?}"));
                }
            }
            _ => {}
        }
    }
}

/// The agent of `own` that shows the token of `shown`.
fn asker(own: &(String, String), shown: &(String, String)) -> Option<Asker> {
    let session = SessionId(own.0.parse().ok()?);
    Some(Asker { session, token: shown.1.clone(), own: own.1 == shown.1 })
}

fn credentials(asker: Option<&Asker>) -> Credentials {
    let (session, token) = asker.map_or((NOBODY, String::new()), |asker| (asker.session, asker.token.clone()));
    Credentials::new(session, token)
}

/// What the verb alone reconciles after it.
fn selection(wish: &Wish, came: &Came) -> Selection {
    let names = match (wish, came) {
        (Wish::Dismiss(names) | Wish::DismissAny(names), _) => names.clone(),
        (_, Came::Given(granted)) => vec![granted.child().name.clone()],
        _ => Vec::new(),
    };
    Selection { only: Some(globs(&names)), ..Selection::default() }
}

/// As the `watch` does it.
fn of_watch(world: &World, watch: &mut Watch<'_>, asker: Option<&Asker>, wish: &Wish) -> Result<Came, SpawnError> {
    match wish {
        Wish::Spawn(ask) => watch.spawn(&credentials(asker), ask).map(Came::Given),
        Wish::Dismiss(names) => watch.dismiss(&credentials(asker), names).map(|()| Came::Done),
        Wish::DismissAny(_) | Wish::Keep(..) => of_operator(world, watch.desired(), wish),
    }
}

fn of_operator(world: &World, files: &Desired, wish: &Wish) -> Result<Came, SpawnError> {
    let setup = setup("children", true, None);
    let reconciler = Reconciler::new(world, &setup)?;
    match wish {
        Wish::DismissAny(names) => drop(reconciler.dismiss_any(files, names)?),
        Wish::Keep(names, kept) => drop(reconciler.keep(files, names, *kept)?),
        Wish::Spawn(_) | Wish::Dismiss(_) => {}
    }
    Ok(Came::Done)
}

/// As the verb does it by itself; `judged` becomes the fleet it goes by.
fn of_verb(world: &World, judged: &mut Desired, asker: Option<&Asker>, wish: &Wish) -> Result<Came, SpawnError> {
    let setup = setup("spawn", true, asker.map(|asker| asker.session));
    let reconciler = Reconciler::new(world, &setup)?;
    let who = credentials(asker);
    if asker.is_some() {
        let record = reconciler.recognise(&who)?;
        let kept = kept::of_fleet(world, reconciler.store().layout(), &record.fleet);
        let kept = kept.map_err(|error| SpawnError::from(farhelm::state::error::StateError::from(error)))?;
        *judged = kept.ok_or(Refusal::NotApplied(record.fleet))?.desired;
    }
    let came = match wish {
        Wish::Spawn(ask) => Came::Given(reconciler.spawn(judged, &who, ask)?),
        Wish::Dismiss(names) => {
            reconciler.dismiss(judged, &who, names)?;
            Came::Done
        }
        Wish::DismissAny(_) | Wish::Keep(..) => of_operator(world, judged, wish)?,
    };
    let selection = selection(wish, &came);
    if !matches!(wish, Wish::Keep(..)) && !matches!(came, Came::Given(Granted::Before(_))) {
        let request = Request { selection, ..Request::default() };
        reconciler.converge(judged, &request, Patience::default(), &mut |_| {})?;
    }
    Ok(came)
}

/// A request that was refused had no effect.
fn check_untouched(world: &World, known: &[farhelm::state::children::Child], from: usize) {
    if memory::children(world) != known {
        world.violated("a request that was refused changed what was asked for");
    }
    let mut wrong = Vec::new();
    world.review(from, |event| {
        let effect = match &event.what {
            What::Opened { .. } | What::Closed { .. } | What::Signalled { .. } | What::Stamped { .. } => true,
            What::File { verb, path } => *verb != "make directory" && path.ends_with(".json"),
            _ => false,
        };
        if effect && event.effect > 0 {
            wrong.push(format!("a request that was refused did this: {event}"));
        }
    });
    for words in wrong {
        world.violated(words);
    }
}
