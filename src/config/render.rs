//! The effective fleet as YAML: every default filled in, every variable filled, values of `env` hidden.
//!
//! Without `env` the text is a fleet file that gives the same fleet again.

use std::path::Path;

use super::desired::{Dir, EnvValue, OnLost, Policy, SecretRef, Session, Spawn, Tab};
use super::layers::{Layers, steps};
use super::load::{Loaded, Origins};
use super::tree::reads_as_text;
use crate::spec::duration::Period;
use crate::spec::settings::{Permissions, RestartWhen, Trust, UpdateWhen};

/// The effective fleet. With `origin`, each value is followed by the file and line that said it.
#[must_use]
pub fn fleet(loaded: &Loaded, origin: bool) -> String {
    let Loaded { desired, origins, .. } = loaded;
    let nowhere = Layers::default();
    let mut out = Out { text: String::new(), origin, origins, layers: &nowhere, indent: 0, path: Vec::new() };
    out.text.push_str("farhelm: v1\n");
    let fleet = desired.fleet.as_ref().map_or("", |name| name.as_str());
    out.text.push_str(&format!("fleet: {}\n", scalar(fleet)));
    if let Some(from) = &desired.moved_from {
        out.text.push_str(&format!("moved: {{from: {}}}\n", scalar(from.as_str())));
    }
    out.layers = &origins.policy;
    out.text.push_str("policy:\n");
    policy(&mut out, &desired.policy);
    spawn(&mut out, &desired.spawn);
    if !desired.sessions.is_empty() {
        out.text.push_str("sessions:\n");
    }
    for (name, it) in &desired.sessions {
        out.layers = origins.sessions.get(name).unwrap_or(&nowhere);
        let profile = it.profile.as_ref().map(|profile| format!("  # profile {profile}")).unwrap_or_default();
        out.text.push_str(&format!("  {}:{profile}\n", scalar(name.as_str())));
        session(&mut out, it);
    }
    out.text
}

struct Out<'a> {
    text: String,
    origin: bool,
    origins: &'a Origins,
    layers: &'a Layers,
    indent: usize,
    path: Vec<String>,
}

impl Out<'_> {
    /// One value on a line.
    fn value(&mut self, key: &str, value: impl AsRef<str>) {
        let indent = "  ".repeat(self.indent);
        self.text.push_str(&format!("{indent}{}: {}", scalar(key), value.as_ref()));
        if self.origin {
            let comment = self.comment(key);
            self.text.push_str(&format!("  # {comment}"));
        }
        self.text.push('\n');
    }

    /// A map of values.
    fn map(&mut self, key: &str, inner: impl FnOnce(&mut Self)) {
        self.text.push_str(&format!("{}{}:\n", "  ".repeat(self.indent), scalar(key)));
        self.indent += 1;
        self.path.push(key.to_owned());
        inner(self);
        self.path.pop();
        self.indent -= 1;
    }

    fn comment(&self, key: &str) -> String {
        let path: Vec<&str> = self.path.iter().map(String::as_str).chain([key]).collect();
        let at = |path: &[&str]| self.layers.origin(&self.origins.files, &steps(path));
        // A value can come from a file that the fleet file names.
        let named = match (path.as_slice(), key) {
            (["env", _], _) => at(&["env_file"]),
            (_, "prompt") => at(&["prompt_file"]),
            _ => None,
        };
        let built_in = self.layers.built_in.as_ref().filter(|_| matches!(path[..], ["kind" | "invocation"]));
        at(&path).or(named).unwrap_or_else(|| match built_in {
            Some(name) => format!("built-in profile {name}"),
            None => "default".to_owned(),
        })
    }
}

fn policy(out: &mut Out<'_>, policy: &Policy) {
    out.indent = 1;
    out.value("prune", policy.prune.to_string());
    out.value("max_reap", policy.max_reap.to_string());
    if let Some(limit) = policy.max_running {
        out.value("max_running", limit.to_string());
    }
    if let Some(limit) = policy.max_unavailable {
        out.value("max_unavailable", limit.to_string());
    }
    out.map("launch", |out| {
        out.value("parallel", policy.parallel.to_string());
        out.value("stagger", Period(policy.stagger).to_string());
    });
    out.map("watch", |out| out.value("prune", policy.watch_prune.to_string()));
}

