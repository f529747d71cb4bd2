//! What a field of the fleet file means, from the schema.

use serde_json::Value;

use super::check::{self, expected};
use super::suggest::nearest;

/// What is said of the field at `path` (`sessions.restart.when`, `sessions.api.dir`, `policy`); of the empty path, the
/// top level's fields. None where there is no such field.
#[must_use]
pub fn field(path: &str) -> Option<String> {
    let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
    Some(describe(path, find(check::root(), &steps)?))
}

/// A path near to one that is none.
#[must_use]
pub fn suggestions(path: &str) -> Vec<String> {
    let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
    for known in (0..steps.len()).rev() {
        let Some(schema) = find(check::root(), &steps[..known]) else { continue };
        let schema = check::resolve(schema);
        let elements = schema.get("additionalProperties").filter(|it| it.is_object()).map(check::resolve);
        let names = [Some(schema), elements].into_iter().flatten().flat_map(fields).map(|(name, _)| name);
        if let Some(near) = nearest(steps[known], names.map(String::as_str)) {
            return vec![[&steps[..known], &[near]].concat().join(".")];
        }
    }
    Vec::new()
}

/// The schema of a path. In a map of names a step may be a name, `*`, or be left out.
fn find(schema: &'static Value, steps: &[&str]) -> Option<&'static Value> {
    let Some((first, rest)) = steps.split_first() else { return Some(schema) };
    let schema = check::resolve(schema);
    if let Some(found) = schema.get("properties").and_then(|fields| fields.get(*first)).and_then(|it| find(it, rest)) {
        return Some(found);
    }
    let elements = schema.get("additionalProperties").filter(|it| it.is_object())?;
    let is_map = check::resolve(elements).get("properties").is_some();
    let without_name =
        if is_map { check::resolve(elements).get("properties").and_then(|it| it.get(*first)) } else { None };
    without_name.and_then(|it| find(it, rest)).or_else(|| find(elements, rest))
}

fn describe(path: &str, schema: &'static Value) -> String {
    let target = check::resolve(schema);
    let text = |schema: &'static Value, key: &str| schema.get(key).and_then(Value::as_str);
    let mut out = String::new();
    if !path.is_empty() {
        out.push_str(&format!("{path}: {}\n\n", expected(Some(schema)).unwrap_or_else(|| "any value".to_owned())));
    }
    let about = [text(schema, "description"), text(target, "description").filter(|_| !std::ptr::eq(schema, target))];
    for about in about.into_iter().flatten() {
        about.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
    }
    if let Some(default) = schema.get("default") {
        out.push_str(&format!(
            "\n  default: {}\n",
            default.as_str().map_or_else(|| default.to_string(), str::to_owned)
        ));
    }
    if let Some(change) = text(schema, "x-change") {
        out.push_str(&format!("\n  a change means: {change}\n"));
    }
    let elements = target.get("additionalProperties").filter(|it| it.is_object()).map(check::resolve);
    let (heading, fields) = match elements.filter(|it| it.get("properties").is_some()) {
        Some(elements) => ("\n  fields of each:\n", fields(elements)),
        None => ("\n  fields:\n", fields(target)),
    };
    if !fields.is_empty() {
        out.push_str(heading);
    }
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, field) in fields {
        let about =
            text(field, "description").or_else(|| text(check::resolve(field), "description")).unwrap_or_default();
        out.push_str(&format!("    {name:width$}  {}\n", about.lines().next().unwrap_or_default()));
    }
    out
}

fn fields(schema: &'static Value) -> Vec<(&'static String, &'static Value)> {
    schema.get("properties").and_then(Value::as_object).map(|fields| fields.iter().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_with_or_without_the_name_of_its_owner() {
        for path in
            ["sessions.restart.when", "sessions.api.restart.when", "profiles.*.restart.when", "defaults.restart.when"]
        {
            let text = field(path).unwrap();
            assert!(text.contains("expected") || text.contains("`on-failure`"), "{text}");
            assert!(text.contains("default: on-failure"), "{text}");
        }
        let model = field("sessions.model").unwrap();
        assert!(model.contains("a change means: restart") && model.starts_with("sessions.model: text"), "{model}");
        assert!(field("").unwrap().contains("profiles"));
        assert!(field("sessions").unwrap().contains("fields of each"));
        assert!(field("sessions.env.PATH").is_some());
    }

    #[test]
    fn a_misspelt_field_gets_a_suggestion() {
        assert_eq!(field("sessions.restrat.when"), None);
        assert_eq!(suggestions("sessions.restrat.when"), ["sessions.restart"]);
        assert_eq!(suggestions("polcy"), ["policy"]);
        assert_eq!(field("policy.nope"), None);
    }

    #[test]
    fn every_field_is_described() {
        let mut open: Vec<(String, &'static Value)> = vec![(String::new(), check::root())];
        open.extend(check::root()["definitions"].as_object().unwrap().iter().map(|(name, it)| (name.clone(), it)));
        for (owner, schema) in open {
            for (name, it) in fields(schema) {
                assert!(it.get("description").is_some(), "{owner}.{name}");
            }
        }
    }
}
