//! The processes above the hook, as `/proc` has them now: all of them wait for it, more or less.

use std::fs::{self, File};
use std::io::Read;

use crate::host::process::Pid;
use crate::host::real;
use crate::state::reports::{Link, MAX_LINKS, WalkEnd};

/// The most of one process's arguments, in bytes.
const MAX_ARGV: u64 = 64 << 10;

/// The most of all processes' arguments together, in bytes.
const MAX_ARGVS: u64 = 1 << 20;

/// How a tmux server names itself.
const SERVER: &str = "tmux: server";

/// This process and its ancestors, up to the one whose parent is a tmux server: a pane's process.
pub(super) fn walk() -> (Vec<Link>, WalkEnd) {
    let mut links = Vec::new();
    let mut budget = MAX_ARGVS;
    let mut pid = Pid::try_from(std::process::id()).unwrap_or_default();
    loop {
        if links.len() == MAX_LINKS {
            return (links, WalkEnd::Limit);
        }
        let Ok(Some(process)) = real::process(pid) else { return (links, WalkEnd::Unreadable) };
        if !links.is_empty() && process.comm.starts_with(SERVER) {
            return (links, WalkEnd::Pane);
        }
        let link = |name: &str| {
            let path = fs::read_link(format!("/proc/{pid}/{name}")).ok()?;
            Some(path.to_string_lossy().into_owned())
        };
        let argv = argv(pid, budget.min(MAX_ARGV));
        budget -= argv.as_ref().map_or(0, |(_, bytes)| *bytes);
        links.push(Link {
            process: process.key,
            parent: process.parent,
            comm: process.comm,
            exe: link("exe"),
            argv: argv.map(|(argv, _)| argv),
            cwd: link("cwd"),
        });
        pid = process.parent;
        if pid == 0 {
            return (links, WalkEnd::Top);
        }
    }
}

/// A process's arguments and their length, where that is at most `limit` bytes.
fn argv(pid: Pid, limit: u64) -> Option<(Vec<String>, u64)> {
    let mut bytes = Vec::new();
    File::open(format!("/proc/{pid}/cmdline")).ok()?.take(limit + 1).read_to_end(&mut bytes).ok()?;
    let length = bytes.len() as u64;
    if length > limit {
        return None;
    }
    let text = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    Some((text.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect(), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_begins_here_and_every_link_follows_from_the_one_before() {
        let (links, ended) = walk();
        let own = &links[0];
        assert_eq!(own.process.pid, i32::try_from(std::process::id()).unwrap());
        let argv: Vec<String> = std::env::args().collect();
        assert_eq!(own.argv.as_ref(), Some(&argv));
        assert_eq!(own.exe.as_deref(), std::env::current_exe().unwrap().to_str());
        assert!(links.len() > 1 && links.windows(2).all(|pair| pair[0].parent == pair[1].process.pid), "{links:?}");
        assert!(matches!(ended, WalkEnd::Top | WalkEnd::Pane), "{ended:?}");
    }
}
