//! What comes of a batch of requests.

use super::*;
use crate::host::process::Signalled;

#[test]
fn a_batch_on_a_cold_socket_starts_the_server_and_every_pane() {
    let tmux = TestTmux::new();
    let opened = tmux.opened(&[request(session("one"), "a"), request(session("two"), "b")]);
    let panes = tmux.machine.panes(&tmux.socket).unwrap();
    assert_eq!(panes.panes.len(), 2);
    for (opened, (name, id)) in opened.iter().zip([("one", "a"), ("two", "b")]) {
        let pane = tmux.pane(&opened.pane);
        assert_eq!((pane.session_name.as_str(), &pane.session, pane.pid), (name, &opened.session, opened.pid));
        assert_eq!(pane.stamp, stamp(&[("id", id), ("generation", "1")]));
        assert_eq!((opened.server, pane.end), (panes.server, None));
    }
    assert_eq!(tmux.tmux(&["display-message", "-p", "-t", "=one:", "#{window_width}x#{window_height}"]), "200x50");
    assert_eq!(tmux.tmux(&["list-windows", "-a", "-F", "#{window_name}"]), "agent\nagent");
}

#[test]
fn the_command_runs_without_a_shell_in_its_directory() {
    let tmux = TestTmux::new();
    let mut plain = request(session("one"), "a");
    plain.dir = fs::canonicalize(tmux.dir.path()).unwrap();
    let mut single = request(session("two"), "b");
    let program = tmux.dir.path().join("a program; with $x 'quotes'");
    fs::write(&program, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    single.argv = vec![program.to_str().unwrap().to_owned()];
    let opened = tmux.opened(&[plain.clone(), single]);
    let argv = |pid: Pid| {
        let key = tmux.machine.table().unwrap().running(pid)?.key;
        tmux.machine.argv(key)
    };
    eventually("exec", || argv(opened[0].pid).is_some_and(|argv| argv == ["sleep", "1000"]));
    eventually("exec", || argv(opened[1].pid).is_some_and(|argv| argv == ["sleep", "1000"]));
    assert_eq!(fs::read_link(format!("/proc/{}/cwd", opened[0].pid)).unwrap(), plain.dir);
}

#[test]
fn a_duplicate_session_is_refused_with_tmuxs_words_and_the_rest_goes_on() {
    let tmux = TestTmux::new();
    let first = tmux.opened(&[request(session("one"), "a")]);
    let results = tmux
        .machine
        .open(
            &tmux.socket,
            &[
                request(session("two"), "b"),
                request(session("one"), "c"),
                request(Place::NewWindow(TmuxSession("$77".to_owned())), "d"),
                request(Place::NewWindow(first[0].session.clone()), "e"),
                request(Place::Respawn(first[0].pane.clone()), "f"),
            ],
        )
        .unwrap();
    let words: Vec<Option<String>> = results.iter().map(|r| r.as_ref().err().map(ToString::to_string)).collect();
    assert_eq!(words[0], None);
    assert_eq!(words[1].as_deref(), Some("tmux failed: duplicate session: one"));
    assert_eq!(words[2].as_deref(), Some("tmux failed: can't find session: $77"));
    assert_eq!(words[3], None);
    assert!(words[4].as_deref().unwrap().contains("still active"), "{words:?}");
    let mut ids: Vec<String> = tmux.listed().iter().map(|pane| pane.stamp["id"].clone()).collect();
    ids.sort();
    assert_eq!(ids, ["a", "b", "e"], "a failed request marks nothing");
}

#[test]
fn nothing_of_the_users_is_marked_even_from_inside_their_pane() {
    let tmux = TestTmux::new();
    tmux.tmux(&["new-session", "-d", "-s", "user", "-n", "work", "sleep 1000"]);
    let panes = tmux.machine.panes(&tmux.socket).unwrap();
    let user = panes.panes[0].clone();
    let mut inside = TestTmux { machine: machine(), socket: tmux.socket.clone(), dir: tempfile::tempdir().unwrap() };
    inside.machine.environment.set("TMUX", format!("{},{},0", tmux.socket, panes.server));
    inside.machine.environment.set("TMUX_PANE", user.id.0.clone());
    let requests = [
        request(session("user"), "x"),
        request(Place::NewWindow(TmuxSession("$88".to_owned())), "x"),
        request(Place::Respawn(PaneId("%88".to_owned())), "x"),
        request(session("one"), "a"),
        request(Place::NewWindow(user.session.clone()), "b"),
        request(session("one"), "x"),
    ];
    let results = inside.machine.open(&tmux.socket, &requests).unwrap();
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, false, false, true, true, false]);
    assert_eq!(tmux.pane(&user.id).stamp, StampText::new());
    let ids: Vec<_> = tmux.listed().iter().filter_map(|pane| pane.stamp.get("id").cloned()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(tmux.tmux(&["show-options", "-g", "-v", "destroy-unattached"]), "off");
    assert_eq!(tmux.tmux(&["list-windows", "-t", "=user:", "-F", "#{window_name}"]), "work\nagent");
    assert_eq!(tmux.tmux(&["display-message", "-p", "-t", "=user:", "#{window_name}"]), "work", "the view stays");
}

