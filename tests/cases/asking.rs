//! What agents ask for (`spawn`, `whoami`, `dismiss`), and what is asked of a resident `watch`: the same with and without
//! one.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::fleet::{Fleet, Start, agent};
use crate::support::process;
use crate::support::ran::{Ran, Running};
use crate::support::wait::wait_until;
use crate::support::watching::Watching;

const TOP: &str = "policy: {spawn: {allow: [helper], max_children: 2}, launch: {stagger: 1ms}}
kinds: {asked: {about: it takes a prompt, executables: [fake-agent], prompt: positional}}
profiles: {helper: {kind: asked, invocation: '@AGENT@ --record @RECORDS@/helper'}}";

/// A fleet with one session that may ask, and one more.
fn fleet() -> Fleet {
    let fleet = Fleet::new();
    fleet.agents_under(TOP, [agent("boss"), agent("other")]);
    fleet
}

/// Runs farhelm as the agent of a session would.
fn inside(fleet: &Fleet, start: &Start, arguments: &[&str]) -> Ran {
    let mut command = fleet.command(arguments);
    let own = start.environment.iter().filter(|(name, _)| name.starts_with("FARHELM_"));
    command.envs(own).current_dir(&start.cwd);
    // A session knows these only by what it was given.
    command.env_remove("FARHELM_STATE_DIR").env_remove("FARHELM_TMUX_SOCKET");
    Running::start(command).wait()
}

fn spawn(fleet: &Fleet, start: &Start, more: &[&str]) -> Ran {
    inside(fleet, start, &[&["spawn", "--profile", "helper", "--dir", "."], more].concat())
}

/// The same request, limits, identity and end, whoever does it.
fn asks(fleet: &Fleet) {
    let boss = fleet.started("boss", 1);
    let keyed = ["--prompt", "look around", "--idempotency-key", "k1"];
    spawn(fleet, &boss, &keyed).ok().says("boss-helper-1");
    let child = fleet.started("helper", 1);
    assert_eq!(child.argv.last().map(String::as_str), Some("look around"));
    assert_eq!(child.cwd, boss.cwd);
    // Asked for twice, it is there once.
    spawn(fleet, &boss, &keyed).ok().says("boss-helper-1");
    spawn(fleet, &boss, &["--prompt", "another thing", "--idempotency-key", "k1"])
        .code(1)
        .mentions("the key `k1` was used for another request");
    // The other one's token is not this one's.
    let mut thief = fleet.started("other", 1);
    thief.environment.insert("FARHELM_SESSION_ID".to_owned(), boss.environment["FARHELM_SESSION_ID"].clone());
    spawn(fleet, &thief, &[]).code(1).mentions("the token is not that of the session");
    inside(fleet, &boss, &["spawn", "--profile", "boss"]).code(1).mentions("does not allow the profile `boss`");
    // Children of children are not allowed here, and two is the most.
    spawn(fleet, &child, &[]).code(1).mentions("max_depth");
    spawn(fleet, &boss, &["--name", "second"]).ok().says("second");
    fleet.started("helper", 2);
    spawn(fleet, &boss, &[]).code(1).mentions("max_children");
    let who = inside(fleet, &boss, &["whoami", "--json"]).ok().json();
    assert_eq!(who["children"], serde_json::json!(["boss-helper-1", "second"]));
    assert_eq!((&who["session"], &who["room"]), (&Value::from("boss"), &Value::from(0)));
    inside(fleet, &child, &["whoami"]).ok().mentions("parent   boss");
    let status = fleet.farhelm(["status", "--json"]).ok().json();
    let sessions = status["sessions"].as_array().expect("a list");
    assert!(sessions.iter().any(|one| one["name"] == "second" && one["parent"] == "boss"), "{status}");
    fleet.farhelm(["status"]).ok().mentions("boss asked for it");
    fleet.is_settled();
    // What is no longer wanted ends, and makes room.
    inside(fleet, &boss, &["dismiss", "other"]).code(1).mentions("has no child `other`");
    inside(fleet, &boss, &["dismiss", "second"]).ok();
    wait_until("it is gone", || !fleet.status().has("second"));
    spawn(fleet, &boss, &[]).ok();
    fleet.started("helper", 3);
}

#[test]
fn agents_get_what_the_policy_allows_without_a_watch() {
    let fleet = fleet();
    fleet.apply();
    asks(&fleet);
    fleet.down();
}

#[test]
fn agents_get_what_the_policy_allows_from_a_watch() {
    let fleet = fleet();
    let watching = Watching::start(&fleet);
    asks(&fleet);
    // Who asked is in the log: what a process says of itself is one thing, what the kernel says another.
    let told = fleet.farhelm(["events"]).ok();
    let of = |action: &str, result: &str| {
        let lines = told.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut such = lines.filter(|event| event["action"] == action && event["result"] == result);
        such.any(|event| event["detail"].as_str().is_some_and(|words| words.contains("asked by process ")))
    };
    assert!(of("spawn", "done") && of("spawn", "refused") && of("dismiss", "done"), "{told}");
    watching.stop();
    fleet.down();
}

