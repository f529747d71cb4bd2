//! Faults of farhelm's own files: locks, disks, versions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::tiny_disk::TinyDisk;
use crate::support::wait::wait_until;

#[test]
fn a_lock_held_by_another_process_is_named_and_nothing_is_done() {
    let fleet = Fleet::new();
    let stubborn = |does: &str| agent("a").does(&format!("--ignore TERM {does}")).with("stop: {grace: 20s}");
    fleet.agents([stubborn("")]);
    fleet.apply();
    // A real holder: an apply whose restart has to wait for the agent's end.
    fleet.agents([stubborn("--changed")]);
    let holder = fleet.start(["apply", "-y"]);
    wait_until("the lock is written", || locked_by(&fleet, holder.pid()));
    fleet.agents([stubborn("--changed"), agent("b")]);
    let begin = Instant::now();
    let ran = fleet.farhelm(["apply", "-y", "--timeout", "1s"]);
    assert!(begin.elapsed() < Duration::from_secs(8), "`--timeout` did not end the waiting: {:?}", begin.elapsed());
    assert_ne!(ran.code, 0, "{ran}");
    ran.mentions(&holder.pid().to_string());
    assert_eq!(fleet.starts("b"), []);
    process::signal(holder.pid(), nix::sys::signal::Signal::SIGKILL);
    let _ = holder.wait();
    // A dead holder's lock stands in nobody's way.
    fleet.farhelm(["plan"]).ok();
    fleet.farhelm(["apply", "-y", "--only", "b"]).ok();
    fleet.pid("b");
}

/// Whether a file of the state directory names this process as holder.
fn locked_by(fleet: &Fleet, pid: i32) -> bool {
    let entries = fs::read_dir(fleet.state()).into_iter().flatten().flatten();
    let mut locks = entries.filter(|entry| entry.file_name().to_string_lossy().contains("lock"));
    locks.any(|entry| fs::read_to_string(entry.path()).is_ok_and(|text| text.contains(&pid.to_string())))
}

#[test]
fn a_lock_file_left_by_a_dead_process_is_no_lock() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    for entry in fs::read_dir(fleet.state()).expect("it exists").flatten() {
        if entry.file_name().to_string_lossy().contains("lock") {
            fs::write(entry.path(), "farhelm apply, pid 999999\n").expect("our own file");
        }
    }
    fleet.crash("a");
    fleet.apply();
    fleet.started("a", 2);
    fleet.down();
}

#[test]
fn state_of_a_newer_version_is_refused_and_nothing_of_it_is_touched() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    let pids = fleet.pids(&["a", "b"]);
    let id = fleet.status().of("a").id.clone().expect("it has an id");
    let path = fleet.state().join("sessions").join(format!("{id}.json"));
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("a record")).expect("JSON");
    record["version"] = 99.into();
    fs::write(&path, record.to_string()).expect("our own file");

    fleet.agents([agent("a").does("--changed"), agent("b")]);
    fleet.farhelm(["plan"]).mentions("version");
    let _ = fleet.farhelm(["apply", "-y"]);
    let _ = fleet.farhelm(["down", "-y"]);
    assert!(process::runs(pids[0]), "a session of a newer version was touched");
    let kept: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("kept")).expect("JSON");
    assert_eq!(kept["version"], 99);
}

#[test]
fn hashes_of_another_version_are_no_difference_and_later_changes_are_seen_again() {
    let other_version = |fleet: &Fleet, name: &str| {
        let id = fleet.status().of(name).id.clone().expect("it has an id");
        let path = fleet.state().join("sessions").join(format!("{id}.json"));
        let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("a record")).expect("JSON");
        record["fields_version"] = 99.into();
        record["fields"] = serde_json::json!({"command": "00", "kind": "00"});
        fs::write(&path, record.to_string()).expect("our own file");
        path
    };
    let fleet = Fleet::new();
    let of = |token: &str| ["a", "b"].map(|name| agent(name).with(&format!("env: {{TOKEN: {token}}}")));
    fleet.agents(of("one"));
    fleet.apply();
    let pids = fleet.pids(&["a", "b"]);
    other_version(&fleet, "a");
    // Of the other nothing but such a stamp is left.
    fs::remove_file(other_version(&fleet, "b")).expect("our own file");
    let pane = fleet.tmux().stamped().into_iter().find(|pane| pane.pid == pids[1]).expect("its pane");
    fleet.tmux().run(&["set-option", "-p", "-t", &pane.id, "@farhelm_fields", "v99:whatever:a=b"]);

    let plan = fleet.farhelm(["plan", "--json"]).ok().json();
    assert_eq!((&plan["counters"]["restart"], &plan["counters"]["unchanged"]), (&0.into(), &1.into()), "{plan:#}");
    fleet.apply();
    fleet.apply();
    assert_eq!(fleet.pids(&["a", "b"]), pids);
    fleet.is_settled();

    fleet.agents(of("two"));
    let plan = fleet.farhelm(["plan", "--json"]).ok().json();
    assert_eq!(plan["counters"]["restart"], 2, "{plan:#}");
    fleet.down();
}

