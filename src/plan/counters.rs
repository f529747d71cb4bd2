//! Totals of a plan: what the last line, the JSON document and the exit code agree on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{Action, Item, Mode};

/// Totals of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Launches.
    pub launch: usize,
    /// Those of them that resume.
    pub launch_resume: usize,
    /// Adjustments, tabs opened, adoptions and moves.
    pub adjust: usize,
    /// Restarts.
    pub restart: usize,
    /// Those of them that resume.
    pub restart_resume: usize,
    /// Those of them that are fresh.
    pub restart_fresh: usize,
    /// Stops.
    pub stop: usize,
    /// Reaps.
    pub reap: usize,
    /// Tabs to close.
    pub close_tab: usize,
    /// Waiting.
    pub waiting: usize,
    /// Blocked.
    pub blocked: usize,
    /// Unknown.
    pub unknown: usize,
    /// Items that destroy something: reaps, closed tabs, conversations lost.
    pub destructive: usize,
    /// Sessions with nothing to do.
    pub unchanged: usize,
}

/// `--detailed-exitcode`: nothing to do; what waits or is blocked is nothing.
pub const EXIT_NONE: u8 = 0;
/// `--detailed-exitcode`: changes.
pub const EXIT_CHANGES: u8 = 2;
/// `--detailed-exitcode`: changes that destroy something.
pub const EXIT_DESTRUCTIVE: u8 = 3;
/// `--detailed-exitcode`: something could not be observed.
pub const EXIT_UNKNOWN: u8 = 4;

impl Counters {
    /// Counts `items`.
    #[must_use]
    pub fn of(items: &[Item]) -> Self {
        let mut counters = Self::default();
        for item in items {
            counters.add(item);
        }
        counters
    }

    fn add(&mut self, item: &Item) {
        match &item.action {
            Action::Launch(mode) => {
                self.launch += 1;
                self.launch_resume += usize::from(mode.resumes());
            }
            Action::Restart(mode) => {
                self.restart += 1;
                self.restart_resume += usize::from(mode.resumes());
                self.restart_fresh += usize::from(matches!(mode, Mode::Fresh { .. } | Mode::SameId { .. }));
            }
            Action::Adjust | Action::OpenTab(_) | Action::Adopt | Action::Move { .. } => self.adjust += 1,
            Action::Stop => self.stop += 1,
            Action::Reap => self.reap += 1,
            Action::CloseTab(_) => self.close_tab += 1,
            Action::Waiting(_) => self.waiting += 1,
            Action::Blocked(_) => self.blocked += 1,
            Action::Unknown => self.unknown += 1,
            Action::Unchanged => self.unchanged += 1,
        }
        self.destructive += usize::from(item.action.effective() && item.cost.destructive);
    }

    /// Items that carrying out the plan does something for.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.launch + self.adjust + self.restart + self.stop + self.reap + self.close_tab
    }

    /// The exit code of `plan --detailed-exitcode`: the highest that holds.
    #[must_use]
    pub fn detailed_exit_code(&self) -> u8 {
        match self {
            counters if counters.unknown > 0 => EXIT_UNKNOWN,
            counters if counters.destructive > 0 => EXIT_DESTRUCTIVE,
            counters if counters.changes() > 0 => EXIT_CHANGES,
            _ => EXIT_NONE,
        }
    }
}
