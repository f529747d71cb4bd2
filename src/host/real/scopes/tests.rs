use std::os::unix::process::CommandExt;

use super::*;
use crate::host::process::{Processes, Signalled};
use crate::host::real::Settings;
use crate::host::real::testing::{Guarded, TestTmux, eventually};
use crate::host::tmux::{OpenPane, Place, Socket, Tmux};

fn machine() -> Machine {
    Machine::new(Settings::default()).unwrap()
}

#[test]
fn without_a_manager_scopes_are_unusable_at_no_cost() {
    let mut machine = machine();
    machine.environment.set("XDG_RUNTIME_DIR", "/nonexistent");
    machine.environment.set("PATH", "/nonexistent");
    let why = ScopeSupport::Unusable("no systemd user manager runs for this account".to_owned());
    assert_eq!(machine.support(), why);
    assert!(machine.exists("farhelm-x.scope").is_err(), "not known is not absent");
}

#[test]
fn scopes_that_are_switched_off_are_not_probed() {
    let machine = Machine::new(Settings { scopes: false, ..Settings::default() }).unwrap();
    assert_eq!(machine.support(), ScopeSupport::Unusable("scopes are switched off".to_owned()));
}

#[test]
fn units_that_are_options_or_patterns_are_refused() {
    for bad in ["", "--all.scope", "*.scope", "x.service", "a b.scope", "a@b.scope", "a/b.scope"] {
        assert!(check(bad).is_err(), "{bad}");
    }
    assert!(check("farhelm-0b1c-tab-x_1.scope").is_ok());
}

#[test]
fn a_manager_that_does_not_answer_is_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("systemd")).unwrap();
    std::fs::write(dir.path().join("systemd/private"), "").unwrap();
    for tool in ["systemctl", "systemd-run"] {
        let path = dir.path().join(tool);
        std::fs::write(&path, "#!/bin/sh\necho 'half an answer'\nexit 0\n").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut machine = machine();
    machine.environment.set("XDG_RUNTIME_DIR", dir.path());
    machine.environment.set("PATH", dir.path());
    assert!(matches!(machine.support(), ScopeSupport::Unknown(_)), "{:?}", machine.support());
}

/// Runs the ignored tests below under a manager of their own.
#[test]
fn scopes_work_under_a_real_manager() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/user-systemd.sh");
    let output = Command::new(script)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--test-threads=1", "host::real::scopes::tests::managed"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    if output.status.code() == Some(77) {
        eprintln!("SKIPPED, no systemd user manager can be had here: {text}");
        return;
    }
    assert!(output.status.success(), "{text}");
    assert!(text.contains("7 passed"), "{text}");
}

mod managed {
    use super::*;

    fn runner(machine: &Machine) -> Vec<String> {
        match machine.support() {
            ScopeSupport::Usable { runner } => runner,
            other => panic!("{other:?}"),
        }
    }

    /// Runs `script` in the scope `unit`, and waits until it does: before, the unit may be known and the program still be
    /// `systemd-run`, waiting for an answer.
    fn scoped(machine: &Machine, unit: &str, script: &str) -> Guarded {
        let runner = runner(machine);
        let mut command = Command::new(&runner[0]);
        command.args(&runner[1..]).arg(format!("--unit={unit}")).args(["--", "sh", "-c", script]);
        let child = Guarded(command.stdin(Stdio::null()).process_group(0).spawn().unwrap());
        let pid = child.0.id().cast_signed();
        let running = || {
            let key = machine.table().unwrap().running(pid)?.key;
            Some(machine.argv(key)?.first()? != &runner[0])
        };
        eventually("scope", || running() == Some(true) && machine.exists(unit).unwrap());
        child
    }

    #[test]
    #[ignore = "run by scopes_work_under_a_real_manager"]
    fn support_is_proven_with_an_absolute_runner() {
        let machine = machine();
        let runner = runner(&machine);
        assert!(runner[0].starts_with('/') && runner.contains(&"--scope".to_owned()), "{runner:?}");
        let left =
            machine.success(&["list-units", "--all", "--plain", "--no-legend", "farhelm-probe-*"], QUERY).unwrap();
        assert!(left.stdout.is_empty());
    }

    #[test]
    #[ignore = "run by scopes_work_under_a_real_manager"]
    fn a_killed_scope_takes_its_detached_children_along() {
        let machine = machine();
        let (one, two) = ("farhelm-t1-1.scope", "farhelm-t1-2.scope");
        let script = "trap '' TERM HUP; setsid sleep 1000 & wait; sleep 1000";
        let _children = [scoped(&machine, one, script), scoped(&machine, two, script)];
        let units = [one.to_owned(), two.to_owned(), "farhelm-t1-never.scope".to_owned()];
        machine.kill(one, Signal::Kill).unwrap();
        assert_eq!(machine.wait_collected(&units, Duration::from_secs(1)), [two]);
        machine.kill(two, Signal::Kill).unwrap();
        assert!(machine.wait_collected(&units, Duration::from_secs(20)).is_empty());
        assert_eq!(machine.exists(two), Ok(false));
    }

