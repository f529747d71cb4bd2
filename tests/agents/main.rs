//! Real agents, launched and ended by the real binary, against a fake model on 127.0.0.1.
//!
//! `tests/agents/install` installs them, one version each; `FARHELM_TEST_AGENTS` chooses which are tested. Without it
//! those that are installed are, and the others say that they are skipped. Each test has a fleet, a home and a model of
//! its own ([`bed`]); what an agent needs and how it looks is data ([`agent`], and a file an agent); what all must do is
//! in [`common`]. A test may take minutes on a busy machine, and waits for what it can see.

#[path = "../support/support.rs"]
#[allow(dead_code, reason = "shared with the other tests, which use the rest of it")]
mod support;

mod agent;
mod bed;
mod cache;
mod common;
mod kept;
mod model;
mod results;
mod same;
mod table;
mod wrapped;

/// The tests every agent must pass, in the module of that agent.
macro_rules! common_tests {
    ($($behaviour:ident),+ $(,)?) => {
        $(
            #[test]
            fn $behaviour() {
                crate::common::check(&AGENT, stringify!($behaviour), crate::common::$behaviour);
            }
        )+
    };
    () => {
        common_tests!(
            launched_with_its_choices_and_its_prompt_once,
            launched_through_a_wrapper,
            idle_after_a_start_without_a_question,
            stop_in_mid_turn_leaves_nothing,
            down_leaves_nothing,
        );
    };
}

/// Tests of one file (`kept`, `same`, `wrapped`), in the module of an agent.
macro_rules! tests_of {
    ($file:ident: $($behaviour:ident),+ $(,)?) => {
        $(
            #[test]
            fn $behaviour() {
                crate::common::check(&AGENT, stringify!($behaviour), crate::$file::$behaviour);
            }
        )+
    };
}

mod claude;
mod codex;
mod gemini;
mod grok;
mod kimi;
mod omp;
mod opencode;
mod pi;

/// Every agent that is tested.
const AGENTS: [&agent::Agent; 8] = [
    &claude::AGENT,
    &codex::AGENT,
    &opencode::AGENT,
    &pi::AGENT,
    &gemini::AGENT,
    &omp::AGENT,
    &grok::AGENT,
    &kimi::AGENT,
];

#[test]
fn the_tests_reach_no_network_where_they_are_told_to_be_without() {
    if std::env::var_os("FARHELM_TEST_OFFLINE").is_none() {
        return support::skipped("no network namespace: tests/run makes one as root");
    }
    let table = std::fs::read_to_string("/proc/net/dev").expect("this process has a network");
    let names: Vec<&str> = table.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    assert_eq!(names, ["lo"]);
}
