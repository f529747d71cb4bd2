//! `explain`

use crate::agents::catalogue;
use crate::config::explain;

use super::args::Explain;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Explains a field, or a kind.
///
/// # Errors
/// When there is no such field or kind.
pub fn run(context: &Context, args: &Explain) -> Result<Exit, CliError> {
    let words: Vec<&str> = args.path.iter().map(String::as_str).collect();
    let text = match words.as_slice() {
        ["kind"] => catalogue::builtin().values().map(|kind| format!("{:<12} {}\n", kind.name, kind.about)).collect(),
        ["kind", name] => {
            let kind = catalogue::builtin()
                .get(*name)
                .ok_or_else(|| CliError::Other(format!("no kind `{name}`; `farhelm explain kind` lists them")))?;
            let data = serde_yaml::to_string(kind).map_err(|error| CliError::Other(error.to_string()))?;
            if kind.executables.is_empty() { data } else { format!("# {}\n{data}", kind.lasts()) }
        }
        [] => field("")?,
        [path] => field(path)?,
        _ => return Err(CliError::Usage("write one field path, or `kind NAME`".to_owned())),
    };
    context.output.data(&text)?;
    Ok(Exit::Ok)
}

fn field(path: &str) -> Result<String, CliError> {
    explain::field(path).ok_or_else(|| {
        let near = explain::suggestions(path);
        let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
        CliError::Other(format!("no field `{path}`{hint}"))
    })
}
