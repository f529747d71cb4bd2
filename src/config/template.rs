//! `${…}`: filling text from `each`, variables and, only where asked for by that spelling, the environment.
//!
//! `${name}`, `${env:NAME}`, with `:-default` or `:?message` for what is unset or empty, and `$$` for one `$`. Any
//! other `$` is literal. Filled-in text is never filled again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::suggest::did_you_mean;

/// The deepest nesting of defaults in defaults.
const MAX_NESTING: usize = 8;

/// A row of `each`: names and their texts.
pub type Row = BTreeMap<String, String>;

/// Where names are looked up.
pub struct Scope<'a> {
    /// The row of `each`, which comes first.
    pub row: Option<&'a Row>,
    /// The variables.
    pub vars: &'a BTreeMap<String, String>,
    /// The environment.
    pub env: &'a BTreeMap<String, String>,
    /// Names taken from the environment so far.
    pub used: &'a RefCell<BTreeSet<String>>,
}

/// Why a text cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfilled {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl Scope<'_> {
    /// Fills `text`; none when there is nothing to fill in.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn fill(&self, text: &str) -> Result<Option<String>, Unfilled> {
        if !text.contains('$') {
            return Ok(None);
        }
        Reader { scope: self, rest: text }.text(false, 0).map(Some)
    }

    fn look_up(&self, name: &str) -> Option<&str> {
        if let Some(variable) = name.strip_prefix("env:") {
            self.used.borrow_mut().insert(variable.to_owned());
            return self.env.get(variable).map(String::as_str);
        }
        self.row.and_then(|row| row.get(name)).or_else(|| self.vars.get(name)).map(String::as_str)
    }

    fn unset(&self, name: &str) -> Unfilled {
        if let Some(variable) = name.strip_prefix("env:") {
            let help = format!("set it, or give a default: ${{env:{variable}:-…}}");
            return Unfilled { message: format!("`{variable}` is not set in the environment"), help: Some(help) };
        }
        let known = self.vars.keys().chain(self.row.into_iter().flat_map(BTreeMap::keys)).map(String::as_str);
        let literal = format!("define it in `vars`, or write `$${{{name}}}` for a literal `${{{name}}}`");
        let help = match (did_you_mean(name, known), self.env.contains_key(name)) {
            (Some(help), _) => help,
            (None, true) => format!("the environment's `{name}` is written `${{env:{name}}}`"),
            (None, false) => literal,
        };
        Unfilled { message: format!("`{name}` is not defined"), help: Some(help) }
    }
}

struct Reader<'a, 'text> {
    scope: &'a Scope<'a>,
    rest: &'text str,
}

impl Reader<'_, '_> {
    /// Reads to the end, or, `inside` braces, to the closing one, which is left.
    fn text(&mut self, inside: bool, depth: usize) -> Result<String, Unfilled> {
        let mut out = String::new();
        while let Some(at) = self.rest.find(if inside { &['$', '}'][..] } else { &['$'][..] }) {
            out.push_str(&self.rest[..at]);
            self.rest = &self.rest[at..];
            if self.rest.starts_with('}') {
                return Ok(out);
            } else if self.take("$$") {
                out.push('$');
            } else if self.take("${") {
                out.push_str(&self.reference(depth)?);
            } else {
                out.push('$');
                self.rest = &self.rest[1..];
            }
        }
        out.push_str(std::mem::take(&mut self.rest));
        Ok(out)
    }

    /// Reads behind `${`, to behind `}`.
    fn reference(&mut self, depth: usize) -> Result<String, Unfilled> {
        let open = || Unfilled {
            message: "a `${` is not closed by `}`".to_owned(),
            help: Some("write `$${` for a literal `${`".to_owned()),
        };
        if depth > MAX_NESTING {
            return Err(Unfilled { message: "defaults are nested too deeply".to_owned(), help: None });
        }
        let name_end = self.name_end();
        let (name, rest) = self.rest.split_at(name_end);
        self.rest = rest;
        let wants_default = self.take(":-");
        let wants_message = !wants_default && self.take(":?");
        let alternative = if wants_default || wants_message { self.text(true, depth + 1)? } else { String::new() };
        if !self.rest.contains('}') {
            return Err(open());
        }
        let plain_name = name.strip_prefix("env:").unwrap_or(name);
        if plain_name.is_empty() || !self.take("}") {
            return Err(Unfilled {
                message: "a `${…}` holds no name".to_owned(),
                help: Some(
                    "write ${name}, ${env:NAME}, ${name:-default} or ${name:?message}; `$${` is a literal `${`".into(),
                ),
            });
        }
        let optional = wants_default || wants_message;
        match self.scope.look_up(name).filter(|text| !optional || !text.is_empty()) {
            Some(text) => Ok(text.to_owned()),
            None if wants_default => Ok(alternative),
            None if wants_message => {
                Err(Unfilled { message: format!("`{plain_name}` is not set: {alternative}"), help: None })
            }
            None => Err(self.scope.unset(name)),
        }
    }