fn spawn(out: &mut Out<'_>, spawn: &Spawn) {
    if spawn.templates.is_empty() {
        return;
    }
    out.indent = 1;
    out.map("spawn", |out| {
        let profiles: Vec<String> = spawn.templates.keys().map(ToString::to_string).collect();
        out.value("allow", list(&profiles));
        out.value("max_children", spawn.max_children.to_string());
        out.value("max_depth", spawn.max_depth.to_string());
    });
}

fn session(out: &mut Out<'_>, session: &Session) {
    out.indent = 2;
    if let Some(from) = &session.moved_from {
        out.map("moved", |out| out.value("from", scalar(from.as_str())));
    }
    out.value("kind", scalar(session.kind.as_str()));
    out.value("invocation", list(&session.invocation));
    if let Some(resume) = &session.resume {
        out.value("resume", list(resume));
    }
    dir(out, &session.dir);
    let choices = &session.choices;
    for (key, choice) in [("model", &choices.model), ("effort", &choices.effort)] {
        if let Some(choice) = choice {
            out.value(key, scalar(choice));
        }
    }
    out.value("permissions", if choices.permissions == Permissions::Yolo { "yolo" } else { "default" });
    if let Some(trust) = choices.trust {
        out.value("trust", if trust == Trust::Trusted { "trusted" } else { "untrusted" });
    }
    environment(out, session);
    if choices.bypass_hook_trust {
        out.value("hook_trust", "bypass");
    }
    if choices.agent_view {
        out.value("agent_view", "on");
    }
    out.value("hooks", if session.hooks { "on" } else { "off" });
    out.value("resume_assigned", session.resume_assigned.to_string());
    if let Some(prompt) = &session.prompt {
        out.value("prompt", scalar(prompt));
    }
    out.value("desired", if session.running { "running" } else { "stopped" });
    if let Some(title) = &session.title {
        out.value("title", scalar(title));
    }
    if !session.labels.is_empty() {
        out.map("labels", |out| session.labels.iter().for_each(|(name, text)| out.value(name, scalar(text))));
    }
    out.value("priority", session.priority.to_string());
    policies(out, session);
    if !session.tabs.is_empty() {
        out.map("tabs", |out| session.tabs.iter().for_each(|(name, it)| tab(out, name.as_str(), it)));
    }
    if let Some(before) = &session.before_launch {
        out.map("before_launch", |out| {
            out.value("run", list(&before.run));
            out.value("timeout", Period(before.timeout).to_string());
            out.value("on", if before.always { "always" } else { "fresh" });
        });
    }
}

fn policies(out: &mut Out<'_>, session: &Session) {
    let restart = &session.restart;
    out.map("restart", |out| {
        out.value(
            "when",
            match restart.when {
                RestartWhen::Never => "never",
                RestartWhen::OnFailure => "on-failure",
                RestartWhen::Always => "always",
            },
        );
        out.map("backoff", |out| {
            let lengths = [("initial", restart.initial), ("max", restart.max), ("reset_after", restart.reset_after)];
            lengths.iter().for_each(|(key, length)| out.value(key, Period(*length).to_string()));
        });
        out.value("max_restarts", restart.max_restarts.to_string());
    });
    out.map("update", |out| {
        out.value(
            "when",
            match session.update {
                UpdateWhen::Now => "now",
                UpdateWhen::Idle => "idle",
                UpdateWhen::Manual => "manual",
            },
        );
    });
    out.map("stop", |out| out.value("grace", Period(session.stop_grace).to_string()));
    out.value("on_lost_conversation", if session.on_lost_conversation == OnLost::Block { "block" } else { "fresh" });
    out.value("protect", session.protect.to_string());
}

fn dir(out: &mut Out<'_>, dir: &Dir) {
    out.value("dir", scalar(&dir.spelling));
}

