//! Commands into which nothing is injected. The whole command line is looked at, a wrapper's own arguments too.

use super::super::kind::Kind;
use super::super::kind::reports::Skips;
use super::Skip;

/// Whether the hook may be appended to `argv`.
pub(super) fn check(kind: &Kind, skips: &Skips, argv: &[String]) -> Result<(), Skip> {
    if skips.double_dash && argv.iter().any(|arg| arg == "--") {
        return Err(Skip::OptionsEnded);
    }
    let mut program_before = false;
    for (place, arg) in argv.iter().enumerate() {
        if let Some(word) = skips.options.iter().find(|word| is_option(arg, word)) {
            return Err(Skip::OwnHooks(word.clone()));
        }
        if let Some(key) = config_key(argv, place).filter(|key| skips.config_keys.iter().any(|own| is_below(key, own)))
        {
            return Err(Skip::OwnHooks(key.to_owned()));
        }
        let command = program_before && skips.commands.contains(arg);
        if command || (place > 0 && skips.flags.contains(arg)) {
            return Err(Skip::Utility(arg.clone()));
        }
        program_before = kind.is_program(arg);
    }
    Ok(())
}

/// Whether `arg` is the option `word`, alone or with its value.
fn is_option(arg: &str, word: &str) -> bool {
    arg.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// The key that the configuration option at `place` sets: `-c k=v`, `-ck=v`, `-c=k=v`, `--config k=v`, `--config=k=v`.
fn config_key(argv: &[String], place: usize) -> Option<&str> {
    let arg = argv[place].as_str();
    let next = || argv.get(place + 1).map(String::as_str);
    let value = match arg.strip_prefix("--config") {
        Some("") => next()?,
        Some(rest) => rest.strip_prefix('=')?,
        None => match arg.strip_prefix("-c")? {
            "" => next()?,
            rest => rest.strip_prefix('=').unwrap_or(rest),
        },
    };
    Some(value.split_once('=').map_or(value, |(key, _)| key).trim())
}

/// Whether `key` is `own` or below it.
fn is_below(key: &str, own: &str) -> bool {
    key.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
