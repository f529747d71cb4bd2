//! farhelm keeps a fleet of terminal coding agents as its files declare it.
//!
//! Data flows one way: `config` turns files into a [`config::desired::Desired`] fleet, `observe` turns tmux and
//! `/proc` into [`observe::observed::Observed`], `state` remembers what was done, [`plan`] compares the three
//! without touching anything, and `reconcile` carries the plan out through the ports of [`host`].
#![forbid(unsafe_code)]

pub mod agents;
pub mod cli;
pub mod config;
pub mod host;
pub mod observe;
pub mod plan;
pub mod reconcile;
pub mod spec;
pub mod state;
