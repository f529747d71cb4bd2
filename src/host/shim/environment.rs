//! The environment of a launch.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::process::Command;

use crate::state::launch_files::LaunchSpec;

/// The variables by which farhelm finds what belongs to a session.
const MARKERS: [&str; 5] =
    ["FARHELM_SESSION_ID", "FARHELM_AGENT_ID", "FARHELM_SESSION_TOKEN", "FARHELM_SUPERVISOR_SOCK", "FARHELM_TAB_ID"];

/// A pane is no client of the tmux that holds it: an agent that types into "its" tmux would type into ours.
const TERMINAL: [&str; 2] = ["TMUX", "TMUX_PANE"];

/// Where programs are looked for when nobody says.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What a launch changes in the environment it inherits from the login shell.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment {
    /// Variables to set.
    pub set: BTreeMap<String, OsString>,
    /// Variables to remove; none of them is in `set`.
    pub unset: BTreeSet<String>,
}

impl Environment {
    /// Makes `command` run in it.
    pub fn apply(&self, command: &mut Command) {
        for name in &self.unset {
            command.env_remove(name);
        }
        command.envs(&self.set);
    }

    /// Where programs are looked for.
    #[must_use]
    pub fn path(&self) -> &OsStr {
        self.set.get("PATH").map_or(OsStr::new(USUAL_PATH), OsString::as_os_str)
    }
}

/// The environment of `spec`, on top of an inherited one whose `PATH` is `inherited_path`.
///
/// The session's own variables win over what is scrubbed and over `COLORTERM`, never over farhelm's markers. An agent
/// has no tab marker; a tab has neither the agent marker nor the token, since nothing in it speaks for the agent.
#[must_use]
pub fn environment(spec: &LaunchSpec, inherited_path: Option<&OsStr>) -> Environment {
    let mut set: BTreeMap<String, OsString> = BTreeMap::from([("COLORTERM".to_owned(), "truecolor".into())]);
    // The shell may have gone elsewhere in its rc files, and a program may prefer this spelling of where it is.
    set.insert("PWD".to_owned(), spec.dir.clone().into());
    set.extend(spec.env.iter().map(|(name, value)| (name.clone(), value.into())));
    set.retain(|name, _| !MARKERS.contains(&name.as_str()));

    let session = spec.session.to_string();
    set.insert("FARHELM_SESSION_ID".to_owned(), session.clone().into());
    set.insert("FARHELM_SUPERVISOR_SOCK".to_owned(), spec.socket.clone().into());
    match spec.tab {
        Some(tab) => {
            set.insert("FARHELM_TAB_ID".to_owned(), tab.to_string().into());
        }
        None => {
            set.insert("FARHELM_AGENT_ID".to_owned(), session.into());
            set.insert("FARHELM_SESSION_TOKEN".to_owned(), spec.token.clone().into());
        }
    }
    let path = set.get("PATH").map(OsString::as_os_str).or(inherited_path);
    let path = path.filter(|path| !path.is_empty()).unwrap_or(OsStr::new(USUAL_PATH));
    set.insert("PATH".to_owned(), with_first(spec.bin_dir.as_os_str(), path));

    let unset = MARKERS.iter().chain(&TERMINAL).map(|name| (*name).to_owned()).chain(spec.unset.iter().cloned());
    let unset = unset.filter(|name| !set.contains_key(name)).collect();
    Environment { set, unset }
}

/// `path` with `dir` in front. A directory with a `:` in its name cannot be in a `PATH`.
fn with_first(dir: &OsStr, path: &OsStr) -> OsString {
    let rest = std::env::split_paths(path).filter(|other| other != dir);
    let all = std::iter::once(dir.into()).chain(rest);
    std::env::join_paths(all).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::spec;
    use super::*;

    fn text<'a>(environment: &'a Environment, name: &str) -> Option<&'a str> {
        environment.set.get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn an_agent_is_marked_as_agent_and_not_as_tab() {
        let spec = spec("/tmp", &["x"]);
        let environment = environment(&spec, None);
        let session = spec.session.to_string();
        assert_eq!(text(&environment, "FARHELM_SESSION_ID"), Some(session.as_str()));
        assert_eq!(text(&environment, "FARHELM_AGENT_ID"), Some(session.as_str()));
        assert_eq!(text(&environment, "FARHELM_SESSION_TOKEN"), Some("token"));
        assert_eq!(text(&environment, "FARHELM_SUPERVISOR_SOCK"), Some("/state/socket"));
        assert!(environment.unset.contains("FARHELM_TAB_ID"));
    }

    #[test]
    fn a_tab_is_marked_as_tab_and_not_as_agent_and_has_no_token() {
        let mut spec = spec("/tmp", &["x"]);
        let tab = crate::state::record::SessionId(uuid::Uuid::from_u128(7));
        spec.tab = Some(tab);
        let environment = environment(&spec, None);
        assert_eq!(text(&environment, "FARHELM_SESSION_ID"), Some(spec.session.to_string().as_str()));
        assert_eq!(text(&environment, "FARHELM_TAB_ID"), Some(tab.to_string().as_str()));
        assert!(environment.unset.contains("FARHELM_AGENT_ID"));
        assert!(environment.unset.contains("FARHELM_SESSION_TOKEN"));
    }

    #[test]
    fn the_sessions_own_variables_win_but_over_markers() {
        let mut spec = spec("/tmp", &["x"]);
        spec.unset = vec!["CLAUDECODE".to_owned(), "GEMINI_CLI".to_owned()];
        for name in ["CLAUDECODE", "COLORTERM", "FARHELM_AGENT_ID", "FARHELM_TAB_ID"] {
            spec.env.insert(name.to_owned(), "mine".to_owned());
        }
        let environment = environment(&spec, None);
        assert_eq!(text(&environment, "CLAUDECODE"), Some("mine"));
        assert_eq!(text(&environment, "COLORTERM"), Some("mine"));
        assert_ne!(text(&environment, "FARHELM_AGENT_ID"), Some("mine"));
        assert_eq!(text(&environment, "FARHELM_TAB_ID"), None);
        let unset: Vec<&str> = environment.unset.iter().map(String::as_str).collect();
        assert_eq!(unset, ["FARHELM_TAB_ID", "GEMINI_CLI", "TMUX", "TMUX_PANE"]);
    }

    #[test]
    fn farhelms_directory_is_first_in_the_path_and_only_once() {
        let mut spec = spec("/tmp", &["x"]);
        let inherited = OsStr::new("/usr/bin:/opt/farhelm:/bin");
        assert_eq!(text(&environment(&spec, Some(inherited)), "PATH"), Some("/opt/farhelm:/usr/bin:/bin"));
        assert_eq!(text(&environment(&spec, None), "PATH"), Some("/opt/farhelm:/usr/local/bin:/usr/bin:/bin"));
        spec.env.insert("PATH".to_owned(), "/only".to_owned());
        assert_eq!(text(&environment(&spec, Some(inherited)), "PATH"), Some("/opt/farhelm:/only"));
        spec.bin_dir = "/a:b".into();
        assert_eq!(text(&environment(&spec, Some(inherited)), "PATH"), Some("/only"));
    }
}
