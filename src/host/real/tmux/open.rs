//! Starting processes in panes.
//!
//! A new pane's id is not known on the line that makes it, and no default target is safe: after `new-session -d` or
//! `new-window -d`, and inside a pane, tmux 3.3a takes a pane of the user's. So a new session's only pane is found by the
//! session's name, which was free or the line had ended; and a new window is born under a name nobody else has, is found
//! by it for the rest of the line, and gets its real name last.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::super::command::Output;
use super::super::{Machine, clock};
use super::script::{Script, check_name, check_pane, check_session, check_stamp, literal_format};
use super::told::{self, Told};
use super::{complaints, failure};
use crate::host::scope::{ScopeSupport, Scopes};
use crate::host::tmux::{OpenPane, Opened, PaneId, Panes, Place, Socket, Tmux, TmuxError};

/// How long a server that is going away on the same socket is waited for.
const OLD_SERVER: Duration = Duration::from_secs(5);

/// What tmux says when the server it spoke to goes away.
pub(super) const EXITED: [&str; 3] = ["server exited unexpectedly", "lost server", "server exited"];

/// [`Tmux::open`].
pub(super) fn open(
    machine: &Machine,
    socket: &Socket,
    requests: &[OpenPane],
) -> Result<Vec<Result<Opened, TmuxError>>, TmuxError> {
    machine.usable()?;
    let refused: Vec<Option<String>> = requests.iter().map(|request| check(request).err()).collect();
    let valid = || (0..requests.len()).filter(|index| refused[*index].is_none());
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let nonces: BTreeMap<usize, String> = valid().map(|index| (index, format!("{nonce}-{index}"))).collect();
    let mut script = Script::default();
    for (index, nonce) in &nonces {
        request_line(&mut script, &requests[*index], *index, nonce);
    }
    let (told, output) = if script.is_empty() { Default::default() } else { run(machine, socket, &script, &nonces)? };
    let Told { mut made, mut showed } = told;
    let listed = if made.is_empty() { None } else { Some(machine.panes(socket)?) };
    let mut opened = BTreeMap::new();
    if let Some(listed) = &listed {
        opened.extend(valid().filter_map(|index| {
            let opened = read_back(listed, made.get(&index)?, &requests[index])?;
            Some((index, Opened { showed: showed.remove(&index), ..opened }))
        }));
        made.retain(|index, _| !opened.contains_key(index) && !matches!(requests[*index].place, Place::Respawn(_)));
        // What was made and is not marked as ours would be nobody's.
        machine.close(socket, &made.into_values().collect::<Vec<_>>())?;
    }
    let missing = valid().filter(|index| !opened.contains_key(index)).count();
    let mut reasons = reasons(output.as_ref(), missing).into_iter();
    Ok(refused
        .into_iter()
        .enumerate()
        .map(|(index, refused)| match (refused, opened.remove(&index)) {
            (Some(why), _) => Err(TmuxError::Failed(why)),
            (None, Some(opened)) => Ok(opened),
            (None, None) => Err(TmuxError::Failed(reasons.next().unwrap_or_else(|| "it does not say why".to_owned()))),
        })
        .collect())
}

/// What tmux would not take literally, or not at all.
fn check(request: &OpenPane) -> Result<(), String> {
    match &request.place {
        Place::NewSession(name) => check_name(name)?,
        Place::NewWindow(session) => check_session(session)?,
        Place::Respawn(pane) => check_pane(pane)?,
    }
    check_stamp(&request.stamp)?;
    if request.argv.first().is_none_or(String::is_empty) {
        return Err("there is no command to run".to_owned());
    }
    if !request.dir.is_absolute() {
        return Err(format!("`{}` is not an absolute directory", request.dir.display()));
    }
    let texts = request.argv.iter().map(String::as_bytes);
    if texts.chain([request.window.as_bytes(), request.dir.as_os_str().as_bytes()]).any(|text| text.contains(&0)) {
        return Err("a NUL byte cannot be passed on".to_owned());
    }
    Ok(())
}

