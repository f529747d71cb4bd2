//! What a test must know of one agent CLI, beside what farhelm's kind of it says.

use std::fs;
use std::path::{Path, PathBuf};

use farhelm::agents::catalogue::builtin;
use farhelm::agents::kind::Kind;

/// One agent.
pub struct Agent {
    /// The name of farhelm's kind of it; also its program, and its folder in the cache.
    pub name: &'static str,
    /// What the fleet file says as `model`; not the one that the home is configured for.
    pub model: &'static str,
    /// The same model, as requests name it.
    pub model_in_requests: &'static str,
    /// The arguments farhelm must compose for the model, `effort: low`, `permissions: yolo`, `trust: trusted` and a prompt,
    /// as far as the kind has them. `{uuid}` stands for any UUID; `{dir}` and `{prompt}`, also within one, for those.
    pub arguments: &'static [&'static str],
    /// The option behind them that brings farhelm's hook; `None` where none is brought on the command line.
    pub hook: Option<&'static str>,
    /// The effort that its requests name then; `None` where they name none.
    pub effort_in_requests: Option<&'static str>,
    /// A prompt can be given at launch.
    pub takes_prompt: bool,
    /// Writes the configuration of its home: no first run, no account, no updates, the fake model.
    pub configure: fn(&Home),
    /// Makes it trust a session's directory, in its home's configuration.
    pub trust: fn(&Home, &Path),
    /// Environment of its own, beside what every agent gets.
    pub environment: fn(&Home) -> Vec<(&'static str, String)>,
    /// The name of its process, as the kernel cuts it.
    pub comm: &'static str,
    /// What is left of its arguments in the process table.
    pub shown: Shown,
    /// All of these are on its screen when it waits for a prompt, …
    pub idle: &'static [&'static str],
    /// … and none of these.
    pub busy: &'static [&'static str],
}

impl Agent {
    /// What farhelm knows of it.
    pub fn kind(&self) -> &'static Kind {
        builtin().get(self.name).unwrap_or_else(|| panic!("there is no kind `{}`", self.name))
    }
}

/// What a process shows of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All, behind its program, or behind the interpreter and its program.
    All,
    /// Its name alone: it writes over them.
    Name,
}

/// An agent's home, and the model it is to use.
pub struct Home {
    pub path: PathBuf,
    /// `http://127.0.0.1:PORT`
    pub model: String,
}

impl Home {
    /// Writes a file of this home, and its parents.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// The text of a file of this home.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).expect("written by `configure`")
    }
}

/// The key that every agent is given. No service knows it.
pub const KEY: &str = "sk-fake-0000000000000000000000";

/// For agents that do not ask, and those that `trust: trusted` spares the question.
pub fn by_choice(_: &Home, _: &Path) {}