    fn name_end(&self) -> usize {
        let start = if self.rest.starts_with("env:") { 4 } else { 0 };
        let tail = &self.rest[start..];
        let mut length =
            tail.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(tail.len());
        if tail.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            length = 0;
        }
        start + length
    }

    fn take(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// The variables of a fleet, each filled from the others. `raw` are texts of the files; `given` are the operator's
/// (`--var`, `--vars`), taken as they are.
///
/// Beside them: the names that could not be filled, and why.
pub fn variables(
    raw: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
    env: &BTreeMap<String, String>,
    used: &RefCell<BTreeSet<String>>,
) -> (BTreeMap<String, String>, Vec<(String, Unfilled)>) {
    let mut vars = given.clone();
    let mut failed = Vec::new();
    let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, text) in raw.iter().filter(|(name, _)| !given.contains_key(*name)) {
        let needs = references(text).filter(|other| raw.contains_key(*other) && !given.contains_key(*other));
        let needs: BTreeSet<&str> = needs.collect();
        waits.insert(name, needs.len());
        needs.into_iter().for_each(|other| users.entry(other).or_default().push(name));
    }
    let mut ready: Vec<&str> = waits.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    while let Some(name) = ready.pop() {
        waits.remove(name);
        let text = &raw[name];
        let var = match (Scope { row: None, vars: &vars, env, used }).fill(text) {
            Ok(filled) => filled.unwrap_or_else(|| text.clone()),
            Err(unfilled) => {
                failed.push((name.to_owned(), unfilled));
                // Counts as empty from here on, so that nothing else is blamed for it.
                String::new()
            }
        };
        vars.insert(name.to_owned(), var);
        for user in users.get(name).into_iter().flatten() {
            if let Some(count) = waits.get_mut(user) {
                *count -= 1;
                ready.extend((*count == 0).then_some(*user));
            }
        }
    }
    for name in waits.into_keys() {
        failed.push((name.to_owned(), Unfilled { message: format!("`{name}` is defined by itself"), help: None }));
        vars.insert(name.to_owned(), String::new());
    }
    (vars, failed)
}

/// The names behind each `${` of a text.
fn references(text: &str) -> impl Iterator<Item = &str> {
    text.split("${").skip(1).map(|rest| rest.split([':', '}']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    fn fill(text: &str) -> Result<String, String> {
        let (env, used) = (map(&[("HOME", "/root"), ("EMPTY", "")]), RefCell::default());
        let (vars, _) = variables(&map(&[("src", "~/code"), ("empty", "")]), &map(&[]), &env, &used);
        let row = map(&[("repo", "web"), ("src", "row")]);
        let row = text.contains("repo").then_some(&row);
        let filled = Scope { row, vars: &vars, env: &env, used: &used }.fill(text);
        filled.map(|it| it.unwrap_or_else(|| text.to_owned())).map_err(|it| it.message)
    }

    #[test]
    fn names_are_filled_from_each_then_vars_and_from_the_environment_only_when_asked() {
        for (text, filled) in [
            ("${src}/api", "~/code/api"),
            ("${repo}:${src}", "web:row"),
            ("${env:HOME}/x", "/root/x"),
            ("${nope:-a ${src} b}", "a ~/code b"),
            ("${empty:-d}${env:EMPTY:-e}${env:NOPE:-}", "de"),
            ("$$ $${src} $HOME $1 $", "$ ${src} $HOME $1 $"),
            ("plain }", "plain }"),
            ("${src:?needed}", "~/code"),
        ] {
            assert_eq!(fill(text).as_deref(), Ok(filled), "{text}");
        }
        for (text, message) in [
            ("${nope}", "`nope` is not defined"),
            ("${HOME}", "`HOME` is not defined"),
            ("${env:NOPE}", "`NOPE` is not set in the environment"),
            ("${nope:?say where}", "`nope` is not set: say where"),
            ("${src", "a `${` is not closed by `}`"),
            ("${}", "a `${…}` holds no name"),
            ("${a b}", "a `${…}` holds no name"),
            ("${1}", "a `${…}` holds no name"),
        ] {
            assert_eq!(fill(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn variables_may_use_each_other_but_not_in_a_circle_and_given_ones_win() {
        let (env, used) = (map(&[("U", "secret")]), RefCell::default());
        let raw = map(&[("a", "${b}/a"), ("b", "${c}"), ("c", "x"), ("e", "${env:U}")]);
        let (vars, failed) = variables(&raw, &map(&[("c", "${given}")]), &env, &used);
        assert_eq!(failed, []);
        assert_eq!(vars["a"], "${given}/a");
        assert!(used.borrow().contains("U"));
        let (_, failed) = variables(&map(&[("a", "${b}"), ("b", "${a}")]), &map(&[]), &env, &used);
        assert_eq!(failed.len(), 2);
    }
}
