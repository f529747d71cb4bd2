//! A pass that is killed while it ends something, and an operator who changes his mind.

use super::*;
use crate::host::sim::DiskMode;

/// Ends by `change`, killed at each effect in turn; then `change` is taken back.
fn ends_and_takes_it_back(change: impl Fn(&mut Bed)) {
    for effect in 1.. {
        let mut bed = Bed::new(effect, "stubborn");
        bed.session().restart.when = crate::config::desired::RestartWhen::Never;
        bed.apply();
        let before = bed.desired.clone();
        change(&mut bed);
        if !bed.apply_killed_at(effect) {
            assert!(effect > 5, "an ending has effects");
            return;
        }
        bed.desired = before;
        // A tmux server that lost its last pane ends a moment later.
        bed.world.advance(1_000);
        let plan = bed.apply();
        assert!(at_rest(&plan), "killed at effect {effect}: {:?}\n{}", plan.items, bed.trace());
        assert_eq!(bed.world.frozen(), [], "killed at effect {effect}");
        let id = bed.record().id.to_string();
        assert_eq!(bed.world.agents(&id).len(), 1, "killed at effect {effect}");
        assert_eq!(bed.world.violations(), [""; 0], "killed at effect {effect}");
    }
}

#[test]
fn a_reap_cut_short_leaves_nothing_frozen_or_ended_when_it_is_taken_back() {
    ends_and_takes_it_back(|bed| bed.desired.sessions.clear());
}

#[test]
fn a_stop_cut_short_leaves_nothing_frozen_or_ended_when_it_is_taken_back() {
    ends_and_takes_it_back(|bed| bed.session().running = false);
}

/// Nothing remembers then that something was being ended, so that no later pass would let it go on.
#[test]
fn a_stop_cut_short_on_a_full_disk_leaves_nothing_frozen() {
    for effect in 1.. {
        let mut bed = Bed::applied(effect, "stubborn");
        let id = bed.record().id.to_string();
        bed.session().running = false;
        bed.world.set_faults(Faults { disk: DiskMode::Full, ..Faults::none() });
        let killed = bed.apply_killed_at(effect);
        assert_eq!(bed.world.frozen(), [], "killed at effect {effect}\n{}", bed.trace());
        if !killed {
            assert!(effect > 2, "a stop has effects");
            assert!(bed.world.agents(&id).is_empty(), "{}", bed.trace());
            return;
        }
    }
}
