//! `logs`

use std::fs;
use std::process::Stdio;

use nix::sys::signal::Signal;

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::wait_until;

#[test]
fn logs_follow_a_terminal_through_a_restart_until_they_are_interrupted() {
    let fleet = Fleet::new();
    let flag = fleet.path("flag");
    let invocation = format!(
        "invocation: [bash, -c, 'echo first-line; until [ -e {} ]; do sleep 0.1; done; echo second-line; exec sleep 100000']",
        flag.display()
    );
    fleet.agents([agent("a").with(&invocation)]);
    fleet.apply();
    wait_until("it says so", || fleet.farhelm(["logs", "a"]).ok().stdout.contains("first-line"));
    let said = fleet.path("said");
    let file = fs::File::create(&said).expect("a new file");
    let mut logs = fleet.command(["logs", "a", "-f"]);
    let mut logs = logs.stdin(Stdio::null()).stdout(file).spawn().expect("it starts");
    let times = |words: &str| fs::read_to_string(&said).unwrap_or_default().matches(words).count();
    wait_until("it begins with what is there", || times("first-line") == 1);
    fs::write(&flag, "").expect("a file");
    wait_until("it shows what is new", || times("second-line") == 1);
    assert_eq!(times("first-line"), 1);
    fleet.farhelm(["restart", "a"]).ok();
    wait_until("it goes on", || times("second-line") == 2);
    process::signal(i32::try_from(logs.id()).expect("process numbers are small"), Signal::SIGINT);
    assert!(logs.wait().expect("our own child").success());
    fleet.down();
}