    #[test]
    #[ignore = "run by scopes_work_under_a_real_manager"]
    fn what_a_restarted_manager_forgot_is_found_and_killed() {
        let machine = machine();
        let unit = "farhelm-t2-1.scope";
        let _child = scoped(&machine, unit, "setsid sleep 1000 & exec sleep 1000");
        // The manager forgets what was made for this moment once its runtime files are gone.
        let runtime = std::env::var("XDG_RUNTIME_DIR").unwrap();
        let manager: i32 = {
            let table = machine.table().unwrap();
            let managers = table.processes.values().filter(|process| process.comm == "systemd" && !process.dead);
            managers.map(|process| process.key.pid).find(|pid| *pid != 1 && in_this_cgroup(*pid)).unwrap()
        };
        let key = machine.table().unwrap().running(manager).unwrap().key;
        assert_eq!(machine.signal(key, Signal::Kill), Signalled::Sent);
        assert!(machine.wait_gone(&[key].into(), QUERY).is_empty());
        assert!(machine.exists(unit).is_err(), "nobody to ask is not absent");
        std::fs::remove_dir_all(format!("{runtime}/systemd")).unwrap();
        let mut command = Command::new("/lib/systemd/systemd");
        command.arg("--user").env("SYSTEMD_LOG_TARGET", "null").stdin(Stdio::null()).stderr(Stdio::null());
        let _manager = Guarded(command.spawn().unwrap());
        eventually("manager", || machine.success(&["is-system-running"], QUERY).is_ok());
        assert_eq!((machine.is_loaded(unit), machine.exists(unit)), (Ok(false), Ok(true)));
        assert_eq!(machine.wait_collected(&[unit.to_owned()], Duration::from_millis(100)), [unit]);
        machine.kill(unit, Signal::Kill).unwrap();
        assert!(machine.wait_collected(&[unit.to_owned()], Duration::from_secs(20)).is_empty());
    }

    fn in_this_cgroup(pid: i32) -> bool {
        let cgroup = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let unified = |text: String| text.lines().find(|line| line.starts_with("0::")).map(str::to_owned);
        unified(cgroup(&pid.to_string())).is_some_and(|own| own == "0::/init.scope")
    }

    #[test]
    #[ignore = "run by scopes_work_under_a_real_manager"]
    fn a_tmux_server_is_started_in_a_scope_of_its_own() {
        let tmux = TestTmux::with(machine());
        let request = OpenPane {
            place: Place::NewSession("one".to_owned()),
            window: "agent".to_owned(),
            dir: "/".into(),
            argv: ["sleep", "1000"].map(str::to_owned).to_vec(),
            stamp: [("id".to_owned(), "a".to_owned())].into(),
        };
        let socket: &Socket = &tmux.socket;
        let opened = tmux.machine.open(socket, &[request]).unwrap().remove(0).unwrap();
        let cgroup = std::fs::read_to_string(format!("/proc/{}/cgroup", opened.server)).unwrap();
        assert!(cgroup.contains("/farhelm-tmux-"), "{cgroup}");
        assert!(!std::fs::read_to_string("/proc/self/cgroup").unwrap().contains("/farhelm-tmux-"));
    }

    /// A machine whose `systemd-run` says that it is `version`, and runs `on_policy` when the out-of-memory policy is
    /// among its arguments: which managers know it for scopes is not what is to be proven here.
    fn with_systemd_run(dir: &tempfile::TempDir, version: u32, on_policy: &str) -> Machine {
        let found = machine();
        let tools = found.tools().unwrap();
        std::os::unix::fs::symlink(&tools.systemctl, dir.path().join("systemctl")).unwrap();
        let real = tools.systemd_run.display();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n--version) echo 'systemd {version} ({version})'; exit;;\n\
             *{OOM_POLICY}*) {on_policy};;\nesac\n\
             for word; do shift; case $word in {OOM_POLICY}|--expand-environment=no) ;; *) set -- \"$@\" \"$word\";; esac; done\n\
             exec '{real}' \"$@\"\n"
        );
        let program = dir.path().join("systemd-run");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::join_paths([dir.path(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
        let mut machine = machine();
        machine.environment.set("PATH", path);
        machine
    }

    const OOM_POLICY: &str = "--property=OOMPolicy=continue";

    #[test]
    #[ignore = "run by scopes_work_under_a_real_manager"]
    fn an_out_of_memory_kill_ends_its_victim_alone_where_the_manager_can_be_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let runner = runner(&with_systemd_run(&dir, 252, ":"));
        assert!(runner.iter().any(|word| word == OOM_POLICY), "{runner:?}");
    }

    #[test]
    #[ignore = "run by scopes_work_under_a_real_manager"]
    fn a_manager_that_refuses_the_policy_has_scopes_without_it() {
        let dir = tempfile::tempdir().unwrap();
        let refuse = "echo 'Unknown assignment: OOMPolicy=continue' >&2; touch \"$(dirname \"$0\")/asked\"; exit 1";
        let runner = runner(&with_systemd_run(&dir, 252, refuse));
        assert!(dir.path().join("asked").exists(), "it was never asked for");
        assert!(!runner.iter().any(|word| word == OOM_POLICY), "{runner:?}");
    }

    #[test]
    #[ignore = "run by scopes_work_under_a_real_manager"]
    fn arguments_reach_a_scoped_program_unchanged() {
        let machine = machine();
        let runner = runner(&machine);
        let argument = "$HOME ${PATH} %h \\x41 'a' #";
        let output = Command::new(&runner[0])
            .args(&runner[1..])
            .args(["--unit=farhelm-t3-1.scope", "--", "printf", "%s", argument])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), argument);
    }
}