#[test]
fn a_dead_pane_is_respawned_with_the_new_stamp() {
    let tmux = TestTmux::new();
    let mut ends = request(session("one"), "a");
    ends.argv = ["sh", "-c", "echo first; exit 3"].map(str::to_owned).to_vec();
    let first = &tmux.opened(&[ends])[0];
    eventually("dead", || tmux.pane(&first.pane).end.is_some_and(|end| end.status == Some(3)));
    let mut again = request(Place::Respawn(first.pane.clone()), "a");
    again.stamp = stamp(&[("id", "a"), ("generation", "2")]);
    let second = &tmux.opened(&[again])[0];
    let pane = tmux.pane(&first.pane);
    assert_eq!((pane.end, &pane.stamp["generation"]), (None, &"2".to_owned()));
    assert_eq!((second.pane.clone(), second.pid), (first.pane.clone(), pane.pid));
    assert_ne!(first.pid, second.pid);
}

#[test]
fn a_process_that_ends_at_once_leaves_a_marked_dead_pane() {
    let tmux = TestTmux::new();
    let mut requests: Vec<OpenPane> = (0..20).map(|i| request(session(&format!("s{i}")), &format!("{i}"))).collect();
    for request in &mut requests {
        request.argv = ["/nonexistent/program", "x"].map(str::to_owned).to_vec();
    }
    tmux.opened(&requests);
    eventually("all dead", || tmux.listed().iter().filter(|pane| pane.end.is_some()).count() == 20);
    assert!(tmux.listed().iter().all(|pane| pane.stamp.contains_key("id")));
}

#[test]
fn sessions_outlive_a_configuration_that_destroys_unattached_ones() {
    let tmux = TestTmux::new();
    fs::write(tmux.dir.path().join(".tmux.conf"), "set -g destroy-unattached on\nset -g base-index 5\n").unwrap();
    tmux.opened(&[request(session("one"), "a"), request(session("two"), "b")]);
    assert_eq!(tmux.listed().len(), 2);
}

#[test]
fn what_cannot_be_passed_on_literally_is_refused_before_tmux_sees_it() {
    let tmux = TestTmux::new();
    let good = request(session("good"), "a");
    let bad = [
        OpenPane { argv: Vec::new(), ..good.clone() },
        OpenPane { argv: vec![String::new(), "x".to_owned()], ..good.clone() },
        OpenPane { argv: vec!["a\0b".to_owned(), "x".to_owned()], ..good.clone() },
        OpenPane { dir: "relative".into(), ..good.clone() },
        OpenPane { place: session("#(touch x)"), ..good.clone() },
        OpenPane { place: Place::Respawn(PaneId("=x".to_owned())), ..good.clone() },
        OpenPane { stamp: stamp(&[("id", "a|b")]), ..good.clone() },
    ];
    let results = tmux.machine.open(&tmux.socket, &bad).unwrap();
    assert!(results.iter().all(Result::is_err), "{results:?}");
    assert!(matches!(tmux.machine.panes(&tmux.socket), Err(TmuxError::NoServer(_))));
}

