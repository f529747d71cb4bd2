//! The whole chain in a real pane: tmux, login shell, shim, program.

use super::*;

/// A tmux server of its own, whose panes see a home with the given rc file. Gone with this value.
struct Terminal {
    launch: Launch,
}

impl Terminal {
    fn new(launch: Launch, bash_profile: &str) -> Self {
        fs::write(launch.file(".bash_profile"), bash_profile).unwrap();
        let act = ACT.join(" ");
        write_script(&launch.file("far 'helm'"), &format!("#!/bin/sh\n{SPEC}=\"$3\" exec \"$PROGRAM\" {act}\n"));
        Self { launch }
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.launch.file("socket")).args(["-f", "/dev/null"]).args(args);
        command.env("HOME", self.launch.dir.path()).env("PROGRAM", std::env::current_exe().unwrap());
        command.env_remove("TMUX").env_remove("TMUX_PANE").env("CLAUDECODE", "1");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    fn start(&self) {
        let spec = self.launch.write_spec();
        let command = pane_command(Path::new("/bin/bash"), &self.launch.file("far 'helm'"), &spec, None).unwrap();
        let mut args = vec!["new-session", "-d", "-x", "100", "-y", "20"];
        args.extend(command.iter().map(String::as_str));
        args.extend([";", "set-option", "-w", "remain-on-exit", "on"]);
        self.tmux(&args);
    }

    fn pane(&self, format: &str) -> String {
        self.tmux(&["list-panes", "-a", "-F", format]).trim().to_owned()
    }

    fn written(&self, name: &str) -> String {
        wait_until(name, || fs::read_to_string(self.launch.file(name)).is_ok_and(|text| text.ends_with('\n')));
        fs::read_to_string(self.launch.file(name)).unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn an_rc_file_that_prints_and_moves_and_ignores_signals_does_no_harm() {
    let script = r#"pwd; echo "$PPID $$ ${TMUX-none} ${CLAUDECODE-none} $FROM_RC"; grep ^SigIgn /proc/self/status; exec sleep 1000"#;
    let mut launch = Launch::new(&["sh", "-c", &format!("({script}) > out")]);
    launch.spec.unset.push("CLAUDECODE".to_owned());
    let profile = "echo noise; printf '\\033[2J'; cd /; export FROM_RC=yes; trap '' HUP INT TERM; echo loud >&2\n";
    let terminal = Terminal::new(launch, profile);
    terminal.start();
    wait_until("the program writes", || {
        fs::read_to_string(terminal.launch.file("out")).is_ok_and(|text| text.lines().count() == 3)
    });
    let out = fs::read_to_string(terminal.launch.file("out")).unwrap();
    let (pid, server) = (terminal.pane("#{pane_pid}"), terminal.pane("#{pid}"));
    let dir = terminal.launch.spec.dir.display();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], [dir.to_string(), format!("{server} {pid} none none yes")]);
    assert_eq!(ignored(lines[2]), 0);
}

#[test]
fn a_stray_hangup_at_the_start_does_not_end_the_launch() {
    let launch = Launch::new(&["sh", "-c", "echo ran > out; exec sleep 1000"]);
    let launch = launch.before("echo > started; until [ -e go ]; do sleep 0.02; done", 60_000);
    let terminal = Terminal::new(launch, "");
    terminal.start();
    terminal.written("started");
    let pid = nix::unistd::Pid::from_raw(terminal.pane("#{pane_pid}").parse().unwrap());
    for signal in [nix::sys::signal::SIGHUP, nix::sys::signal::SIGCONT] {
        nix::sys::signal::kill(pid, signal).unwrap();
    }
    fs::write(terminal.launch.file("go"), "").unwrap();
    assert_eq!(terminal.written("out"), "ran\n");
}

#[test]
fn closing_the_pane_during_before_launch_ends_the_launch() {
    let launch = Launch::new(&["touch", "launched"]).before("echo $$ > pid; exec sleep 1000", 60_000);
    let terminal = Terminal::new(launch, "");
    terminal.start();
    let (before, shim) = (terminal.written("pid"), terminal.pane("#{pane_pid}"));
    terminal.tmux(&["kill-server"]);
    wait_until("the shim and its command are gone", || !runs(&before) && !runs(&shim));
    assert_eq!(terminal.launch.sentinel().unwrap().words, "`before_launch` was cut short by SIGHUP: sh was killed");
    assert!(!terminal.launch.file("launched").exists());
}

#[test]
fn a_missing_program_is_said_in_the_pane() {
    let terminal = Terminal::new(Launch::new(&["no-such-agent"]), "");
    terminal.start();
    wait_until("the pane is dead", || terminal.pane("#{pane_dead}") == "1");
    let screen = terminal.tmux(&["capture-pane", "-p", "-t", &terminal.pane("#{pane_id}")]);
    assert!(screen.contains("farhelm: no-such-agent: not found in PATH"), "{screen}");
}
