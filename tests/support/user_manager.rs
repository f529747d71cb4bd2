//! A systemd user manager for tests of scopes.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::wait::wait_until;

/// A private user manager; it ends, with all that runs under it, when this is dropped.
pub struct UserManager {
    holder: Child,
    /// The manager ends when this is closed.
    stdin: Option<ChildStdin>,
    process: String,
}

impl UserManager {
    /// Starts one. `None`, said loudly, where that is not possible: not root, no systemd, no cgroup2, no namespaces.
    pub fn start(directory: &Path) -> Option<Self> {
        let ready = directory.join("user-manager");
        // Says where it is, and stays until its standard input is closed.
        let stay = r#"echo $$ > "$1.new"; mv "$1.new" "$1"; exec cat"#;
        let mut holder = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/user-systemd.sh"))
            .args(["sh", "-c", stay, "stay"])
            .arg(&ready)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("bash can be run");
        let stdin = holder.stdin.take();
        let mut refused = false;
        wait_until("the user manager answers, or says that it cannot", || {
            refused = holder.try_wait().expect("a child can be waited for").is_some();
            refused || ready.exists()
        });
        if refused {
            super::skipped("no systemd user manager can be run here (root, systemd and cgroup2 are needed)");
            return None;
        }
        let process = std::fs::read_to_string(&ready).expect("just seen").trim().to_owned();
        Some(Self { holder, stdin, process })
    }

    /// The words in front of a command that is to run under this manager, in `dir`.
    pub fn prefix(&self, dir: &Path) -> Vec<OsString> {
        let words = ["nsenter", "--mount", "--cgroup", "--target", &self.process, "--", "env", "--chdir"];
        words.iter().map(OsString::from).chain([dir.into()]).collect()
    }

    /// The variables by which the manager is found.
    pub fn variables() -> [(&'static str, &'static str); 2] {
        [("XDG_RUNTIME_DIR", "/run/user/0"), ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/0/bus")]
    }

    /// Runs `systemctl --user` with these arguments; all it prints.
    pub fn systemctl(&self, arguments: &[&str]) -> String {
        let prefix = self.prefix(Path::new("/"));
        let output = Command::new(&prefix[0])
            .args(&prefix[1..])
            .args(["systemctl", "--user"])
            .args(arguments)
            .envs(Self::variables())
            .stdin(Stdio::null())
            .output()
            .expect("nsenter can be run");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Gives the manager a unit, and the variables that its services get.
    pub fn unit(&self, file: &Path, text: &str, variables: &[String]) {
        std::fs::write(file, text).expect("a file");
        self.systemctl(&["link", "--runtime", &file.display().to_string()]);
        let words: Vec<&str> = std::iter::once("set-environment").chain(variables.iter().map(String::as_str)).collect();
        self.systemctl(&words);
    }

    /// The names of the running scopes that farhelm made.
    pub fn scopes(&self) -> Vec<String> {
        let listed = self.systemctl(&["list-units", "--all", "--plain", "--no-legend", "--type=scope", "farhelm-*"]);
        listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    }
}

impl Drop for UserManager {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.holder.wait();
    }
}
