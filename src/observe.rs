//! Joins panes, processes and reports into [`observed::Observed`].
//!
//! Three-valued throughout: what could not be seen is unknown, never absent. A session that was alive is gone only by
//! positive evidence (its process, known by boot, number and start time, is not in the table), and where nothing but
//! absence says so, only when two looks agree.

pub mod conversation;
pub mod look;
pub mod observed;
pub mod reading;
pub mod reports;
pub mod silence;
pub mod strays;

mod ending;
mod held;
mod marks;
mod session;
mod sight;
mod unmanaged;
mod wrapper;

#[cfg(test)]
mod tests;