fn environment(out: &mut Out<'_>, session: &Session) {
    let hidden = session.env.iter().filter(|(_, value)| matches!(value, EnvValue::Literal(_)));
    let names: Vec<&String> = hidden.map(|(name, _)| name).collect();
    if !names.is_empty() {
        out.map("env", |out| names.iter().for_each(|name| out.value(name, "(hidden)")));
    }
    let secrets = session.env.iter().filter_map(|(name, value)| match value {
        EnvValue::Secret(reference) => Some((name.clone(), reference, false)),
        EnvValue::Literal(_) => None,
    });
    let bundles = session.env_bundles.iter().enumerate().map(|(index, it)| (format!("BUNDLE_{}", index + 1), it, true));
    let all: Vec<_> = secrets.chain(bundles).collect();
    if !all.is_empty() {
        out.map("env_from", |out| all.iter().for_each(|(name, it, many)| out.value(name, reference(it, *many))));
    }
}

fn reference(reference: &SecretRef, many: bool) -> String {
    match reference {
        SecretRef::File { path, restart_on_change } => {
            let change = if *restart_on_change { ", on_change: restart" } else { "" };
            format!("{{file: {}{change}}}", scalar(&shown(path)))
        }
        SecretRef::Command { argv } => {
            let format = if many { ", format: dotenv" } else { "" };
            format!("{{command: {}{format}}}", list(argv))
        }
    }
}

fn tab(out: &mut Out<'_>, name: &str, tab: &Tab) {
    if tab.run.is_none() && tab.dir.is_none() && tab.env.is_empty() {
        return out.value(name, "{}");
    }
    out.map(name, |out| {
        if let Some(run) = &tab.run {
            out.value("run", list(run));
        }
        if let Some(it) = &tab.dir {
            dir(out, it);
        }
        if !tab.env.is_empty() {
            out.map("env", |out| tab.env.keys().for_each(|name| out.value(name, "(hidden)")));
        }
    });
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| scalar(word)).collect::<Vec<_>>().join(", "))
}

/// A text as a YAML scalar that means it: bare where that is safe, otherwise in double quotes, `$` escaped.
fn scalar(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        escaped.push(c);
        if c == '$' && chars.peek().is_some_and(|next| matches!(next, '$' | '{')) {
            escaped.push('$');
        }
    }
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~' | '+' | '=');
    let starts =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '.') || c == '~' && text.starts_with("~/");
    if text.starts_with(starts) && text.chars().all(safe) && reads_as_text(text) && !text.starts_with("...") {
        return escaped;
    }
    quoted(&escaped)
}

/// In double quotes; everything but printable ASCII letters as an escape where YAML would not take it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                out.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fixture;

    const FLEET: &str = r#"
defaults: {restart: {when: always}}
profiles: {mine: {extends: claude, model: "5"}}
sessions:
  a: {profile: mine, dir: ~/x, title: "$$ $${x} a: b #\n\u0001 é", labels: {n: yes, t: "true"}, tabs: {t: {}, u: {run: [tail, "-F", ""]}}}
  b: {invocation: "sh -c 'echo $1'", dir: "~", env_from: {T: {file: /x}, U: {command: [a, b], format: dotenv}}, before_launch: {run: x}}
"#;

    #[test]
    fn the_effective_fleet_gives_itself_again() {
        let first = fixture::fleet(FLEET).unwrap();
        let text = fleet(&first, false);
        let again = fixture::stdin(&text).unwrap_or_else(|problems| panic!("{text}\n{}", problems.render(false)));
        let mut sessions = first.desired.sessions.clone();
        sessions.values_mut().for_each(|session| session.profile = None);
        assert_eq!(again.desired.sessions, sessions);
        assert_eq!(again.desired.policy, first.desired.policy);
        assert_eq!(first.desired.sessions["a"].title.as_deref(), Some("$ ${x} a: b #\n\u{1} é"));
    }

    #[test]
    fn each_value_says_where_it_came_from() {
        let text = fleet(&fixture::fleet(FLEET).unwrap(), true);
        for line in [
            "      when: always  # <stdin>:4",
            "    model: \"5\"  # <stdin>:5",
            "    invocation: [claude]  # built-in profile claude",
            "    dir: ~/x  # <stdin>:7",
            "    stop:\n      grace: 5s  # default",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn values_of_the_environment_are_hidden() {
        let body = "sessions: {a: {invocation: [x], dir: /, env: {T: s3cret}, tabs: {t: {env: {T: s3cret}}}}}";
        let text = fleet(&fixture::fleet(body).unwrap(), true);
        assert!(!text.contains("s3cret") && text.contains("T: (hidden)"), "{text}");
    }
}
