//! A `farhelm watch` that runs beside a test.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::fleet::Fleet;
use super::process;
use super::wait::wait_until;

/// It runs until it is stopped or dropped.
pub struct Watching {
    child: Child,
    log: PathBuf,
}

impl Watching {
    /// Starts it, and waits until it has read the files, or says that it cannot.
    pub fn start(fleet: &Fleet) -> Self {
        Self::with(fleet, &[])
    }

    /// As [`Self::start`], with more arguments.
    pub fn with(fleet: &Fleet, arguments: &[&str]) -> Self {
        let watching = Self::spawn(fleet, fleet.command(["watch", "--log", "json"].iter().chain(arguments)));
        watching.wait("read its files", |line| matches!(line["said"].as_str(), Some("loaded" | "unfit")));
        watching
    }

    /// Starts this command, which says JSON lines on standard error.
    pub fn spawn(fleet: &Fleet, mut command: Command) -> Self {
        let log =
            (0..99).map(|n| fleet.path(&format!("watch.{n}.log"))).find(|log| !log.exists()).expect("a free name");
        let file = fs::File::create(&log).expect("a new file");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn().expect("it starts");
        Self { child, log }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process numbers are small")
    }

    /// Everything said so far.
    pub fn said(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// How many of the lines said so far are such.
    pub fn count(&self, such: impl Fn(&Value) -> bool) -> usize {
        self.said().iter().filter(|line| such(line)).count()
    }

    /// Waits until such a line has been said.
    #[track_caller]
    pub fn wait(&self, what: &str, such: impl Fn(&Value) -> bool) {
        let log = || fs::read_to_string(&self.log).unwrap_or_default();
        wait_until(&format!("watch has {what}: {}", log()), || self.count(&such) > 0);
    }

    /// Waits until it has done this to a session.
    #[track_caller]
    pub fn did(&self, what: &str, session: &str) {
        self.wait(&format!("done {what} to {session}"), |line| {
            line["said"] == "done" && line["session"] == session && line["what"] == what && line["failure"].is_null()
        });
    }

    /// Waits until it says that this keeps a session from being as its file says.
    #[track_caller]
    pub fn held(&self, session: &str, reason: &str) {
        self.wait(&format!("held {session} for {reason}"), |line| {
            line["said"] == "held" && line["session"] == session && line["reason"] == reason
        });
    }

    /// Asks it to read its files anew.
    pub fn reload(&self) {
        process::signal(self.pid(), Signal::SIGHUP);
    }

    /// Ends it as a service manager does; it must end well.
    #[track_caller]
    pub fn stop(mut self) {
        process::signal(self.pid(), Signal::SIGTERM);
        let mut status = None;
        wait_until("watch ends", || {
            status = self.child.try_wait().expect("our own child");
            status.is_some()
        });
        assert!(status.expect("it ended").success(), "{:#?}", self.said());
    }

    /// Ends it as a crash does.
    pub fn kill(mut self) {
        self.child.kill().expect("our own child");
        self.child.wait().expect("our own child");
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
