//! The programs of the simulated machine: what a process does by itself, and when it is signalled.

use std::rc::Rc;

use super::random::Random;

/// What a process does.
#[derive(Debug, Clone, Default)]
pub(super) struct Habits {
    /// On SIGTERM.
    pub(super) term: OnTerm,
    /// SIGHUP does nothing to it.
    pub(super) hup_proof: bool,
    /// It ends by itself: milliseconds after its exec, and the status.
    pub(super) exits: Option<(u64, i32)>,
    /// Children it makes after its exec.
    pub(super) broods: Vec<Brood>,
    /// Children it makes when SIGTERM arrives.
    pub(super) term_broods: Vec<Brood>,
    /// For so many milliseconds after a SIGKILL it sits in the kernel (state D).
    pub(super) uninterruptible_ms: u64,
    /// Its environment cannot be read, although it is ours.
    pub(super) unreadable: bool,
}

/// What SIGTERM does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum OnTerm {
    /// The default disposition.
    #[default]
    Dies,
    /// A handler, which exits after so many milliseconds with this status.
    Exits(u64, i32),
    /// Nothing.
    Ignores,
}

/// Children of one sort.
#[derive(Debug, Clone)]
pub(super) struct Brood {
    /// Milliseconds until the first.
    pub(super) after: u64,
    /// Milliseconds between two.
    pub(super) every: u64,
    /// How many.
    pub(super) count: u32,
    /// Each leaves its parent (setsid, double fork): it belongs to pid 1 at once.
    pub(super) detached: bool,
    /// Each drops the environment it was given (`env -i`).
    pub(super) scrubbed: bool,
    /// What each does.
    pub(super) habits: Rc<Habits>,
}

/// Names of all programs that can be run. A name may carry a prefix up to its last `_`, so that several kinds of agent
/// can share them: `scribe_steady` behaves like `steady`.
pub const PROGRAMS: [&str; 14] = [
    "steady",
    "stubborn",
    "hup-proof",
    "done",
    "crash",
    "slow-term",
    "polite",
    "family",
    "daemon",
    "term-forker",
    "bomb",
    "scrubber",
    "undying",
    "hidden",
];

/// The program that is in no `PATH`.
pub const MISSING: &str = "missing";

fn brood(count: u32, detached: bool, habits: Habits) -> Brood {
    Brood { after: 5, every: 7, count, detached, scrubbed: false, habits: Rc::new(habits) }
}

/// What the program of `name` does this time; `None` when there is no such program.
pub(super) fn habits(name: &str, random: &mut Random) -> Option<Habits> {
    let plain = Habits::default();
    let stubborn = Habits { term: OnTerm::Ignores, ..Habits::default() };
    let name = name.rsplit('/').next().unwrap_or(name);
    Some(match name.rsplit('_').next().unwrap_or(name) {
        "steady" => plain,
        "bash" | "zsh" | "sh" => Habits { hup_proof: false, ..stubborn },
        "stubborn" => Habits { hup_proof: random.chance(500), ..stubborn },
        "hup-proof" => Habits { hup_proof: true, ..plain },
        "done" => Habits { exits: Some((random.range(200, 60_000), 0)), ..plain },
        "crash" => {
            let status = *random.pick(&[1, 2, 126, 127, 137]).unwrap_or(&1);
            Habits { exits: Some((random.range(50, 40_000), status)), ..plain }
        }
        "slow-term" => Habits { term: OnTerm::Exits(random.range(500, 9_000), 0), ..plain },
        "polite" => Habits { term: OnTerm::Exits(random.range(1, 300), 0), ..plain },
        "family" => Habits { broods: vec![brood(3, false, plain.clone()), brood(1, false, stubborn)], ..plain },
        "daemon" => {
            let child = Habits { hup_proof: true, ..stubborn };
            Habits { broods: vec![brood(2, true, child), brood(1, true, plain.clone())], ..plain }
        }
        "term-forker" => Habits {
            term: OnTerm::Exits(random.range(20, 400), 1),
            term_broods: vec![brood(1, true, stubborn), brood(2, false, plain)],
            ..Habits::default()
        },
        "bomb" => {
            let count = u32::try_from(random.range(5, 30)).unwrap_or(5);
            let grandchildren = brood(1, true, stubborn.clone());
            let child = Habits { broods: vec![grandchildren], ..stubborn };
            Habits { broods: vec![Brood { every: 40, ..brood(count, false, child) }], ..plain }
        }
        "scrubber" => {
            let child = Brood { scrubbed: true, ..brood(1, random.chance(500), stubborn) };
            Habits { broods: vec![child], ..plain }
        }
        "undying" => Habits { uninterruptible_ms: random.range(500, 8_000), ..stubborn },
        "hidden" => Habits { unreadable: true, broods: vec![brood(1, true, plain.clone())], ..plain },
        _ => return None,
    })
}
