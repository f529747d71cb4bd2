//! `init`

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::agents::catalogue::builtin;
use crate::agents::choice;
use crate::agents::kind::Kind;
use crate::config::load::FILE;
use crate::spec::name::Name;
use crate::spec::schema;

use super::args::Init;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::installed;

/// The schema beside the file, for editors.
const SCHEMA: &str = ".farhelm.schema.json";

/// Writes a starter fleet file, and its schema beside it. Without `--force` nothing that is there is replaced.
///
/// # Errors
/// When the file is there, cannot be written, or the fleet's name is none.
pub fn run(context: &Context, args: &Init) -> Result<Exit, CliError> {
    let path = args.path.clone().unwrap_or_else(|| PathBuf::from(FILE));
    let full = std::path::absolute(&path)?;
    let dir = full.parent().unwrap_or(Path::new("/"));
    let dir_text = dir.to_str().ok_or_else(|| CliError::Other(format!("{} is not valid UTF-8", dir.display())))?;
    let fleet = match &args.fleet {
        Some(name) => Name::new(name).map_err(|error| CliError::Usage(format!("--fleet {name}: {error}")))?.to_string(),
        None => name_of(dir),
    };
    let kinds = builtin().values().filter(|kind| !kind.executables.is_empty());
    let (found, absent): (Vec<&Kind>, Vec<&Kind>) = kinds.partition(|kind| installed::program(context, kind).is_some());
    let text = starter(&fleet, &shown(dir_text, context), &found, &absent);
    write(&full, &text, args.force).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            CliError::Other(format!("{} is there already; --force replaces it", path.display()))
        }
        _ => CliError::Other(format!("cannot write {}: {error}", path.display())),
    })?;
    // Generated, and the same for everybody: one that is there is as good unless it is to be replaced.
    let beside = dir.join(SCHEMA);
    match write(&beside, &format!("{:#}\n", schema::fleet()), args.force) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            context.output.message(&format!("warning: cannot write {}: {error}", beside.display()));
        }
        _ => {}
    }
    let agents = match found.as_slice() {
        [] => "no agent found in PATH".to_owned(),
        some => format!("agents found: {}", names(some)),
    };
    context.output.message(&format!("wrote {}; {agents}", path.display()));
    context
        .output
        .message("next: edit it, then `farhelm plan` says what it would do, and `farhelm doctor` what is missing");
    Ok(Exit::Ok)
}

/// Writes a whole file; a new one, unless `replace`.
fn write(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    if !replace {
        return OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes());
    }
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    // A file of the operator's, to be read by others as theirs are: not private as temporary files are.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A fleet's name made of the directory's.
fn name_of(dir: &Path) -> String {
    let base = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
    let plain: String = base.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(63).collect();
    let plain = plain.trim_matches('-');
    if Name::new(plain).is_ok() { plain.to_owned() } else { "my-fleet".to_owned() }
}

/// A directory as one writes it: below `~` where it is, quoted, nothing in it filled in.
fn shown(dir: &str, context: &Context) -> String {
    let home = context.home();
    let below = home.to_str().filter(|home| *home != "/").and_then(|home| dir.strip_prefix(home));
    let short = match below {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => dir.to_owned(),
    };
    // A text in quotes as JSON has it is one in YAML, too.
    serde_json::Value::String(short.replace('$', "$$")).to_string()
}

fn names(kinds: &[&Kind]) -> String {
    kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn starter(fleet: &str, dir: &str, found: &[&Kind], absent: &[&Kind]) -> String {
    let mut text = format!(
        "# yaml-language-server: $schema={SCHEMA}\n\
         farhelm: v1\n\
         fleet: {fleet}\n\
         \n\
         # `farhelm plan` says what would be done, `farhelm apply` does it, `farhelm down` ends all of it.\n\
         # `farhelm explain sessions` lists what can be said of a session, `farhelm explain kind NAME` what an agent can.\n\
         \n\
         # Said here, it holds for every session that does not say otherwise.\n\
         # defaults:\n\
         #   permissions: yolo\n\
         #   restart: {{when: on-failure}}\n\
         \n\
         sessions:\n"
    );
    match found.split_first() {
        None => text.push_str(&format!(
            "  # No known agent was found in PATH. Any terminal program can be a session.\n\
             \x20 shell:\n    invocation: [bash]\n    dir: {dir}\n"
        )),
        Some((first, others)) => {
            text.push_str(&session(first, dir, ""));
            for kind in others {
                text.push_str(&format!("\n{}", session(kind, dir, "# ")));
            }
        }
    }
    if !absent.is_empty() {
        text.push_str(&format!("\n# Known as well, and not found in PATH: {}.\n", names(absent)));
    }
    text
}

/// One agent's session; `mark` makes a comment of it.
fn session(kind: &Kind, dir: &str, mark: &str) -> String {
    let can = choice::expressible(kind).join(", ");
    let mut lines = vec![
        format!("  # {}. Can say: {can}", kind.about),
        format!("  {mark}{}:", kind.name),
        format!("  {mark}  profile: {}", kind.name),
        format!("  {mark}  dir: {dir}"),
    ];
    if kind.prompt.is_some() {
        lines.push("  #   prompt: What it is told once, at its first launch.".to_owned());
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleets_name_is_made_of_the_directorys() {
        for (dir, name) in [("/src/My App", "my-app"), ("/src/.dots.", "dots"), ("/", "my-fleet"), ("/ü", "my-fleet")]
        {
            assert_eq!(name_of(Path::new(dir)), name);
        }
    }
}
