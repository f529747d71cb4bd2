//! The command of a pane: a login shell that becomes the shim.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Shells whose `-l -i -c 'exec …'` is known to read the files a login reads.
const SUPPORTED: [&str; 2] = ["bash", "zsh"];

/// Shells that take the same options and quoting, but were not tried.
const SIMILAR: [&str; 7] = ["sh", "dash", "ash", "ksh", "mksh", "yash", "fish"];

/// A path that cannot be an argument of tmux.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not UTF-8: move it to a path that is", .0.display())]
pub struct NotText(pub PathBuf);

/// The command of a pane that becomes what the spec at `spec` says. `scope` is `systemd-run` and its options, the
/// unit's name included, without the closing `--`.
///
/// The shell is interactive besides being a login shell, since zsh reads `.zshrc` and many a `.bashrc` goes on only
/// then: as if one had logged in and typed it. Every word is quoted, so that the shell interprets none.
///
/// # Errors
/// [`NotText`].
pub fn pane_command(
    shell: &Path,
    farhelm: &Path,
    spec: &Path,
    scope: Option<&[String]>,
) -> Result<Vec<String>, NotText> {
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| NotText(path.to_owned()));
    let mut words = Vec::new();
    if let Some(scope) = scope {
        words.extend(scope.iter().cloned());
        words.push("--".to_owned());
    }
    words.extend([text(farhelm)?, "internal".to_owned(), "launch".to_owned(), text(spec)?]);
    let inner = words.iter().map(|word| format!(" '{}'", word.replace('\'', r"'\''"))).collect::<String>();
    Ok(vec![text(shell)?, "-l".to_owned(), "-i".to_owned(), "-c".to_owned(), format!("exec{inner}")])
}

/// The shell to launch through: `$SHELL`, else the account's (`passwd`), else `/bin/sh`; and a warning when it is not
/// one of the supported ones. `usable` says whether a path is an executable file.
///
/// A shell that takes other options (`tcsh`, `nu`) or refuses to be one (`nologin`) is passed over.
pub fn login_shell(
    env_shell: Option<&OsStr>,
    passwd: Option<&Path>,
    usable: impl Fn(&Path) -> bool,
) -> (PathBuf, Option<String>) {
    let mut passed_over = Vec::new();
    for shell in env_shell.map(Path::new).into_iter().chain(passwd) {
        let name = shell.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !shell.is_absolute() || !usable(shell) || !(SUPPORTED.contains(&name) || SIMILAR.contains(&name)) {
            passed_over.push(format!("`{}`", shell.display()));
            continue;
        }
        let untried =
            format!("launching through `{}`, which was not tried: bash and zsh are supported", shell.display());
        return (shell.to_owned(), SIMILAR.contains(&name).then_some(untried));
    }
    let why = match passed_over.as_slice() {
        [] => "no login shell is known".to_owned(),
        shells => format!("cannot launch through {}", shells.join(" or ")),
    };
    let warning = format!("{why}; using `/bin/sh`, so that only `.profile` is read (bash and zsh are supported)");
    (PathBuf::from("/bin/sh"), Some(warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_inner_command_is_quoted() {
        let scope = ["/usr/bin/systemd-run", "--unit=farhelm-x"].map(str::to_owned);
        let command =
            pane_command(Path::new("/bin/bash"), Path::new("/o'p/far helm"), Path::new("/s/$x.1.json"), Some(&scope));
        assert_eq!(
            command.unwrap(),
            [
                "/bin/bash",
                "-l",
                "-i",
                "-c",
                r"exec '/usr/bin/systemd-run' '--unit=farhelm-x' '--' '/o'\''p/far helm' 'internal' 'launch' '/s/$x.1.json'"
            ]
        );
    }

    #[test]
    fn a_path_that_is_no_text_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let odd = Path::new(OsStr::from_bytes(b"/\xff"));
        assert_eq!(pane_command(Path::new("/bin/sh"), odd, Path::new("/x"), None), Err(NotText(odd.to_owned())));
    }

    #[test]
    fn a_supported_shell_of_the_environment_goes_first() {
        let all = |_: &Path| true;
        let bash = Path::new("/bin/bash");
        assert_eq!(login_shell(Some(OsStr::new("/bin/zsh")), Some(bash), all), (PathBuf::from("/bin/zsh"), None));
        assert_eq!(login_shell(None, Some(bash), all), (bash.to_owned(), None));
    }

    #[test]
    fn a_shell_that_cannot_do_it_is_passed_over() {
        let all = |_: &Path| true;
        let bash = Path::new("/bin/bash");
        for odd in ["/usr/bin/nu", "/usr/sbin/nologin", "bash", ""] {
            assert_eq!(login_shell(Some(OsStr::new(odd)), Some(bash), all).0, bash, "{odd}");
        }
        let (shell, warning) = login_shell(Some(OsStr::new("/usr/bin/nu")), None, all);
        assert_eq!(shell, Path::new("/bin/sh"));
        assert!(warning.unwrap().starts_with("cannot launch through `/usr/bin/nu`; using `/bin/sh`"));
        let (shell, warning) = login_shell(Some(OsStr::new("/bin/zsh")), Some(bash), |shell| shell == bash);
        assert_eq!((shell.as_path(), warning), (bash, None));
    }

    #[test]
    fn a_shell_that_was_not_tried_is_used_with_a_warning() {
        let (shell, warning) = login_shell(Some(OsStr::new("/usr/bin/fish")), None, |_| true);
        assert_eq!(shell, Path::new("/usr/bin/fish"));
        assert!(warning.unwrap().contains("not tried"));
    }
}
