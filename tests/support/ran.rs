//! One run of the program: what it printed, and how it ended.

use std::fmt;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A run may take this long. Nothing that a test asks for takes a tenth of it on an idle machine.
const LIMIT: Duration = Duration::from_secs(90);

/// A finished run.
#[derive(Clone)]
pub struct Ran {
    pub line: String,
    pub stdout: String,
    pub stderr: String,
    /// Exit status; 128 + signal number when a signal ended it.
    pub code: i32,
}

impl Ran {
    /// It succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.code(0)
    }

    /// It ended with this status.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "unexpected exit status\n{self}");
        self
    }

    /// Standard output contains `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "standard output does not say `{text}`\n{self}");
        self
    }

    /// Standard output or standard error contains `text`.
    #[track_caller]
    pub fn mentions(self, text: &str) -> Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "`{text}` is not mentioned\n{self}");
        self
    }

    /// Neither standard output nor standard error contains `text`.
    #[track_caller]
    pub fn never_says(self, text: &str) -> Self {
        assert!(!self.stdout.contains(text) && !self.stderr.contains(text), "`{text}` is mentioned\n{self}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{self}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$ {}\n[exit {}]\n[stdout]\n{}\n[stderr]\n{}", self.line, self.code, self.stdout, self.stderr)
    }
}

impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A run that has not finished.
#[must_use = "wait for it"]
pub struct Running {
    line: String,
    child: Child,
    stdout: mpsc::Receiver<Vec<u8>>,
    stderr: mpsc::Receiver<Vec<u8>>,
    begun: Instant,
}

impl Running {
    /// Starts `command` without standard input.
    pub fn start(mut command: Command) -> Self {
        let line = command.get_args().map(|a| a.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {:?}: {error}", command.get_program()));
        let stdout = drain(child.stdout.take().expect("piped"));
        let stderr = drain(child.stderr.take().expect("piped"));
        Self { line: format!("farhelm {line}"), child, stdout, stderr, begun: Instant::now() }
    }

    /// Its process number.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process numbers are small")
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    /// Waits for its end.
    #[must_use = "check how it ended: `.ok()` or `.code(n)`"]
    #[track_caller]
    pub fn wait(mut self) -> Ran {
        let mut late = false;
        while !self.ended() {
            if self.begun.elapsed() > LIMIT {
                late = true;
                let _ = self.child.kill();
            }
            thread::sleep(Duration::from_millis(5));
        }
        let status = self.child.wait().expect("a child can be waited for");
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        // A process it leaves behind must not hold its output open: whoever reads it in a pipe would wait for ever.
        let text = |output: &mpsc::Receiver<Vec<u8>>| match output.recv_timeout(Duration::from_secs(5)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => panic!("`{}` has ended, and something it started holds its output open", self.line),
        };
        let ran = Ran { line: self.line.clone(), stdout: text(&self.stdout), stderr: text(&self.stderr), code };
        assert!(!late, "no end within {LIMIT:?}\n{ran}");
        ran
    }
}

fn drain(mut from: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = send.send(bytes);
    });
    receive
}
