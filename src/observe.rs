//! Joins panes, processes and reports into [`observed::Observed`].

pub mod observed;
