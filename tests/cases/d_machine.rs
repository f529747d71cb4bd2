//! Situations of numbers that are given out again, of groups, and of tmux itself.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::wait_until;

/// A process that is nobody's; it ends with the value.
struct Stranger(Child);

impl Stranger {
    fn start() -> Self {
        let child = Command::new("sleep").arg("100000").env_clear().stdin(Stdio::null()).spawn();
        Self(child.expect("sleep is installed"))
    }

    /// Its number with another start time: a number that was given out again.
    fn recycled(&self) -> Value {
        json!({"pid": self.0.id(), "start": 1})
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("our own child").is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Changes the record of `a` as it lies on the disk.
fn edit(fleet: &Fleet, change: impl Fn(&mut Value)) {
    let id = fleet.status().of("a").id.clone().expect("it has an id");
    let file = fleet.state().join("sessions").join(format!("{id}.json"));
    let mut record = serde_json::from_slice(&fs::read(&file).expect("it is recorded")).expect("JSON");
    change(&mut record);
    fs::write(&file, record.to_string()).expect("our own file");
}

#[test]
fn d4_a_recycled_number_is_not_signalled_when_its_session_is_asked_to_end() {
    let mut stranger = Stranger::start();
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let pid = fleet.pid("a");
    edit(&fleet, |record| record["launches"][0]["agent"] = stranger.recycled());
    fleet.farhelm(["stop", "a"]).ok();
    assert!(!process::runs(pid));
    assert!(stranger.lives());
    fleet.down();
    assert!(stranger.lives());
}

#[test]
fn d4_a_recycled_number_is_not_signalled_when_what_was_asked_to_end_is_killed() {
    let mut stranger = Stranger::start();
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--ignore TERM")]);
    fleet.apply();
    let pid = fleet.pid("a");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the kernel says");
    // Asked long ago by a farhelm that was killed: its time is over.
    edit(&fleet, |record| {
        record["ending"] = json!(true);
        record["leaving"] = json!([{"claim": "agent", "stage": "processes", "at": {"boot_ms": 1, "wall_ms": 1},
            "boot": boot.trim(), "grace_ms": 1, "processes": [stranger.recycled()]}]);
    });
    fleet.farhelm(["stop", "a"]).ok();
    assert!(!process::runs(pid));
    assert!(stranger.lives());
    fleet.down();
}

#[test]
fn d5_a_process_is_not_signalled_for_being_in_the_group_of_one_that_is() {
    let fleet = Fleet::new();
    let pids = fleet.path("records").join("pids");
    let command = format!(
        "(env -i nohup sleep 100000 > /dev/null 2>&1 < /dev/null & echo \"other $!\" > {}); exec @AGENT@ --record \
         @RECORDS@/a",
        pids.display()
    );
    fleet.agents([agent("a").with(&format!("invocation: [bash, -c, '{command}']"))]);
    fleet.apply();
    let a = fleet.started("a", 1);
    wait_until("it is noted", || fleet.noted("pids").len() == 1);
    let other = fleet.noted("pids")[0].1;
    fleet.end_with_fleet(other);
    let group = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(2).map(str::to_owned)).expect("a group")
    };
    assert_eq!(group(other), group(a.pid), "it is in the agent's group");
    fleet.down();
    assert!(process::runs(other), "a group was signalled by its number");
}

#[test]
fn d24_tmux_is_never_given_a_target_by_name() {
    let fleet = Fleet::new();
    let seen = fleet.path("targets");
    let always = fleet.breakable_tmux(&format!(
        "target=\nfor word in \"$@\"; do [ -z \"$target\" ] || echo \"$word\" >> {0}; target=; [ \"$word\" != -t ] || \
         target=yes; done\nfor word in \"$@\"; do [ ! -f \"$word\" ] || grep -o -e '-t [^ ]*' \"$word\" | cut -c4- >> \
         {0}; done",
        seen.display()
    ));
    fs::write(&always, "").expect("a file");
    fleet.agents([agent("a").with("tabs: {shell: {}}"), agent("a-1")]);
    fleet.apply();
    fleet.farhelm(["restart", "a"]).ok();
    fleet.farhelm(["logs", "a"]).ok();
    fleet.agents([agent("a-1").with("title: another")]);
    fleet.apply();
    fleet.down();
    let targets = fs::read_to_string(&seen).expect("tmux was given targets");
    let by_id = |target: &str| target.trim_matches(['\'', '"']).starts_with(['%', '@', '$']);
    assert!(targets.lines().all(by_id), "{targets}");
}

#[test]
fn d26_each_session_has_its_own_environment_on_one_server() {
    let fleet = Fleet::new();
    fleet.set("FROM_OUTSIDE", "first");
    fleet.agents([agent("a").with("env: {OWN: one}")]);
    fleet.apply();
    fleet.set("FROM_OUTSIDE", "second");
    fleet.agents([agent("a").with("env: {OWN: one}"), agent("b").with("env: {OWN: two, FROM_OUTSIDE: declared}")]);
    fleet.apply();
    let (a, b) = (fleet.started("a", 1), fleet.started("b", 1));
    assert_eq!((a.environment["OWN"].as_str(), b.environment["OWN"].as_str()), ("one", "two"));
    assert_eq!(b.environment["FROM_OUTSIDE"], "declared");
    fleet.down();
}

#[test]
fn d29_a_terminal_has_a_sane_size_whatever_the_users_configuration_says() {
    let fleet = Fleet::new();
    fs::write(fleet.path("home").join(".tmux.conf"), "set -g default-size 1000x1000\n").expect("a file");
    fleet.agents([agent("a")]);
    fleet.apply();
    let pane = fleet.status().of("a").pane.clone().expect("it runs");
    let size = fleet.tmux().run(&["display-message", "-p", "-t", &pane, "#{pane_width}x#{pane_height}"]);
    assert_eq!(size.trim(), "200x50");
    fleet.down();
}