#[test]
fn the_server_does_not_inherit_the_callers_identity() {
    let tmux = TestTmux::new();
    let opened = &tmux.opened(&[request(session("one"), "a")])[0];
    let environ = fs::read(format!("/proc/{}/environ", opened.pid)).unwrap();
    let names: Vec<String> = environ
        .split(|b| *b == 0)
        .map(|entry| String::from_utf8_lossy(entry).split('=').next().unwrap_or_default().to_owned())
        .collect();
    assert!(names.iter().any(|name| name == "PATH"));
    assert!(!names.iter().any(|name| name.starts_with("CARGO") || name.starts_with("FARHELM")), "{names:?}");
}

#[test]
fn a_server_that_is_just_ending_is_waited_for() {
    let tmux = TestTmux::new();
    for round in 0..5 {
        let requests: Vec<OpenPane> = (0..20).map(|i| request(session(&format!("s{i}")), &format!("{i}"))).collect();
        tmux.opened(&requests);
        let pids: Vec<_> = tmux.listed().iter().map(|pane| pane.pid).collect();
        tmux.tmux(&["kill-server"]);
        let again = tmux.opened(&[request(session("again"), &format!("again{round}"))]);
        assert!(!pids.contains(&again[0].pid));
        tmux.end();
    }
}

#[test]
fn a_server_killed_during_a_batch_is_an_outer_error_or_a_whole_answer() {
    let tmux = TestTmux::new();
    let opened = &tmux.opened(&[request(session("one"), "a")])[0];
    let server = tmux.machine.table().unwrap().running(opened.server).unwrap().key;
    let requests: Vec<OpenPane> = (0..200).map(|i| request(session(&format!("s{i}")), &format!("{i}"))).collect();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while tmux.machine.panes(&tmux.socket).is_ok_and(|panes| panes.panes.len() < 20) {}
            assert_ne!(tmux.machine.signal(server, Signal::Kill), Signalled::Refused(String::new()));
        });
        tmux.machine.open(&tmux.socket, &requests)
    });
    if let Ok(results) = &result {
        assert!(results.iter().all(Result::is_ok));
    }
}

#[test]
fn several_openers_of_a_cold_socket_share_one_server() {
    let tmux = TestTmux::new();
    let servers: std::collections::BTreeSet<Pid> = std::thread::scope(|scope| {
        let open = |i: usize| tmux.opened(&[request(session(&format!("s{i}")), &format!("{i}"))])[0].server;
        let threads: Vec<_> = (0..6).map(|i| scope.spawn(move || open(i))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!((servers.len(), tmux.listed().len()), (1, 6));
}

#[test]
fn what_a_pane_showed_is_told_when_it_is_used_again_and_passes_for_nothing_else() {
    let tmux = TestTmux::new();
    let mut first = request(session("one"), "a");
    let forged = "echo farhelm-made 0 %99; echo farhelm-showed 0 1; echo 'the last words'";
    first.argv = ["sh", "-c", forged].map(str::to_owned).to_vec();
    let one = tmux.opened(&[first])[0].clone();
    eventually("it ended", || tmux.pane(&one.pane).end.is_some());
    assert_eq!(one.showed, None);
    let again = tmux.opened(&[request(Place::Respawn(one.pane.clone()), "a")])[0].clone();
    assert_eq!(again.pane, one.pane);
    let showed = again.showed.expect("it is told");
    assert!(showed.starts_with("farhelm-made 0 %99\nfarhelm-showed 0 1\nthe last words"), "{showed}");
}
