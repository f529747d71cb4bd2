//! Text of the user's reaches its place byte by byte, through tmux's parser and its formats.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// Text made of what tmux gives a meaning to, and of anything else.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "#",
            "##",
            "#(",
            "#[",
            "#{",
            "}",
            "{",
            "%",
            "%%",
            "%d",
            "%if",
            ";",
            "\\",
            "\\;",
            "'",
            "\"",
            "$HOME",
            "${HOME}",
            "$",
            "~",
            "~root",
            "\n",
            "\r\n",
            "\t",
            " ",
            "=",
            "#,",
            ",",
            ":",
            "!",
            "&",
            "|",
            "`id`",
            "$(id)",
            "*",
            "?",
            "[",
            "]",
            "\\u00e4",
            "\\101",
            "\x1b[31m",
            "\x7f",
            "ü",
            "😀",
            "@",
            "-",
            "--",
            "#{pane_id}",
            "#D",
            "#S",
            "#{l:x}",
        ])
        .prop_map(str::to_owned),
        "[\\x01-\\x7f]{1,3}",
        "\\PC{1,3}",
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn config() -> Config {
    Config { cases: 12, failure_persistence: None, ..Config::default() }
}

/// Opens one pane an argument list, and compares what each process got with what was asked.
fn check_arguments(tmux: &TestTmux, base: usize, lists: &[Vec<String>]) -> Result<(), TestCaseError> {
    let requests: Vec<OpenPane> = lists
        .iter()
        .enumerate()
        .map(|(i, list)| {
            let mut request = request(session(&format!("s{base}-{i}")), &format!("{base}-{i}"));
            request.argv = ["sh", "-c", "read x", "end"].map(str::to_owned).to_vec();
            request.argv.extend(list.iter().cloned());
            request
        })
        .collect();
    let opened = tmux.opened(&requests);
    for (opened, request) in opened.iter().zip(&requests) {
        let key = tmux.machine.table().unwrap().running(opened.pid).unwrap().key;
        let mut seen = None;
        eventually("exec", || {
            seen = tmux.machine.argv(key);
            seen.as_ref().is_some_and(|argv| argv.first().is_some_and(|first| first == "sh"))
        });
        prop_assert_eq!(seen.as_ref(), Some(&request.argv));
    }
    tmux.machine.close(&tmux.socket, &opened.iter().map(|o| o.pane.clone()).collect::<Vec<_>>()).unwrap();
    Ok(())
}

#[test]
fn arguments_arrive_byte_by_byte() {
    let tmux = TestTmux::new();
    let keeper = request(session("keeper"), "keeper");
    tmux.opened(&[keeper]);
    let mut rounds = 0;
    let lists = proptest::collection::vec(proptest::collection::vec(text(), 0..4), 20);
    let mut check = |lists: Vec<Vec<String>>| {
        rounds += 1;
        check_arguments(&tmux, rounds, &lists)
    };
    let counter = std::cell::RefCell::new(&mut check);
    TestRunner::new(config()).run(&lists, |lists| (counter.borrow_mut())(lists)).unwrap();
}

#[test]
fn every_single_byte_arrives_as_an_argument() {
    let tmux = TestTmux::new();
    let lists: Vec<Vec<String>> =
        (1_u8..128).map(char::from).map(|c| vec![c.to_string(), format!("{c}a{c}"), format!("a{c}")]).collect();
    check_arguments(&tmux, 0, &lists).unwrap();
}

/// The pane's process is a fork of tmux for a moment, before it enters its directory.
#[track_caller]
fn in_dir(opened: &Opened, request: &OpenPane) {
    let dir = || fs::read_link(format!("/proc/{}/cwd", opened.pid)).is_ok_and(|dir| dir == request.dir);
    eventually(&format!("in {}", request.dir.display()), dir);
}

#[test]
fn directories_and_window_names_are_literal_in_every_place() {
    let tmux = TestTmux::new();
    let root = fs::canonicalize(tmux.dir.path()).unwrap();
    let names = [
        "#(touch pwned)",
        "#{pane_id}",
        "##",
        "###",
        "#[b",
        "a##[b",
        "###[x",
        "#{l:[}",
        "%d%%",
        "#,x",
        "#}",
        "it's",
        "a;",
        ";",
        "~",
        "#D",
        "#",
        "a\nb",
        "a\tb",
        "$HOME",
        "{a}",
        "\"",
        "\\",
        "#[",
        "##[",
        "####[",
        "[#",
        "#{",
        "-x",
        "ü\u{1f600}",
        "#{@farhelm_id}",
        "#(",
        "b\\;",
        "#S:#W",
        "\u{1}\u{7f}",
    ];
    let user = tmux.opened(&[request(session("keeper"), "keeper")]).remove(0);
    let mut requests = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let dir = root.join(name);
        fs::create_dir(&dir).unwrap();
        for (place, kind) in [(session(&format!("s{i}")), "s"), (Place::NewWindow(user.session.clone()), "w")] {
            let mut request = request(place, &format!("{kind}{i}"));
            request.dir = dir.clone();
            // tmux itself turns control characters of a window's name into text, and puts `\` before `\` and `$`.
            request.window = name.replace(char::is_control, "");
            request.argv = ["sh", "-c", "read x; exit 0"].map(str::to_owned).to_vec();
            requests.push(request);
        }
    }
    let opened = tmux.opened(&requests);
    for (opened, request) in opened.iter().zip(&requests) {
        in_dir(opened, request);
        let window = tmux.tmux(&["display-message", "-p", "-t", &opened.pane.0, "#{window_name}"]);
        assert_eq!(window.replace("\\\\", "\\").replace("\\$", "$"), request.window);
    }
    for opened in &opened {
        tmux.tmux(&["send-keys", "-t", &opened.pane.0, "Enter"]);
    }
    eventually("all dead", || tmux.listed().iter().filter(|pane| pane.end.is_some()).count() == opened.len());
    let mut again = requests.clone();
    for (request, opened) in again.iter_mut().zip(&opened) {
        request.place = Place::Respawn(opened.pane.clone());
        request.stamp.insert("generation".to_owned(), "2".to_owned());
    }
    for (opened, request) in tmux.opened(&again).iter().zip(&again) {
        in_dir(opened, request);
    }
    assert!(!root.join("pwned").exists() && !Path::new("pwned").exists());
}

#[test]
fn a_directory_may_hold_any_byte() {
    use std::os::unix::ffi::OsStrExt;
    let tmux = TestTmux::new();
    let root = fs::canonicalize(tmux.dir.path()).unwrap();
    let bytes: Vec<u8> = (1..=255).filter(|b| *b != b'/').collect();
    let requests: Vec<OpenPane> = bytes
        .chunks(100)
        .enumerate()
        .map(|(i, name)| {
            let mut request = request(session(&format!("s{i}")), &format!("{i}"));
            request.dir = root.join(std::ffi::OsStr::from_bytes(name));
            fs::create_dir(&request.dir).unwrap();
            request
        })
        .collect();
    for (opened, request) in tmux.opened(&requests).iter().zip(&requests) {
        in_dir(opened, request);
    }
}
