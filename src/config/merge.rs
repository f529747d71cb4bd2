//! Field by field: what a higher level says, and what it leaves to the one below.

use std::collections::BTreeMap;

use crate::spec::settings::{Backoff, BeforeLaunch, RestartPolicy, Settings, Stop, Tab, Update};

/// Something that can be laid over another of its type.
pub trait Over: Sized {
    /// This, completed by what is below.
    #[must_use]
    fn over(self, below: &Self) -> Self;
}

/// Each field: this one's, or else the one below's.
macro_rules! either {
    ($type:ident { $($field:ident),* $(,)? } deep { $($deep:ident),* $(,)? }) => {
        impl Over for $type {
            fn over(self, below: &Self) -> Self {
                Self {
                    $($field: self.$field.or_else(|| below.$field.clone()),)*
                    $($deep: deep(self.$deep, below.$deep.as_ref()),)*
                }
            }
        }
    };
}

either!(RestartPolicy { when, max_restarts } deep { backoff });
either!(Backoff { initial, max, reset_after } deep {});
either!(Update { when } deep {});
either!(Stop { grace } deep {});
either!(BeforeLaunch { run, timeout, on } deep {});
either!(Tab { run, dir } deep { env });

impl Over for Settings {
    fn over(mut self, below: &Self) -> Self {
        // A variable has one source: the higher level's, whichever of the two maps it is in.
        let mut below_env = below.env.clone();
        let mut below_from = below.env_from.clone();
        if let (Some(mine), Some(theirs)) = (&self.env_from, &mut below_env) {
            theirs.retain(|name, _| !mine.contains_key(name));
        }
        if let (Some(mine), Some(theirs)) = (&self.env, &mut below_from) {
            theirs.retain(|name, _| !mine.contains_key(name));
        }
        let env = deep(self.env.take(), below_env.as_ref());
        let env_from = deep(self.env_from.take(), below_from.as_ref());
        // A resume command belongs to its invocation.
        let resume = if self.invocation.is_some() {
            self.resume.take()
        } else {
            self.resume.take().or_else(|| below.resume.clone())
        };
        let rest = self.rest_over(below);
        Self { resume, env, env_from, ..rest }
    }
}

macro_rules! settings {
    ($($field:ident),* ; $($deep:ident),*) => {
        impl Settings {
            /// All fields but `env`, `env_from` and `resume`.
            fn rest_over(self, below: &Self) -> Self {
                Self {
                    $($field: self.$field.or_else(|| below.$field.clone()),)*
                    $($deep: deep(self.$deep, below.$deep.as_ref()),)*
                    env: None,
                    env_from: None,
                    resume: None,
                    // Each level's own affair.
                    each: self.each,
                    extends: self.extends,
                    moved: self.moved,
                }
            }
        }
    };
}

settings!(
    profile, kind, invocation, dir, model, effort, permissions, trust, env_file, hooks, hook_trust, agent_view,
    resume_assigned, prompt,
    prompt_file, desired, title, priority, on_lost_conversation, protect;
    labels, restart, update, stop, tabs, before_launch
);

impl<K: Ord + Clone, V: Over + Clone> Over for BTreeMap<K, V> {
    fn over(mut self, below: &Self) -> Self {
        for (key, theirs) in below {
            let merged = match self.remove(key) {
                Some(mine) => mine.over(theirs),
                None => theirs.clone(),
            };
            self.insert(key.clone(), merged);
        }
        self
    }
}

/// Whole values: the higher one counts.
macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Over for $type {
            fn over(self, _: &Self) -> Self {
                self
            }
        }
    )*};
}

whole!(crate::spec::words::Text, crate::spec::settings::EnvFrom);

fn deep<T: Over + Clone>(top: Option<T>, below: Option<&T>) -> Option<T> {
    match (top, below) {
        (Some(top), Some(below)) => Some(top.over(below)),
        (top, below) => top.or_else(|| below.cloned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(json: serde_json::Value) -> Settings {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn levels_merge_field_by_field_and_a_variable_has_one_source() {
        let below = settings(serde_json::json!({
            "invocation": ["a"], "resume": ["b"], "model": "m", "restart": {"when": "always", "max_restarts": 3},
            "env": {"X": 1, "Y": 2}, "env_from": {"Z": {"file": "z"}}, "tabs": {"t": {"run": ["x"], "dir": "/t"}},
        }));
        let top = settings(serde_json::json!({
            "invocation": ["c"], "restart": {"when": "never"}, "env": {"Z": "z"}, "env_from": {"X": {"file": "x"}},
            "tabs": {"t": {"run": ["y"]}},
        }));
        let merged = top.over(&below);
        let expected = settings(serde_json::json!({
            "invocation": ["c"], "model": "m", "restart": {"when": "never", "max_restarts": 3},
            "env": {"Y": 2, "Z": "z"}, "env_from": {"X": {"file": "x"}}, "tabs": {"t": {"run": ["y"], "dir": "/t"}},
        }));
        assert_eq!(merged, expected);
    }
}
