//! Conversations whose id was chosen at launch and which nobody confirmed: whether anything was written of one.

use std::path::{Path, PathBuf};

use crate::agents::kind::reports::EvidenceRule;
use crate::host::disk::{Disk, DiskFault};

use super::{Finding, Sought, claude};

/// More directories than this are not looked into.
const MAX_DIRS: usize = 8192;

/// What an agent that keeps its conversations below `root` wrote of the one with this `id`: of one of which it wrote
/// nothing, nothing can be resumed. It writes a moment later than it is prompted. `None` where the agent's files do not
/// tell, since their names are its own choice.
#[must_use]
pub fn written(rule: EvidenceRule, id: &str, root: &Path, disk: &dyn Disk) -> Option<Finding> {
    let EvidenceRule::ClaudeTranscript = rule else { return None };
    Some(match places(id, root, disk) {
        Ok(places) => best(places.iter().filter_map(|path| in_place(id, path, disk))),
        Err(words) => Finding::Unreadable(words),
    })
}

/// Where Claude would have written (2.1.332, 2026-11-30): `projects/<directory>/<id>.jsonl`, the directory being where it
/// was started, everything but letters and digits made `-`. A wrapper may have started it elsewhere: each is looked into.
///
/// It makes `root` as it starts. A root that is not there is one that cannot be looked at, on a disk that is not mounted
/// say.
fn places(id: &str, root: &Path, disk: &dyn Disk) -> Result<Vec<PathBuf>, String> {
    let root = disk.resolve_dir(root).map_err(|error| error.to_string())?;
    let projects = root.join("projects");
    let names = disk.list(&projects).map_err(|error| error.to_string())?;
    if names.len() > MAX_DIRS {
        return Err(format!("{} holds more than {MAX_DIRS} directories", projects.display()));
    }
    Ok(names.iter().map(|name| projects.join(name).join(format!("{id}.jsonl"))).collect())
}

/// What is there; none where nothing is.
fn in_place(id: &str, path: &Path, disk: &dyn Disk) -> Option<Finding> {
    let is_dir = || path.parent().map(|dir| disk.resolve_dir(dir));
    match is_dir() {
        Some(Err(error)) if matches!(error.fault, DiskFault::Missing | DiskFault::WrongType) => return None,
        Some(Err(error)) => return Some(Finding::Unreadable(error.to_string())),
        _ => {}
    }
    let transcripts = [path.to_owned()];
    let sought =
        Sought { reported: id, bound: None, transcripts: &transcripts, root: None, prompted: false, seen: false };
    claude(&sought, path, disk).filter(|found| *found != Finding::NeverPrompted)
}

/// What says most: something was said; it cannot be known; nothing was.
fn best(found: impl Iterator<Item = Finding>) -> Finding {
    let weight = |finding: &Finding| match finding {
        Finding::Verified { .. } => 3,
        Finding::Unreadable(_) | Finding::Changed(_) | Finding::Missing(_) | Finding::Pending(_) => 2,
        Finding::Empty => 1,
        Finding::NeverPrompted => 0,
    };
    found.max_by_key(weight).unwrap_or(Finding::NeverPrompted)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::host::real::{Machine, Settings};

    const ID: &str = "01a22c4d-31cd-7c31-ab52-83301718de21";
    const MESSAGE: &[u8] = b"{\"type\":\"mode\"}\n{\"type\":\"user\",\"uuid\":\"58127860\"}\n";

    struct Root(tempfile::TempDir);

    impl Root {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn write(&self, name: &str, bytes: &[u8]) {
            let path = self.0.path().join("projects").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }

        fn word(&self) -> &'static str {
            word(self.0.path())
        }
    }

    fn word(root: &Path) -> &'static str {
        let machine = Machine::new(Settings::default()).unwrap();
        match written(EvidenceRule::ClaudeTranscript, ID, root, &machine).unwrap() {
            Finding::NeverPrompted => "nothing",
            Finding::Empty => "empty",
            Finding::Verified { .. } => "said",
            Finding::Changed(_) => "changed",
            Finding::Unreadable(_) => "unreadable",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_in_the_file_of_the_id_says_whether_anything_was_said() {
        let root = Root::new();
        assert_eq!(root.word(), "nothing");
        root.write("-tmp-demo/other.jsonl", MESSAGE);
        root.write("a-file", b"");
        assert_eq!(root.word(), "nothing");
        root.write(&format!("-tmp-demo/{ID}.jsonl"), b"{\"type\":\"mode\"}\n");
        assert_eq!(root.word(), "empty");
        root.write(&format!("-tmp-demo/{ID}.jsonl"), MESSAGE);
        assert_eq!(root.word(), "said");
    }

    #[test]
    fn a_file_in_any_directory_counts() {
        let root = Root::new();
        root.write(&format!("-tmp-demo/{ID}.jsonl"), b"");
        root.write(&format!("-tmp-demo-below/{ID}.jsonl"), MESSAGE);
        root.write("-tmp-zoo/other.jsonl", MESSAGE);
        assert_eq!(root.word(), "said");
    }

    #[test]
    fn what_cannot_be_looked_at_is_never_taken_for_nothing() {
        let root = Root::new();
        assert_eq!(word(&root.0.path().join("gone")), "unreadable");
        assert_eq!(word(Path::new("")), "unreadable");
        root.write("elsewhere.jsonl", MESSAGE);
        fs::create_dir(root.0.path().join("projects/-tmp-demo")).unwrap();
        let file = root.0.path().join(format!("projects/-tmp-demo/{ID}.jsonl"));
        symlink("../elsewhere.jsonl", &file).unwrap();
        assert_eq!(root.word(), "changed");
        let other = Root::new();
        fs::write(other.0.path().join("projects"), b"").unwrap();
        assert_eq!(other.word(), "unreadable");
    }

    #[test]
    fn agents_that_name_their_files_themselves_leave_it_open() {
        let root = Root::new();
        let machine = Machine::new(Settings::default()).unwrap();
        for rule in [EvidenceRule::CodexRollout, EvidenceRule::SessionFile, EvidenceRule::GeminiChat] {
            assert_eq!(written(rule, ID, root.0.path(), &machine), None);
        }
    }
}
