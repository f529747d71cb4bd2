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
            let kind = catalogue::builtin().get(*name).ok_or_else(|| {
                CliError::Other(format!("no kind `{name}`; `farhelm explain kind` lists them"))
            })?;
            serde_yaml::to_string(kind).map_err(|error| CliError::Other(error.to_string()))?
        }
        [] => explain::field("").map_err(CliError::Other)?,
        [path] => explain::field(path).map_err(CliError::Other)?,
        _ => return Err(CliError::Usage("write one field path, or `kind NAME`".to_owned())),
    };
    context.output.data(&text)?;
    Ok(Exit::Ok)
}
