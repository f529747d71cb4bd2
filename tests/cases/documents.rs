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
fn the_readme_has_every_kind_and_where_it_was_verified() {
    let readme = read("README.md");
    let rows: Vec<Vec<&str>> = readme
        .lines()
        .skip_while(|line| !line.starts_with("| kind | verified on |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let kinds = farhelm::agents::catalogue::builtin();
    assert_eq!(rows.len(), kinds.len());
    for row in rows {
        let kind = kinds.get(row[0].trim_matches('`')).unwrap_or_else(|| panic!("no kind {}", row[0]));
        let verified = kind.verified.as_ref().map(|verified| verified.version.as_str());
        assert_eq!(row[1], verified.unwrap_or(if row[0] == "`generic`" { "any program" } else { "not run" }));
        let said = |form: &Option<farhelm::agents::kind::ChoiceForm>| form.is_some();
        let choices = &kind.choices;
        let cells = [&choices.model, &choices.effort, &choices.yolo, &choices.trusted, &choices.untrusted].map(said);
        for (cell, said) in row[2..7].iter().zip(cells) {
            assert_eq!(*cell != "–", said, "{row:?}");
        }
        assert_eq!(row[7] != "–", kind.prompt.is_some(), "{row:?}");
        let assigned = kind.conversation.as_ref().is_some_and(|forms| !forms.assign.is_empty());
        assert_eq!(row[8] != "–", assigned, "{row:?}");
        if let Some(forms) = &kind.conversation {
            assert!(forms.resume.contains(&row[9].trim_matches('`').to_owned()), "{row:?}");
        }
    }
}

#[test]
fn the_readmes_commands_are_there() {
    for path in ["examples/run-quickstart", "tests/run", ".ci/run"] {
        let mode =
            fs::metadata(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}")).permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{path} is not executable");
    }
}
