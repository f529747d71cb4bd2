//! Tests of reading a fleet as a whole; each module's own are beside it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::desired::*;
use super::fixture::{errors, files, fleet, kinds, request, stdin};
use super::load::{load, load_from};

mod files;
mod layers;
mod sessions;

fn session(body: &str, name: &str) -> Session {
    let loaded = fleet(body).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    loaded.desired.sessions.values().find(|session| session.name.as_str() == name).unwrap().clone()
}

fn warnings(body: &str) -> Vec<String> {
    let loaded = fleet(body).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    loaded.warnings.iter().map(|problem| problem.message.clone()).collect()
}

fn has(found: &[String], words: &str) -> bool {
    found.iter().any(|message| message.contains(words))
}
