//! What others do between two runs of farhelm.

use farhelm::config::desired::Desired;
use farhelm::host::process::Markers;
use farhelm::host::sim::World;
use farhelm::host::sim::random::Random;
use farhelm::host::tmux::{Place, StampText, TmuxSession};
use farhelm::spec::name::Name;
use farhelm::state::owner::owner;

use crate::apply::{ACCOUNT, socket};
use crate::fleet::{dirs, state_dir};
use crate::memory;

const THEIR_SESSION: &str = "99999999-9999-4999-8999-999999999999";

/// One thing happens; says what.
pub fn happen(world: &World, random: &mut Random, desired: &Desired) -> String {
    let socket = socket();
    match random.below(20) {
        0 => {
            let there = world.kill_server(&socket);
            format!("kill-server: {there}")
        }
        1 => {
            world.delete_socket(&socket);
            "the socket is deleted".to_owned()
        }
        2 => {
            world.restore_socket(&socket);
            "the socket is restored".to_owned()
        }
        3 => {
            world.hang_server(&socket, random.range(1_000, 60_000));
            "the server hangs".to_owned()
        }
        4 | 5 => close_a_pane(world, random),
        6 | 7 => {
            let ids: Vec<String> = memory::ids(world, "sessions").into_iter().collect();
            let killed = random.pick(&ids).is_some_and(|id| world.kill_agent(id));
            format!("an agent is killed: {killed}")
        }
        8 => {
            world.reboot();
            "rebooted".to_owned()
        }
        9 => {
            let name = format!("user-{}", random.below(100));
            let pane = world.strange_pane(&socket, Place::NewSession(name), StampText::new(), Markers::default());
            format!("a user opens {pane:?}")
        }
        10 => window_in_our_session(world, random),
        11 => foreign_pane(world, random, desired),
        12 | 13 => strangers(world, random),
        14 => {
            let ms = i64::try_from(random.below(7_200_000)).unwrap_or(0) - 3_600_000;
            world.step_wall(ms);
            format!("the wall clock is set by {ms}ms")
        }
        15 | 16 => world.spoil_talk(),
        17 => world.make_up_report(&state_dir().join("reports")),
        18 => format!("a user takes up conversation {:?} elsewhere", world.open_elsewhere()),
        _ => {
            let dirs = dirs();
            let dir = random.pick(&dirs).expect("there are directories");
            if random.chance(400) {
                world.remove_user_dir(dir);
            } else {
                world.make_user_dir(dir);
            }
            format!("{} comes or goes", dir.display())
        }
    }
}

fn close_a_pane(world: &World, random: &mut Random) -> String {
    let panes = world.all_panes();
    let Some((socket, pane, ours)) = random.pick(&panes) else { return "no pane to close".to_owned() };
    world.close_by_user(socket, pane);
    format!("a user closes {pane}, ours: {ours}")
}

/// A user's own window in a tmux session of ours.
fn window_in_our_session(world: &World, random: &mut Random) -> String {
    let place = Place::NewWindow(TmuxSession(format!("${}", random.range(1, 4))));
    let pane = world.strange_pane(&socket(), place, StampText::new(), Markers::default());
    format!("a user opens {pane:?} in a session of ours")
}

/// A pane with an agent that is none of this fleet's: another state directory's, or our own of another fleet.
fn foreign_pane(world: &World, random: &mut Random, desired: &Desired) -> String {
    let names: Vec<&Name> = desired.sessions.keys().collect();
    let session = random.pick(&names).map_or_else(|| "api".to_owned(), ToString::to_string);
    let ours = owner("sim", ACCOUNT.1, state_dir());
    let own = random.chance(300);
    let stamp: StampText = [
        ("id", THEIR_SESSION),
        ("owner", if own { ours.0.as_str() } else { "ffffffffffffffffffffffffffffffff" }),
        ("fleet", if !own && random.chance(700) { "sim" } else { "other" }),
        ("session", session.as_str()),
        ("generation", "1"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    let id = Some(THEIR_SESSION.to_owned());
    let socket_path = Some("/home/other/state/supervisor.sock".to_owned());
    let marks = Markers { session: id.clone(), agent: id, socket: socket_path, ..Markers::default() };
    let pane = world.strange_pane(&socket(), Place::NewSession(format!("their-{session}")), stamp, marks);
    format!("another owner or fleet opens {pane:?} for {session}")
}

fn strangers(world: &World, random: &mut Random) -> String {
    for _ in 0..random.range(1, 12) {
        let theirs = random.chance(300).then(|| THEIR_SESSION.to_owned());
        let marks = Markers { session: theirs.clone(), agent: theirs, ..Markers::default() };
        world.stranger(random.chance(400), random.chance(100), marks);
    }
    "strangers start processes".to_owned()
}
