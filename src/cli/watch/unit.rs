//! The systemd user unit that keeps `watch` running.

use std::ffi::OsStr;
use std::path::Path;

use crate::cli::args;
use crate::cli::context::Context;
use crate::cli::error::CliError;

/// The unit, for `~/.config/systemd/user/farhelm.service`.
///
/// # Errors
/// When a path is no text.
pub(super) fn text(context: &Context, args: &args::Watch) -> Result<String, CliError> {
    let cwd = std::env::current_dir()?;
    let mut words = vec![std::env::current_exe()?.into_os_string()];
    words.extend(["--state-dir".into(), context.state_dir().into_os_string()]);
    words.extend(["--tmux-socket".into(), OsStr::new(&context.global.tmux_socket).to_owned(), "watch".into()]);
    words.extend(args.no_heal.then(|| "--no-heal".into()));
    words.extend(args.no_apply.then(|| "--no-apply".into()));
    for pair in &args.files.var {
        words.extend(["--var".into(), pair.into()]);
    }
    for file in &args.files.vars {
        words.extend(["--vars".into(), cwd.join(file).into_os_string()]);
    }
    words.extend(args.files.paths.iter().map(|path| cwd.join(path).into_os_string()));
    let words = words.iter().map(|word| quoted(word)).collect::<Result<Vec<_>, _>>()?;
    Ok(format!(
        "# systemctl --user enable --now farhelm, with this file as ~/.config/systemd/user/farhelm.service\n\
         # (and `loginctl enable-linger`, so that it runs without a login).\n\
         [Unit]\n\
         Description=farhelm keeps a fleet of agents\n\
         \n\
         [Service]\n\
         Type=notify\n\
         WorkingDirectory={cwd}\n\
         ExecStart={command}\n\
         ExecReload=kill -HUP $MAINPID\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         WatchdogSec=180\n\
         # Only farhelm itself is ended: the tmux server and every session live on.\n\
         KillMode=process\n\
         # An agent that runs out of memory must not take the others with it.\n\
         OOMPolicy=continue\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        cwd = specifiers(path_text(&cwd)?),
        command = words.join(" "),
    ))
}

fn path_text(path: &Path) -> Result<&str, CliError> {
    path.to_str().ok_or_else(|| CliError::Other(format!("{} is not valid UTF-8", path.display())))
}

/// `%` begins a specifier.
fn specifiers(text: &str) -> String {
    text.replace('%', "%%")
}

/// A word of a command line, as systemd.service(5) reads it.
fn quoted(word: &OsStr) -> Result<String, CliError> {
    let text = path_text(Path::new(word))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.=,:+@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '$' => quoted.push_str("$$"),
            '%' => quoted.push_str("%%"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Ok(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_systemd() {
        for (word, written) in [
            ("/usr/bin/farhelm", "/usr/bin/farhelm"),
            ("/home/u/my fleet.yaml", "\"/home/u/my fleet.yaml\""),
            ("a=$HOME%h\"\\", "\"a=$$HOME%%h\\\"\\\\\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(OsStr::new(word)).unwrap(), written);
        }
    }
}
