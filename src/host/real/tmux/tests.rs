use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;
use crate::host::process::{Pid, Processes, Signal};
use crate::host::real::testing::{TestTmux, eventually, machine};
use crate::host::tmux::Place;

mod literal;
mod opening;

fn stamp(pairs: &[(&str, &str)]) -> StampText {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn request(place: Place, id: &str) -> OpenPane {
    OpenPane {
        place,
        window: "agent".to_owned(),
        dir: PathBuf::from("/"),
        argv: ["sleep", "1000"].map(str::to_owned).to_vec(),
        stamp: stamp(&[("id", id), ("generation", "1")]),
    }
}

fn session(name: &str) -> Place {
    Place::NewSession(name.to_owned())
}

impl TestTmux {
    /// Opens requests that must all succeed.
    #[track_caller]
    fn opened(&self, requests: &[OpenPane]) -> Vec<Opened> {
        let results = self.machine.open(&self.socket, requests).unwrap();
        results.into_iter().map(|result| result.unwrap()).collect()
    }

    #[track_caller]
    fn listed(&self) -> Vec<Pane> {
        self.machine.panes(&self.socket).unwrap().panes
    }

    #[track_caller]
    fn pane(&self, id: &PaneId) -> Pane {
        self.listed().into_iter().find(|pane| pane.id == *id).expect("listed")
    }
}

#[test]
fn names_and_paths_become_sockets_as_tmux_resolves_them() {
    let dir = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(dir.path()).unwrap();
    let env = |name: &str| (name == "TMUX_TMPDIR").then(|| dir.path().into());
    let uid = rustix::process::getuid().as_raw();
    assert_eq!(socket("farhelm", env).0, real.join(format!("tmux-{uid}/farhelm")));
    assert_eq!(socket("farhelm", |_| None).0, PathBuf::from(format!("/tmp/tmux-{uid}/farhelm")));
    assert_eq!(socket("farhelm", |_| Some("/nonexistent".into())).0, PathBuf::from(format!("/tmp/tmux-{uid}/farhelm")));
    assert_eq!(socket("/a/b", env).0, PathBuf::from("/a/b"));
    assert_eq!(socket("./b", env).0, std::env::current_dir().unwrap().join("b"));
}

#[test]
fn a_named_socket_is_the_one_tmux_itself_uses() {
    let tmux = TestTmux::new();
    let named = socket("named", |_| Some(tmux.dir.path().into()));
    let mut by_name = TestTmux::new();
    by_name.socket = named;
    by_name.opened(&[request(session("s"), "a")]);
    let output = std::process::Command::new("tmux")
        .args(["-L", "named", "list-panes", "-a", "-F", "#{@farhelm_id}"])
        .env("TMUX_TMPDIR", tmux.dir.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\n");
}

#[test]
fn an_open_directory_of_sockets_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let socket = socket("x", |_| Some(dir.path().into()));
    fs::create_dir(socket.path().parent().unwrap()).unwrap();
    fs::set_permissions(socket.path().parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(machine().panes(&socket), Err(TmuxError::NotUsable(_))));
}

#[test]
fn no_socket_and_a_deserted_socket_both_mean_no_server() {
    let tmux = TestTmux::new();
    assert_eq!(tmux.machine.panes(&tmux.socket), Err(TmuxError::NoServer(tmux.socket.clone())));
    drop(std::os::unix::net::UnixListener::bind(tmux.socket.path()).unwrap());
    assert_eq!(tmux.machine.panes(&tmux.socket), Err(TmuxError::NoServer(tmux.socket.clone())));
}

#[test]
fn a_server_that_does_not_answer_is_a_timeout() {
    let mut tmux = TestTmux::new();
    let opened = &tmux.opened(&[request(session("s"), "a")])[0];
    let table = tmux.machine.table().unwrap();
    let server = table.running(opened.server).unwrap().key;
    assert_eq!(tmux.machine.signal(server, Signal::Stop), crate::host::process::Signalled::Sent);
    tmux.machine.tmux = Program::new(None, Duration::from_millis(200));
    let begun = Instant::now();
    let answer = tmux.machine.panes(&tmux.socket);
    tmux.machine.signal(server, Signal::Cont);
    assert_eq!(answer, Err(TmuxError::Timeout(Duration::from_millis(200))));
    assert!(begun.elapsed() < Duration::from_secs(10));
    tmux.machine.tmux = Program::new(None, Duration::from_secs(20));
}

#[test]
fn a_missing_program_and_an_old_one_say_what_to_do() {
    let tmux = TestTmux::new();
    let with = |path: &Path| {
        let mut machine = machine();
        machine.tmux = Program::new(Some(path.to_owned()), Duration::from_secs(20));
        machine.open(&tmux.socket, &[request(session("s"), "a")]).unwrap_err().to_string()
    };
    assert_eq!(with(Path::new("/nonexistent/tmux")), "`/nonexistent/tmux` was not found; install tmux 3.2 or newer");
    let program = tmux.dir.path().join("tmux");
    fs::write(&program, "#!/bin/sh\n. \"${0%/*}/says\"\n").unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let says = |script: &str| {
        fs::write(tmux.dir.path().join("says"), script).unwrap();
        with(&program).replace(&program.display().to_string(), "tmux")
    };
    assert_eq!(says("echo tmux 2.9a"), "`tmux` says it is `tmux 2.9a`; tmux 3.2 or newer is needed");
    assert_eq!(says(":"), "`tmux` does not say its version; tmux 3.2 or newer is needed");
    assert_eq!(
        says("echo no such library >&2; exit 3"),
        "`tmux` fails when asked for its version (exit status: 3) no such library; tmux 3.2 or newer is needed"
    );
}

#[test]
fn an_empty_server_has_no_panes_and_still_a_process() {
    let tmux = TestTmux::new();
    fs::write(tmux.dir.path().join(".tmux.conf"), "set -g exit-empty off\n").unwrap();
    let server: Pid = tmux.tmux(&["start-server", ";", "display-message", "-p", "#{pid}"]).parse().unwrap();
    assert_eq!(tmux.machine.panes(&tmux.socket), Ok(Panes { server, panes: Vec::new() }));
    let _ = tmux.client().arg("kill-server").output();
}

#[test]
fn panes_report_their_end() {
    let tmux = TestTmux::new();
    let mut exits = request(session("exits"), "a");
    exits.argv = ["sh", "-c", "exit 7"].map(str::to_owned).to_vec();
    let mut dies = request(session("dies"), "b");
    dies.argv = ["sh", "-c", "kill -KILL $$"].map(str::to_owned).to_vec();
    let opened = tmux.opened(&[exits, dies]);
    let end = |index: usize| tmux.pane(&opened[index].pane).end;
    eventually("exit status", || end(0).is_some_and(|end| end.status == Some(7) && end.signal.is_none()));
    eventually("signal", || end(1).is_some_and(|end| end.status.is_none() && end.signal == Some(9)));
    let now = crate::host::clock::Clock::now(&tmux.machine).wall_ms / 1000;
    assert!((now - end(0).unwrap().at.unwrap()).abs() < 60);
}

#[test]
fn ends_that_tmux_has_missed_are_told_all_the_same() {
    let tmux = TestTmux::new();
    let mut requests: Vec<OpenPane> = (0..60).map(|i| request(session(&format!("s{i}")), &format!("{i}"))).collect();
    for request in &mut requests {
        request.argv = ["sh", "-c", "exit 7"].map(str::to_owned).to_vec();
    }
    tmux.opened(&requests);
    eventually("all ends", || tmux.listed().iter().all(|pane| pane.end.is_some_and(|end| end.status == Some(7))));
}

#[test]
fn windows_linked_twice_and_strange_names_are_listed_once() {
    let tmux = TestTmux::new();
    tmux.opened(&[request(session("one"), "a")]);
    tmux.tmux(&["new-session", "-d", "-s", "zwei|drei vier ü", "-t", "=one"]);
    tmux.tmux(&["new-session", "-d", "-s", "a|b=c #[x] ü"]);
    let mut names: Vec<String> = tmux.listed().into_iter().map(|pane| pane.session_name).collect();
    names.sort();
    assert_eq!(names, ["a|b=c #[x] ü", "one"]);
}

#[test]
fn an_option_set_by_hand_to_nonsense_fails_the_listing_and_names_the_way_out() {
    let tmux = TestTmux::new();
    let opened = &tmux.opened(&[request(session("one"), "a")])[0];
    tmux.tmux(&["set-option", "-p", "-t", &opened.pane.0, "@farhelm_id", "x\ny|z"]);
    let error = tmux.machine.panes(&tmux.socket).unwrap_err().to_string();
    assert!(error.contains("@farhelm_ options set by hand"), "{error}");
}

#[test]
fn stamps_are_set_changed_and_emptied() {
    let tmux = TestTmux::new();
    let opened = tmux.opened(&[request(session("one"), "a"), request(session("two"), "b")]);
    let first = [("id", "a"), ("generation", "1"), ("conversation", "c-1")];
    let second = stamp(&[("id", "b"), ("generation", "2")]);
    let guarded = [first.as_slice(), &[("protect", "1")]].concat();
    let stamps = [(opened[0].pane.clone(), stamp(&guarded)), (opened[1].pane.clone(), second.clone())];
    tmux.machine.stamp(&tmux.socket, &stamps).unwrap();
    assert_eq!(tmux.pane(&opened[0].pane).stamp, stamp(&guarded));
    let freed = [first.as_slice(), &[("protect", "")]].concat();
    tmux.machine.stamp(&tmux.socket, &[(opened[0].pane.clone(), stamp(&freed))]).unwrap();
    assert_eq!(tmux.pane(&opened[0].pane).stamp, stamp(&first));
    assert_eq!(tmux.pane(&opened[1].pane).stamp, second);
}

#[test]
fn stamping_a_missing_pane_fails_and_stamps_the_others() {
    let tmux = TestTmux::new();
    let opened = &tmux.opened(&[request(session("one"), "a")])[0];
    let new = stamp(&[("generation", "9")]);
    let stamps = [(PaneId("%77".to_owned()), new.clone()), (opened.pane.clone(), new)];
    let error = tmux.machine.stamp(&tmux.socket, &stamps).unwrap_err();
    assert_eq!(error, TmuxError::Failed("no such pane: %77".to_owned()));
    assert_eq!(tmux.listed().len(), 1);
    assert_eq!(tmux.pane(&opened.pane).stamp["generation"], "9");
}

#[test]
fn closing_takes_exactly_those_panes_and_misses_none() {
    let tmux = TestTmux::new();
    let opened = tmux.opened(&[request(session("one"), "a"), request(session("two"), "b"), request(session("x"), "c")]);
    let close = [opened[0].pane.clone(), PaneId("%77".to_owned()), opened[2].pane.clone()];
    tmux.machine.close(&tmux.socket, &close).unwrap();
    tmux.machine.close(&tmux.socket, &close).unwrap();
    let left: Vec<PaneId> = tmux.listed().into_iter().map(|pane| pane.id).collect();
    assert_eq!(left, [opened[1].pane.clone()]);
}

#[test]
fn closing_the_last_pane_ends_the_server_without_an_error() {
    let tmux = TestTmux::new();
    let opened = &tmux.opened(&[request(session("one"), "a")])[0];
    let server = tmux.machine.table().unwrap().running(opened.server).unwrap().key;
    tmux.machine.close(&tmux.socket, std::slice::from_ref(&opened.pane)).unwrap();
    assert!(tmux.machine.wait_gone(&[server].into(), Duration::from_secs(20)).is_empty());
}

#[test]
fn captured_text_is_the_last_lines_without_the_empty_rest_of_the_screen() {
    let tmux = TestTmux::new();
    let mut prints = request(session("one"), "a");
    prints.argv =
        ["sh", "-c", "seq 300; printf '\\033[31mred\\033[0m \\n'; exec sleep 1000"].map(str::to_owned).to_vec();
    let opened = &tmux.opened(&[prints])[0];
    eventually("text", || {
        let text = tmux.machine.capture(&tmux.socket, &opened.pane, 3).unwrap();
        text == "299\n300\nred"
    });
    let long = tmux.machine.capture(&tmux.socket, &opened.pane, 200).unwrap();
    assert_eq!(long.lines().next(), Some("102"));
    assert!(tmux.machine.capture(&tmux.socket, &PaneId("%77".to_owned()), 3).is_err());
}

#[test]
fn captured_text_is_bounded() {
    let text = format!("{}\nlast\n\n", "x".repeat(200).as_str().to_owned() + "\n" + &"y\n".repeat(100_000));
    let kept = last_lines(&text, u32::MAX);
    assert!(kept.len() <= CAPTURE_LIMIT && kept.ends_with("y\n\nlast"), "{}", kept.len());
    assert_eq!(last_lines("a\x1b[31m\x07\u{9b}b\n", 5), "a[31mb");
}

#[test]
fn a_session_is_renamed_by_its_id() {
    let tmux = TestTmux::new();
    let opened = &tmux.opened(&[request(session("old"), "a")])[0];
    tmux.machine.rename(&tmux.socket, &opened.session, "new_name").unwrap();
    assert_eq!(tmux.pane(&opened.pane).session_name, "new_name");
    assert!(tmux.machine.rename(&tmux.socket, &opened.session, "#(x)").is_err());
    assert!(tmux.machine.rename(&tmux.socket, &TmuxSession("$77".to_owned()), "x").is_err());
}
