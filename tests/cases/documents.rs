//! What the repository's pages and examples say is so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::fleet::Fleet;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_example_is_valid() {
    let fleet = Fleet::new();
    let mut seen = 0;
    for entry in fs::read_dir(repository("examples")).expect("it exists").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "yaml") {
            fleet.farhelm([Path::new("validate"), &entry.path()]).ok();
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn the_readmes_fleet_file_is_valid() {
    let fleet = Fleet::new();
    let readme = read("README.md");
    let block = readme.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a YAML block");
    fleet.file("farhelm.yaml", block);
    for dir in ["api", "web", "infra"] {
        fs::create_dir_all(fleet.path("home/code").join(dir)).expect("a directory");
    }
    fleet.farhelm(["validate"]).ok();
    fleet.farhelm(["render"]).ok().says("infra-watcher");
}

#[test]
fn the_readme_has_every_verb_and_no_other() {
    let fleet = Fleet::new();
    let help = fleet.farhelm(["--help"]).ok().stdout;
    let commands =
        help.split("Commands:").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list of commands");
    let mut of_help: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    let readme = read("README.md");
    let table =
        readme.split("| verb | does |").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a table of verbs");
    let first_cells = table.lines().filter_map(|line| line.trim_start_matches('|').split(" | ").next());
    let mut of_readme: Vec<&str> = first_cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter_map(|code| code.split_whitespace().next())
        .filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
        .collect();
    of_help.sort_unstable();
    of_readme.sort_unstable();
    assert_eq!(of_readme, of_help);
}

#[test]
fn the_readmes_commands_are_there() {
    for path in ["examples/run-quickstart", "tests/run", ".ci/run"] {
        let mode =
            fs::metadata(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}")).permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{path} is not executable");
    }
}