#[test]
fn a_guest_that_asks_without_end_keeps_nobody_from_being_heard_and_the_fleet_from_being_kept() {
    let fleet = fleet();
    let watching = Watching::start(&fleet);
    let (boss, other) = (fleet.started("boss", 1), fleet.started("other", 1));
    let mut flood = UnixStream::connect(fleet.state().join("t.sock")).expect("it listens");
    let mut answers = BufReader::new(flood.try_clone().expect("a second handle"));
    let mut hello = String::new();
    answers.read_line(&mut hello).expect("it says who it is");
    let hung_up = flood.try_clone().expect("a second handle");
    // Each takes a look at all that is recorded: they come faster than they are answered.
    let own = |name: &str| boss.environment[name].as_str();
    let who = serde_json::json!({"session": own("FARHELM_SESSION_ID"), "token": own("FARHELM_SESSION_TOKEN")});
    let request = |ask: &Value| serde_json::json!({"protocol": 1, "ask": ask}).to_string() + "\n";
    flood.write_all(request(&"status".into()).as_bytes()).expect("it hears");
    let requests = request(&serde_json::json!({"who": who})).repeat(2_000);
    let asking = std::thread::spawn(move || while flood.write_all(requests.as_bytes()).is_ok() {});
    let reading = std::thread::spawn(move || std::io::copy(&mut answers, &mut std::io::sink()));
    inside(&fleet, &boss, &["whoami"]).ok();
    process::kill_hard(other.pid);
    fleet.started("other", 2);
    hung_up.shutdown(std::net::Shutdown::Both).expect("it is open");
    asking.join().expect("it ends");
    let heard = reading.join().expect("it ends");
    assert!(heard.is_err() || heard.is_ok_and(|bytes| bytes > 0), "it was answered nothing");
    inside(&fleet, &boss, &["whoami"]).ok();
    watching.stop();
    fleet.down();
}

#[test]
fn a_session_of_a_kind_that_is_held_is_granted_and_its_asker_told_at_once() {
    let fleet = Fleet::new();
    let flag = fleet.path("logged-in");
    let top = "policy: {spawn: {allow: [helper]}, launch: {parallel: 8, stagger: 1ms}}
profiles: {helper: {kind: generic, invocation: '@AGENT@ --record @RECORDS@/helper'}}";
    let failing = (0..6).map(|n| {
        let run = format!("test -e {} || exit 1; exec @AGENT@ --record @RECORDS@/s{n}", flag.display());
        agent(&format!("s{n}"))
            .with(&format!("invocation: [sh, -c, '{run}']"))
            .with("restart: {backoff: {initial: 1s, max: 2s}, max_restarts: 50}")
    });
    fleet.agents_under(top, failing.chain([agent("boss")]));
    let watching = Watching::start(&fleet);
    let boss = fleet.started("boss", 1);
    watching.wait("tripped", |line| line["said"] == "held" && line["kind"] == "generic");
    let begun = Instant::now();
    spawn(&fleet, &boss, &["--idempotency-key", "k"])
        .ok()
        .says("boss-helper-1")
        .mentions("boss-helper-1 is granted, and not launched yet: launches of generic are held since ")
        .mentions("`farhelm apply` releases them");
    // The same again is known.
    spawn(&fleet, &boss, &["--idempotency-key", "k"]).ok().says("boss-helper-1");
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited {:?}", begun.elapsed());
    assert!(fleet.starts("helper").is_empty());
    fs::write(&flag, "").expect("a file");
    fleet.apply();
    fleet.started("helper", 1);
    watching.stop();
    fleet.down();
}

#[test]
fn children_survive_a_watch_that_is_killed_and_leave_with_their_parent() {
    let fleet = fleet();
    let watching = Watching::start(&fleet);
    let boss = fleet.started("boss", 1);
    spawn(&fleet, &boss, &[]).ok();
    let child = fleet.started("helper", 1);
    watching.kill();
    let watching = Watching::start(&fleet);
    process::kill_hard(boss.pid);
    let boss = fleet.started("boss", 2);
    assert_eq!(fleet.pid("boss-helper-1"), child.pid, "its parent's end is not its own");
    spawn(&fleet, &boss, &["--name", "kept"]).ok();
    fleet.started("helper", 2);
    watching.stop();
    fleet.farhelm(["children", "--keep", "kept"]).ok().mentions("always");
    fleet.agents_under(TOP, [agent("other")]);
    fleet.farhelm(["plan"]).ok().mentions("has left the fleet");
    fleet.apply();
    let status = fleet.status();
    assert_eq!(["boss", "boss-helper-1", "kept", "other"].map(|name| status.has(name)), [false, false, true, true]);
    // Its parent comes back; what was reaped with it does not.
    fleet.agents_under(TOP, [agent("boss"), agent("other")]);
    fleet.apply();
    fleet.started("boss", 3);
    assert!(!fleet.status().has("boss-helper-1"));
    fleet.down();
}

