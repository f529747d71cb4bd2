//! An operator at a terminal: farhelm in a pane of a tmux server, and keys typed into it.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use super::fleet::Fleet;
use super::terminal::Terminal;
use super::wait::wait_until;

/// One command in one pane.
pub struct Operator<'a> {
    terminal: &'a Terminal,
    name: &'a str,
    code: PathBuf,
}

impl<'a> Operator<'a> {
    /// Runs farhelm in a new tmux session `name` of `terminal`.
    pub fn runs(fleet: &Fleet, terminal: &'a Terminal, name: &'a str, arguments: &[&str]) -> Self {
        let command = fleet.command(arguments);
        let quoted = |text: &OsStr| shell_words::quote(&text.to_string_lossy()).into_owned();
        let variables = command.get_envs().map(|(n, v)| format!("{}={}", n.display(), quoted(v.expect("set"))));
        let words = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted);
        let run = variables.chain(words).collect::<Vec<_>>().join(" ");
        let code = fleet.path(&format!("{name}.code"));
        let (dir, end) = (fleet.path("work"), code.display());
        let script = format!(
            "#!/bin/bash\ncd {}\n{run}\necho $? > {end}.new\nmv {end}.new {end}\nexec sleep 1000\n",
            dir.display()
        );
        let script = fleet.program(&format!("run-{name}"), &script);
        terminal.run(&["new-session", "-d", "-s", name, "-x", "200", "-y", "60", &script.display().to_string()]);
        Self { terminal, name, code }
    }

    /// What the pane shows.
    pub fn screen(&self) -> String {
        self.terminal.run(&["capture-pane", "-p", "-t", &format!("={}:", self.name)])
    }

    /// Waits until the pane shows `text`.
    #[track_caller]
    pub fn sees(&self, text: &str) -> &Self {
        wait_until(&format!("the terminal shows `{text}`"), || self.screen().contains(text));
        self
    }

    /// Presses these keys, in tmux's names.
    pub fn types(&self, keys: &[&str]) -> &Self {
        let target = format!("={}:", self.name);
        self.terminal.run(&[&["send-keys", "-t", &target], keys].concat());
        self
    }

    /// Waits until the command has ended with this status.
    #[track_caller]
    pub fn ends_with(&self, code: i32) {
        wait_until("farhelm ends in its pane", || self.code.exists());
        let text = fs::read_to_string(&self.code).expect("just seen");
        assert_eq!(text.trim(), code.to_string(), "{}", self.screen());
    }
}
