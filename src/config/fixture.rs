//! A few kinds and a directory of files, for tests.

use std::collections::BTreeMap;
use std::path::Path;

use super::load::{LoadRequest, Loaded, load_from};
use super::problem::{Problems, Severity};
use crate::agents::kind::Kind;
use crate::spec::name::Name;

/// `generic`, one kind that can do everything, and one that can do little.
pub fn kinds() -> BTreeMap<Name, Kind> {
    let kinds = serde_json::json!([
        {"name": "generic", "about": "anything"},
        {"name": "claude", "about": "an agent", "executables": ["claude"], "prompt": "positional",
         "choices": {"model": ["--model", "{value}"], "effort": ["--effort", "{value}"],
                     "effort_values": ["low", "medium", "high"], "yolo": ["--yolo"]},
         "conversation": {"resume": ["--resume", "{conversation}"], "not_with": ["--continue", "-c", "--"]},
         "reports": {"inject": "claude-settings", "chain": "near-terminal", "evidence": "claude-transcript",
                     "activity": {"Stop": "idle"}}},
        {"name": "codex", "about": "another", "executables": ["codex"], "prompt": "positional",
         "choices": {"model": ["-m", "{value}"], "yolo": ["--yolo"]},
         "conversation": {"resume": ["resume", "{conversation}"], "resume_first": true}},
    ]);
    let kinds: Vec<Kind> = serde_json::from_value(kinds).unwrap();
    kinds.into_iter().map(|kind| (kind.name.clone(), kind)).collect()
}

/// A request for `paths` below `dir`, with a home and an environment of its own.
pub fn request(dir: &Path, paths: &[&str]) -> LoadRequest {
    LoadRequest {
        paths: paths.iter().map(Into::into).collect(),
        home: "/home/me".into(),
        env: BTreeMap::from([("WHO".to_owned(), "s3cret-who".to_owned())]),
        cwd: dir.to_owned(),
        config_home: dir.join("config"),
        ..LoadRequest::default()
    }
}

/// Writes files below a new directory.
pub fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

/// Loads one text as standard input.
pub fn stdin(text: &str) -> Result<Loaded, Problems> {
    let dir = tempfile::tempdir().unwrap();
    load_from(&request(dir.path(), &["-"]), &kinds(), &mut text.as_bytes())
}

/// Loads the part of a fleet file behind its head.
pub fn fleet(body: &str) -> Result<Loaded, Problems> {
    stdin(&format!("farhelm: v1\nfleet: test\n{body}"))
}

/// The messages of a fleet that is wrong.
pub fn errors(body: &str) -> Vec<String> {
    match fleet(body) {
        Ok(loaded) => panic!("no error: {:#?}", loaded.desired),
        Err(problems) => problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .map(|problem| format!("{}: {}", problem.path, problem.message))
            .collect(),
    }
}