#[test]
fn children_written_out_as_yaml_are_sessions_of_the_files_from_then_on() {
    let fleet = fleet();
    fleet.apply();
    let boss = fleet.started("boss", 1);
    spawn(&fleet, &boss, &["--prompt", "say \"$HOME\": #1"]).ok();
    let child = fleet.started("helper", 1);
    let yaml = fleet.farhelm(["children", "--yaml"]).ok();
    let file = fleet.path("work/farhelm.yaml");
    let text = fs::read_to_string(&file).expect("it is there");
    let sessions = yaml.stdout.strip_prefix("sessions:\n").expect("a map");
    fs::write(&file, text + sessions).expect("our own file");
    fleet.farhelm(["validate"]).ok();
    fleet.apply();
    assert_eq!(fleet.pid("boss-helper-1"), child.pid, "it is the same session");
    assert_eq!(fleet.farhelm(["children", "--json"]).ok().json(), serde_json::json!([]));
    fleet.down();
}

#[test]
fn spawn_is_off_by_default_and_says_how_it_is_allowed() {
    let fleet = Fleet::new();
    fleet.agents([agent("boss")]);
    fleet.apply();
    let boss = fleet.started("boss", 1);
    spawn(&fleet, &boss, &[]).code(1).mentions("not applied");
    let watching = Watching::start(&fleet);
    spawn(&fleet, &boss, &[]).code(1).mentions("policy: {spawn: {allow: [PROFILE]}}");
    watching.stop();
    fleet.farhelm(["spawn", "--profile", "helper"]).code(1).mentions("run it inside a session");
    fleet.down();
}

/// A line said to a `watch`, and all that it answers until it is asked no more.
fn says(socket: &std::path::Path, said: &[u8]) -> Vec<Value> {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    stream.write_all(said).expect("it hears");
    stream.shutdown(std::net::Shutdown::Write).expect("it is open");
    BufReader::new(stream).lines().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()).collect()
}

#[test]
fn the_socket_is_private_and_answers_nonsense_with_a_reason() {
    let fleet = fleet();
    let watching = Watching::start(&fleet);
    fleet.started("boss", 1);
    let socket = fleet.state().join("t.sock");
    assert_eq!(fs::metadata(&socket).expect("it is there").permissions().mode() & 0o777, 0o600);
    for (said, code) in [
        ("nonsense\n", "not-understood"),
        ("{\"protocol\": 99, \"ask\": \"status\"}\n", "version"),
        ("{\"protocol\": 1, \"ask\": \"everything\"}\n", "not-understood"),
    ] {
        let answers = says(&socket, said.as_bytes());
        assert_eq!((&answers[0]["protocol"], &answers[1]["refused"]["code"]), (&Value::from(1), &Value::from(code)));
    }
    let endless = vec![b'x'; 3 << 20];
    let mut stream = UnixStream::connect(&socket).expect("it listens");
    // It hangs up before it has heard all of it.
    let _ = stream.write_all(&endless);
    // Many who say nothing keep nobody from being heard.
    let _silent: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(&socket).expect("it listens")).collect();
    let boss = fleet.started("boss", 1);
    inside(&fleet, &boss, &["whoami"]).ok();
    watching.stop();
    assert!(!socket.exists());
    fleet.down();
}

#[test]
fn status_and_events_stream_from_a_watch_and_go_on_without_it() {
    let fleet = fleet();
    let watching = Watching::start(&fleet);
    let boss = fleet.started("boss", 1);
    let stream = |arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        let file = fleet.path(arguments[0]);
        command.stdin(Stdio::null()).stdout(fs::File::create(&file).expect("a file")).stderr(Stdio::null());
        (command.spawn().expect("it starts"), file)
    };
    let (mut status, shown) = stream(&["status", "--watch", "--json"]);
    let (mut events, logged) = stream(&["events", "-f"]);
    let lines = |file: &std::path::Path| -> Vec<Value> {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let generation = |document: &Value| {
        let sessions = document["sessions"].as_array().cloned().unwrap_or_default();
        sessions.iter().find(|one| one["name"] == "boss").and_then(|one| one["generation"].as_u64())
    };
    wait_until("the status is shown", || lines(&shown).iter().any(|found| generation(found) == Some(1)));
    process::kill_hard(boss.pid);
    fleet.started("boss", 2);
    wait_until("the new launch is shown", || lines(&shown).iter().any(|found| generation(found) == Some(2)));
    let launches = || lines(&logged).iter().filter(|e| e["session"] == "boss" && e["result"] == "done").count();
    wait_until("both launches are told", || launches() == 2);
    watching.stop();
    fleet.farhelm(["restart", "boss"]).ok();
    wait_until("what others do is told", || lines(&logged).iter().any(|event| event["actor"] == "restart"));
    wait_until("what others do is shown", || lines(&shown).iter().any(|found| generation(found) == Some(3)));
    let told = fs::read_to_string(&logged).expect("it is there");
    let mut unique: Vec<&str> = told.lines().collect();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), told.lines().count(), "each is told once");
    for child in [&mut status, &mut events] {
        child.kill().expect("our own child");
        child.wait().expect("our own child");
    }
    fleet.down();
}
