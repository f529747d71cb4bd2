//! What a script that opens panes prints: which panes it made, and what those that are used again showed until then.
//!
//! What a pane shows is written by whoever ran in it: it stands between lines that bear a number nobody can know.

use std::collections::BTreeMap;

use super::super::command::Output;
use super::last_lines;
use super::script::{Script, check_pane};
use crate::host::tmux::{KEPT_LINES, PaneId};

/// Starts the lines that name what was made.
const MADE: &str = "farhelm-made";

/// Starts the lines around what a pane showed.
const SHOWED: &str = "farhelm-showed";

/// What was told, by request.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The panes made.
    pub(super) made: BTreeMap<usize, PaneId>,
    /// The last lines of panes that are used again.
    pub(super) showed: BTreeMap<usize, String>,
}

/// The format by which tmux names the pane of a request.
pub(super) fn made(index: usize) -> String {
    format!("{MADE} {index} #{{pane_id}}")
}

/// Has the present line of `script` print what `pane` shows. `nonce` is the request's alone.
pub(super) fn show(script: &mut Script, pane: &PaneId, index: usize, nonce: &str) {
    let line = format!("{SHOWED} {index} {nonce}");
    let lines = format!("-{KEPT_LINES}");
    script.command(["display-message", "-p", "-t", &pane.0, &line]);
    script.command(["capture-pane", "-p", "-t", &pane.0, "-S", &lines]);
    script.command(["display-message", "-p", "-t", &pane.0, &line]);
}

/// Reads it back; `nonces` are those of the requests, by request.
pub(super) fn read(output: &Output, nonces: &BTreeMap<usize, String>) -> Told {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut told = Told::default();
    let mut within: Option<(usize, &str, Vec<&str>)> = None;
    for line in text.lines() {
        match (&mut within, request_of(line, nonces)) {
            (Some((index, end, shown)), Some(_)) if line == *end => {
                told.showed.insert(*index, last_lines(&shown.join("\n"), KEPT_LINES));
                within = None;
            }
            // One that is not ended by the line that began it told nothing.
            (_, Some(index)) => within = Some((index, line, Vec::new())),
            (Some((_, _, shown)), None) => shown.push(line),
            (None, None) => told.made.extend(pane_of(line)),
        }
    }
    told
}

fn pane_of(line: &str) -> Option<(usize, PaneId)> {
    let (index, pane) = line.strip_prefix(MADE)?.trim_start().split_once(' ')?;
    let pane = PaneId(pane.to_owned());
    check_pane(&pane).ok()?;
    Some((index.parse().ok()?, pane))
}

fn request_of(line: &str, nonces: &BTreeMap<usize, String>) -> Option<usize> {
    let (index, nonce) = line.strip_prefix(SHOWED)?.trim_start().split_once(' ')?;
    let index = index.parse().ok()?;
    (nonces.get(&index)? == nonce).then_some(index)
}