#[test]
fn a_damaged_record_is_rebuilt_from_the_stamp_or_named_and_never_leads_to_a_second_agent() {
    for damage in ["", "{", "\0\0\0\0", "[]"] {
        let fleet = Fleet::new();
        fleet.agents([agent("a")]);
        fleet.apply();
        let pid = fleet.pid("a");
        let id = fleet.status().of("a").id.clone().expect("it has an id");
        fs::write(fleet.state().join("sessions").join(format!("{id}.json")), damage).expect("our own file");
        let _ = fleet.farhelm(["plan"]);
        let _ = fleet.farhelm(["apply", "-y"]);
        assert!(process::runs(pid), "{damage:?}");
        assert_eq!(fleet.starts("a").len(), 1, "{damage:?}");
    }
}

#[test]
fn the_state_directory_is_private() {
    let fleet = Fleet::new();
    fs::remove_dir(fleet.state()).expect("empty");
    fleet.agents([agent("a")]);
    fleet.apply();
    let mut open = vec![fleet.state()];
    while let Some(dir) = open.pop() {
        assert_eq!(fs::metadata(&dir).expect("it exists").permissions().mode() & 0o777, 0o700, "{}", dir.display());
        for entry in fs::read_dir(&dir).expect("a directory").flatten() {
            let meta = entry.metadata().expect("it exists");
            if meta.is_dir() {
                open.push(entry.path());
            } else if meta.is_file() {
                assert_eq!(meta.permissions().mode() & 0o077, 0, "{}", entry.path().display());
            }
        }
    }
    let specs = fs::read_dir(fleet.state().join("launch")).into_iter().flatten().flatten();
    assert!(
        !specs.into_iter().any(|file| file.file_name().to_string_lossy().ends_with(".json")),
        "a launch file is left"
    );
    fleet.down();
}

#[test]
fn a_full_disk_fails_a_launch_plainly_and_prevents_no_stop() {
    let fleet = Fleet::new();
    let state = fleet.state();
    let Some(disk) = TinyDisk::mount(&state) else { return };
    fleet.agents([agent("a")]);
    fleet.apply();
    let pid = fleet.pid("a");
    disk.fill();

    fleet.agents([agent("a"), agent("b")]);
    let ran = fleet.farhelm(["apply", "-y"]);
    assert_ne!(ran.code, 0, "{ran}");
    ran.mentions("pace").never_says("panicked"); // the system's own words: no space left on device
    assert!(process::runs(pid));
    assert_eq!(fleet.starts("b"), []);
    assert_eq!(fleet.marked().len(), 1);

    let ran = fleet.farhelm(["stop", "a"]).never_says("not remembered");
    assert!(!process::runs(pid), "a full disk prevented a stop\n{ran}");
    assert_eq!(fleet.marked(), []);
    disk.empty();
    fleet.agents([agent("a")]);
    let ran = fleet.apply();
    assert_eq!(fleet.marked(), [], "the stop was forgotten\n{ran}");
    fleet.farhelm(["start", "a"]).ok();
    fleet.apply();
    fleet.pid("a");
    fleet.down();
}

#[test]
fn a_full_disk_prevents_no_reap() {
    let fleet = Fleet::new();
    let state = fleet.state();
    let Some(disk) = TinyDisk::mount(&state) else { return };
    fleet.agents([agent("a").does("--children nohup,setsid"), agent("b")]);
    fleet.apply();
    disk.fill();
    fleet.agents([agent("b")]);
    let ran = fleet.farhelm(["apply", "-y"]);
    assert_eq!(fleet.marked().len(), 1, "a full disk prevented a reap\n{ran}");
    let ran = fleet.farhelm(["down", "-y"]);
    assert_eq!(fleet.marked(), [], "a full disk prevented a reap\n{ran}");
    // What could not be booked then is booked later, and restarts nothing.
    disk.empty();
    fleet.farhelm(["down", "-y"]).ok();
    assert_eq!(fleet.marked(), []);
}

#[test]
fn a_read_only_state_directory_lets_plan_and_status_work_and_apply_fail_plainly() {
    let fleet = Fleet::new();
    let state = fleet.state();
    let Some(disk) = TinyDisk::mount(&state) else { return };
    fleet.agents([agent("a")]);
    fleet.apply();
    let pid = fleet.pid("a");
    disk.remount("ro");
    fleet.agents([agent("a").does("--changed"), agent("b")]);
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(2);
    assert_eq!(fleet.status().of("a").pid, Some(pid));
    let ran = fleet.farhelm(["apply", "-y"]);
    assert_ne!(ran.code, 0, "{ran}");
    ran.mentions("ead-only").never_says("panicked");
    assert!(process::runs(pid));
    disk.remount("rw");
    fleet.apply();
    fleet.down();
}
