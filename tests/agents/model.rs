//! The fake model: started, and what it was asked.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde::Deserialize;
use tempfile::TempDir;

use crate::support::wait::wait_until;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/fake-model");

/// One request for an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Request {
    pub id: u64,
    pub path: String,
    /// Which of the four: `messages`, `responses`, `chat`, `gemini`.
    pub dialect: String,
    pub model: String,
    pub effort: Option<String>,
    /// It offers no tools: a title, a summary.
    pub side: bool,
    /// The user's prompts in it, oldest first.
    pub prompts: Vec<String>,
    /// It answers a tool call with this.
    pub tool_output: Option<String>,
    pub tools: Vec<String>,
}

impl Request {
    /// It is the first of a turn.
    pub fn begins_turn(&self) -> bool {
        !self.side && self.tool_output.is_none()
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Request(Request),
    End { id: u64, end: String },
}

/// A running fake model. It ends with this value.
pub struct Model {
    dir: TempDir,
    child: Child,
    url: String,
}

impl Model {
    pub fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("fm-").tempdir().expect("a temporary directory");
        let port = dir.path().join("port");
        let child = Command::new(PROGRAM)
            .arg("--port-file")
            .arg(&port)
            .arg("--log")
            .arg(dir.path().join("log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("python3 is installed");
        let mut model = Self { dir, child, url: String::new() };
        wait_until("the fake model listens", || port.exists());
        model.url = format!("http://127.0.0.1:{}", fs::read_to_string(&port).expect("just seen"));
        model
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    fn log(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        // A line that is being written has no end yet.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        let request = |line| if let Line::Request(request) = line { Some(request) } else { None };
        self.log().into_iter().filter_map(request).collect()
    }

    /// The first requests of turns, in order.
    pub fn turns(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::begins_turn).collect()
    }

    /// Every request has been answered, or given up by the agent.
    pub fn is_quiet(&self) -> bool {
        let mut open = std::collections::BTreeSet::new();
        for line in self.log() {
            match line {
                Line::Request(request) => open.insert(request.id),
                Line::End { id, end } => {
                    assert_ne!(end, "unknown path", "an agent asks for what the fake model does not speak: {id}");
                    open.remove(&id)
                }
            };
        }
        open.is_empty()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
