//! The situations farhelm must survive, through the real binary on a real tmux.
//!
//! A test's name begins with the id of its situation; what must hold is the rest of the name. Every test has its own
//! state directory, home and tmux socket, and leaves no process behind (`support::fleet`).

#[path = "../support/support.rs"]
mod support;

mod a_session_managers;
mod a_who_writes;
mod asking;
mod b_agent_fleets;
mod b_panes_and_names;
mod c_plan_and_apply;
mod c_what_belongs_to_us;
mod conversations;
mod d_machine;
mod d_processes;
mod d_under_watch;
mod documents;
mod faults_of_files;
mod faults_of_state;
mod faults_of_tmux;
mod logs;
mod machine;
mod operators;
mod reported_conversations;
mod secrets;
mod silent_agents;
mod watch;
mod watch_ends;
mod watch_faults;
mod watch_rest;
mod watch_rollout;
