//! The kinds farhelm comes with: the files of `profiles/`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::spec::name::Name;

use super::kind::Kind;

/// Every file of `profiles/`, by kind.
const PROFILES: &[(&str, &str)] = &[
    ("claude", include_str!("../../profiles/claude.yaml")),
    ("codex", include_str!("../../profiles/codex.yaml")),
    ("cursor", include_str!("../../profiles/cursor.yaml")),
    ("gemini", include_str!("../../profiles/gemini.yaml")),
    ("generic", include_str!("../../profiles/generic.yaml")),
    ("grok", include_str!("../../profiles/grok.yaml")),
    ("kimi", include_str!("../../profiles/kimi.yaml")),
    ("muse", include_str!("../../profiles/muse.yaml")),
    ("omp", include_str!("../../profiles/omp.yaml")),
    ("opencode", include_str!("../../profiles/opencode.yaml")),
    ("pi", include_str!("../../profiles/pi.yaml")),
    ("pi-signed", include_str!("../../profiles/pi-signed.yaml")),
    ("rovo", include_str!("../../profiles/rovo.yaml")),
];

/// A kind's file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// No YAML.
    #[error("not valid YAML: {0}")]
    Syntax(#[from] serde_yaml::Error),
    /// Not of the kind format.
    #[error("not a kind: {0}")]
    Shape(#[from] serde_json::Error),
    /// It cannot work.
    #[error(transparent)]
    Fault(#[from] super::kind::KindFault),
}

/// The built-in kinds, parsed once.
#[must_use]
pub fn builtin() -> &'static BTreeMap<Name, Kind> {
    static KINDS: LazyLock<BTreeMap<Name, Kind>> = LazyLock::new(|| {
        // The texts are part of the program, and a test reads every one of them: none is ever skipped here.
        PROFILES.iter().filter_map(|(_, text)| parse(text).ok()).map(|kind| (kind.name.clone(), kind)).collect()
    });
    &KINDS
}

/// Every variable that marks an agent's child, of the built-in kinds and of `more`: none may reach a launch.
#[must_use]
pub fn scrubbed<'a>(more: impl IntoIterator<Item = &'a Kind>) -> Vec<String> {
    let all: BTreeSet<&String> = builtin().values().chain(more).flat_map(|kind| &kind.scrub).collect();
    all.into_iter().cloned().collect()
}

/// The built-in kind of a command that states none: by the exact base name of its first word, else `generic`.
#[must_use]
pub fn kind_of(first_word: &str) -> &'static Name {
    static GENERIC: LazyLock<Name> = LazyLock::new(|| {
        // Proof: the file is compiled in, and the tests of this room read every one of them.
        builtin()
            .keys()
            .find(|name| name.as_str() == "generic")
            .cloned()
            .expect("`profiles/generic.yaml` is part of the program")
    });
    builtin().values().find(|kind| kind.is_program(first_word)).map_or(&*GENERIC, |kind| &kind.name)
}

/// Reads one kind.
fn parse(text: &str) -> Result<Kind, KindError> {
    // By way of JSON, whose spelling of enumerations is the documented one.
    let value: serde_json::Value = serde_yaml::from_str(text)?;
    let kind: Kind = serde_json::from_value(value)?;
    kind.check()?;
    Ok(kind)
}

/// The schema of a kind's file, as `farhelm schema kind` prints it: draft-07, ending in a newline.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::generate::SchemaSettings::draft07().into_generator().into_root_schema_for::<Kind>();
    // A schema is plain JSON: printing it cannot fail.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_the_table_and_no_other() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
        let files: BTreeSet<String> =
            folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let table: BTreeSet<String> = PROFILES.iter().map(|(name, _)| format!("{name}.yaml")).collect();
        assert_eq!(files, table);
    }

    #[test]
    fn every_file_is_a_usable_kind_named_after_its_file() {
        for (name, text) in PROFILES {
            let kind = parse(text).unwrap_or_else(|error| panic!("profiles/{name}.yaml: {error}"));
            assert_eq!(kind.name.as_str(), *name);
        }
        assert_eq!(builtin().len(), PROFILES.len());
    }

    #[test]
    fn no_two_kinds_claim_a_program() {
        let mut owners = BTreeMap::new();
        for kind in builtin().values() {
            for program in &kind.executables {
                assert_eq!(owners.insert(program, &kind.name), None, "{program}");
            }
        }
    }

    #[test]
    fn a_kind_says_where_it_was_verified_or_that_it_was_not() {
        for kind in builtin().values().filter(|kind| kind.name.as_str() != "generic") {
            let said = kind.verified.is_some() || kind.unverified.iter().any(|what| what.starts_with("everything"));
            assert!(said, "{}", kind.name);
        }
    }

    #[test]
    fn a_resume_form_that_names_no_conversation_is_refused() {
        let text = "{name: x, about: x, executables: [x], conversation: {resume: [--continue]}}";
        assert!(parse(text).unwrap_err().to_string().contains("`conversation.resume` must contain `{conversation}`"));
    }

    #[test]
    fn a_command_without_a_kind_gets_it_by_exact_base_name() {
        for (word, kind) in [
            ("claude", "claude"),
            ("/opt/x/pi", "pi"),
            ("pi-signed", "pi-signed"),
            ("cursor", "generic"),
            ("env", "generic"),
        ] {
            assert_eq!(kind_of(word).as_str(), kind);
        }
    }

    #[test]
    fn the_marks_of_all_kinds_are_scrubbed() {
        let all = scrubbed([]);
        for mark in ["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CODEX_THREAD_ID", "GEMINI_CLI", "KIRO_SESSION_ID"] {
            assert!(all.iter().any(|name| name == mark), "{mark}");
        }
    }

    #[test]
    fn the_published_schema_is_the_type() {
        let schema = schema();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/kind.schema.json");
        if std::env::var_os("FARHELM_BLESS").is_some() {
            std::fs::write(&file, &schema).unwrap();
        }
        let published = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(published, schema, "run this test once with FARHELM_BLESS=1");
    }
}
