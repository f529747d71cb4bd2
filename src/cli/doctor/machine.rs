//! tmux, the systemd user manager, limits and the socket.

use std::path::Path;

use nix::sys::resource::{Resource, getrlimit};

use crate::cli::context::Context;
use crate::host::disk::Disk;
use crate::host::real::Machine;
use crate::host::scope::{ScopeSupport, Scopes};
use crate::host::tmux::{Tmux, TmuxError};

use super::finding::{Finding, Level};

/// The longest path of a unix socket, in bytes (`sun_path` less its NUL).
const MAX_SOCKET: usize = 107;
/// Files a session may need open in farhelm, and farhelm itself.
const FILES: (u64, u64) = (4, 256);
/// Processes an agent with its tools easily has.
const PROCESSES: u64 = 64;
/// inotify instances that agents and editors of one account easily use.
const INSTANCES: u64 = 128;

/// The tmux program, and the server that launches go to.
pub fn tmux(context: &Context, host: &Machine) -> Vec<Finding> {
    let version = match host.tmux_version() {
        Ok(version) => Finding::ok("tmux", version),
        Err(error) => {
            let todo = "install tmux 3.2 or newer (`apt install tmux`)";
            return vec![Finding::new("tmux", Level::Problem, error.to_string(), todo)];
        }
    };
    let socket = context.socket();
    let server = match host.panes(&socket) {
        Ok(panes) => format!("its server on {socket} (pid {}) has {} panes", panes.server, panes.panes.len()),
        Err(TmuxError::NoServer(_)) => format!("no server on {socket} yet; the first launch starts one"),
        Err(error) => {
            let todo = format!("look with `tmux -S {socket} list-sessions`; nothing is done while it does not answer");
            let words = format!("the server on {socket}: {error}");
            return vec![version, Finding::new("tmux", Level::Problem, words, todo)];
        }
    };
    vec![version, Finding::ok("tmux", server)]
}

/// The systemd user manager: with it each launch has a scope of its own.
pub fn systemd(host: &Machine) -> Vec<Finding> {
    let area = "systemd";
    let todo = "log in through a session manager, or `loginctl enable-linger` for this account; without it a process \
                that detaches itself and hides its environment survives a reap";
    vec![match host.support() {
        ScopeSupport::Usable { .. } => Finding::ok(area, "the user manager gives each launch a scope of its own"),
        ScopeSupport::Unusable(why) => Finding::new(area, Level::Warning, format!("no scopes: {why}"), todo),
        ScopeSupport::Unknown(why) => Finding::new(area, Level::Warning, format!("scopes are not proven: {why}"), todo),
    }]
}

/// What the kernel allows this account.
pub fn limits(host: &Machine, sessions: usize) -> Vec<Finding> {
    let sessions = u64::try_from(sessions).unwrap_or(u64::MAX);
    let needed = FILES.1.saturating_add(sessions.saturating_mul(FILES.0)).max(1024);
    let mut findings = Vec::new();
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let words = format!("{soft} open files a process (at most {hard})");
        findings.push(at_least(soft, needed, words, &format!("raise it: `ulimit -n {needed}`")));
    }
    for (name, needed) in [("max_user_instances", INSTANCES), ("max_user_watches", 8192)] {
        let path = format!("/proc/sys/fs/inotify/{name}");
        if let Some(limit) = number(host, Path::new(&path)) {
            let todo = format!("raise it: `sysctl fs.inotify.{name}={}`", needed * 4);
            findings.push(at_least(limit, needed, format!("inotify {name}: {limit}"), &todo));
        }
    }
    let wanted = PROCESSES.saturating_mul(sessions.max(1));
    if let Ok((soft, _)) = getrlimit(Resource::RLIMIT_NPROC) {
        let words = if soft == u64::MAX { "no limit of processes".to_owned() } else { format!("{soft} processes") };
        findings.push(at_least(soft, wanted, words, "raise it: `ulimit -u`, or TasksMax= of the user's slice"));
    }
    if let Some((free, most)) = free_tasks(host) {
        let words = format!("{free} more of {most} tasks in this control group");
        findings.push(at_least(free, wanted, words, "raise TasksMax= of the unit that this shell runs in"));
    }
    findings
}

fn at_least(limit: u64, needed: u64, words: String, todo: &str) -> Finding {
    if limit >= needed {
        Finding::ok("limits", words)
    } else {
        Finding::new("limits", Level::Warning, format!("{words}; {needed} would be on the safe side"), todo)
    }
}

fn number(host: &Machine, path: &Path) -> Option<u64> {
    String::from_utf8(host.read(path, 64).ok()?).ok()?.trim().parse().ok()
}

/// Tasks that this process's control group may still make, and may have at all; none without a limit.
fn free_tasks(host: &Machine) -> Option<(u64, u64)> {
    let groups = String::from_utf8(host.read(Path::new("/proc/self/cgroup"), 64 * 1024).ok()?).ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let of = |group: &Path| {
        let most = number(host, &group.join("pids.max"))?;
        Some((most.saturating_sub(number(host, &group.join("pids.current"))?), most))
    };
    let group = root.join(own);
    group.ancestors().take_while(|group| *group != root).filter_map(of).min()
}

/// The socket's path.
pub fn socket(context: &Context) -> Finding {
    let socket = context.socket();
    let (path, bytes) = (socket.path().display(), socket.path().as_os_str().len());
    if bytes <= MAX_SOCKET {
        return Finding::ok("socket", format!("tmux: {path}"));
    }
    let words = format!("tmux: {path} is {bytes} bytes long, and {MAX_SOCKET} is the most");
    Finding::new("socket", Level::Problem, words, "choose a shorter one with --tmux-socket")
}