fn request_line(script: &mut Script, request: &OpenPane, index: usize, nonce: &str) {
    let dir = literal_format(request.dir.as_os_str().as_bytes());
    let window = literal_format(request.window.as_bytes());
    let made = told::made(index);
    let target = match &request.place {
        Place::NewSession(name) => {
            let words: [&[u8]; 15] = [
                b"new-session",
                b"-d",
                b"-P",
                b"-F",
                made.as_bytes(),
                b"-s",
                name.as_bytes(),
                b"-x",
                b"200",
                b"-y",
                b"50",
                b"-n",
                &window,
                b"-c",
                &dir,
            ];
            script.command(words.into_iter().chain(command(&request.argv)));
            let session = format!("={name}:");
            // Off unless the user's tmux.conf says otherwise; asking costs the server nothing, setting does.
            let off = format!("set-option -t {session} destroy-unattached off");
            script.command(["if-shell", "-F", "-t", &session, "#{destroy-unattached}", &off]);
            session
        }
        Place::NewWindow(session) => {
            let target = format!("{session}:");
            let words: [&[u8]; 10] = [
                b"new-window",
                b"-d",
                b"-P",
                b"-F",
                made.as_bytes(),
                b"-t",
                target.as_bytes(),
                b"-n",
                nonce.as_bytes(),
                b"-c",
            ];
            script.command(words.into_iter().chain([dir.as_slice()]).chain(command(&request.argv)));
            format!("{target}={nonce}")
        }
        Place::Respawn(pane) => {
            // First, since it ends the line where there is no such pane.
            remain(script, &pane.0);
            told::show(script, pane, index, nonce);
            let words: [&[u8]; 5] = [b"respawn-pane", b"-t", pane.0.as_bytes(), b"-c", &dir];
            script.command(words.into_iter().chain(command(&request.argv)));
            pane.0.clone()
        }
    };
    if matches!(request.place, Place::Respawn(_)) {
        script.command(["display-message", "-p", "-t", &target, &made]);
    } else {
        remain(script, &target);
    }
    script.stamp(&target, &request.stamp);
    if !matches!(request.place, Place::NewSession(_)) {
        let words: [&[u8]; 5] = [b"rename-window", b"-t", target.as_bytes(), b"--", &window];
        script.command(words);
    }
    script.end_line();
}

fn remain(script: &mut Script, target: &str) {
    script.command(["set-option", "-p", "-t", target, "remain-on-exit", "on"]);
}

/// The command's words. tmux hands a single one to a shell; several it executes as they are.
fn command(argv: &[String]) -> impl Iterator<Item = &[u8]> {
    let prefix: &[&[u8]] = if argv.len() == 1 { &[b"--", b"/bin/sh", b"-c", b"exec \"$0\""] } else { &[b"--"] };
    prefix.iter().copied().chain(argv.iter().map(String::as_bytes))
}

/// Runs the script, on a new server where there is none.
fn run(
    machine: &Machine,
    socket: &Socket,
    script: &Script,
    nonces: &BTreeMap<usize, String>,
) -> Result<(Told, Option<Output>), TmuxError> {
    let limit = Instant::now() + OLD_SERVER;
    loop {
        let output = match machine.call(socket, &["source-file", "-"], Some(script)) {
            Err(TmuxError::NoServer(_)) => start(machine, socket, script)?,
            other => other?,
        };
        let told = told::read(&output, nonces);
        if !complaints(&output).iter().any(|line| EXITED.contains(&line.as_str())) {
            return Ok((told, Some(output)));
        }
        if !told.made.is_empty() {
            return Err(TmuxError::Failed("its server ended while panes were being opened".to_owned()));
        }
        // A server that was told to end answers like this until it has; nothing was run.
        if Instant::now() > limit {
            return Err(failure(&output));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Starts a server with the script, in a scope of its own where there are scopes, so that it outlives the scope that
/// farhelm may be run in.
fn start(machine: &Machine, socket: &Socket, script: &Script) -> Result<Output, TmuxError> {
    if let Some(dir) = socket.path().parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|error| TmuxError::Failed(format!("cannot make {}: {error}", dir.display())))?;
    }
    let mut argv = machine.tmux_argv(socket);
    argv.extend(["start-server", ";", "source-file", "-"].map(OsString::from));
    if let ScopeSupport::Usable { runner } = machine.support() {
        let mut scoped: Vec<OsString> = runner.into_iter().map(OsString::from).collect();
        scoped.extend([format!("--unit={}", scope(socket)).into(), "--".into()]);
        scoped.extend(argv.iter().cloned());
        let output = machine.call_argv(socket, &scoped, Some(script))?;
        if output.status.success() || !output.stdout.is_empty() {
            return Ok(output);
        }
    }
    machine.call_argv(socket, &argv, Some(script))
}

/// A name no earlier server's scope has: what a server left running keeps its scope, and so its name, in use.
fn scope(socket: &Socket) -> String {
    let mut digest = Sha256::new();
    digest.update(socket.path().as_os_str().as_bytes());
    digest.update(clock::now().boot_ms.to_le_bytes());
    let digest = digest.finalize();
    let hash = digest.iter().take(8).fold(0_u64, |hash, byte| hash << 8 | u64::from(*byte));
    format!("farhelm-tmux-{hash:016x}.scope")
}

/// The pane as listed, when it carries the request's stamp.
fn read_back(listed: &Panes, id: &PaneId, request: &OpenPane) -> Option<Opened> {
    let pane = listed.panes.iter().find(|pane| pane.id == *id)?;
    let marked = request.stamp.iter().all(|(name, value)| value.is_empty() || pane.stamp.get(name) == Some(value));
    marked.then(|| Opened {
        pane: pane.id.clone(),
        session: pane.session.clone(),
        pid: pane.pid,
        server: listed.server,
        showed: None,
    })
}

/// Why the `missing` requests failed, in their order: each complains once when all goes as it should, otherwise each gets
/// all that was said.
fn reasons(output: Option<&Output>, missing: usize) -> Vec<String> {
    let said = output.map(complaints).unwrap_or_default();
    if said.is_empty() || said.len() == missing { said } else { vec![said.join("; "); missing] }
}
