//! Checks values against the published schema, and says what is wrong in an operator's words.

use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::paths::LocationSegment;
use jsonschema::{Draft as JsonDraft, ValidationError, Validator};
use serde_json::Value;

use super::suggest::{did_you_mean, listed};
use super::tree::Step;
use crate::spec::schema;

/// The published text, which a test keeps equal to the types: reading it takes a third of the time of deriving it.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../schema/fleet.schema.json");
    serde_json::from_str(text).unwrap_or_else(|_| schema::fleet())
});

/// Compiled once. The schema is a constant of the program; that it compiles is proven by every test that finds a fault.
static VALIDATOR: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let patterns = jsonschema::PatternOptions::regex();
    jsonschema::options().with_draft(JsonDraft::Draft7).with_pattern_options(patterns).build(&SCHEMA).ok()
});

/// A violation of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The path of the value, or of the map that lacks or has a key.
    pub path: Vec<Step>,
    /// The path names a key that should not be there, so the key is what is wrong.
    pub at_key: bool,
    /// What is wrong.
    pub message: String,
    /// What was expected.
    pub expected: Option<String>,
    /// What to do.
    pub help: Option<String>,
}

/// The violations of a whole fleet file. Values under `env` are not shown.
pub fn violations(value: &Value) -> Vec<Violation> {
    let Some(validator) = VALIDATOR.as_ref() else { return Vec::new() };
    if validator.is_valid(value) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for error in validator.iter_errors(value) {
        explain(&error, &mut found);
    }
    found
}

fn explain(error: &ValidationError<'_>, found: &mut Vec<Violation>) {
    let path = steps(error);
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => {
            found.extend(unexpected.iter().map(|key| unknown_key(error, &path, key)));
        }
        Kind::PropertyNames { error: inner } => {
            let key = inner.instance().as_str().unwrap_or_default().to_owned();
            let message = format!("`{key}` cannot be a key here");
            let path = [path, vec![Step::Key(key)]].concat();
            found.push(Violation { path, at_key: true, message, expected: expected(parent(inner)), help: None });
        }
        Kind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            found.push(violation(path, format!("`{key}` is missing"), expected(property_schema(error, key))));
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => match branch(context) {
            Some(errors) => errors.iter().for_each(|error| explain(error, found)),
            None => found.push(wrong_value(error, path)),
        },
        _ => found.push(wrong_value(error, path)),
    }
}

/// The branch that is meant: of a choice of words, the words; else the one that fails deepest inside.
fn branch<'a>(context: &'a [Vec<ValidationError<'static>>]) -> Option<&'a [ValidationError<'static>]> {
    let is_template = |errors: &[ValidationError<'_>]| {
        errors.iter().any(|error| matches!(error.kind(), Kind::Pattern { pattern } if pattern == schema::TEMPLATE))
            || errors.iter().all(|error| error.schema_path().as_str().contains("/anyOf/1/"))
    };
    let depth =
        |errors: &[ValidationError<'_>]| errors.iter().map(|error| error.instance_path().segments().count()).max();
    let branches = context.iter().filter(|errors| !errors.is_empty() && !is_template(errors));
    branches.max_by_key(|errors| depth(errors)).map(Vec::as_slice)
}

fn violation(path: Vec<Step>, message: String, expected: Option<String>) -> Violation {
    Violation { path, at_key: false, message, expected, help: None }
}

fn unknown_key(error: &ValidationError<'_>, path: &[Step], key: &str) -> Violation {
    let known: Vec<&str> = parent(error)
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object)
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    Violation {
        path: [path, &[Step::from(key)]].concat(),
        at_key: true,
        message: format!("unknown key `{key}`"),
        expected: Some(format!("one of {}", listed(known.iter().copied(), "or"))),
        help: did_you_mean(key, known),
    }
}

fn wrong_value(error: &ValidationError<'_>, path: Vec<Step>) -> Violation {
    let value = error.instance();
    let said = match value.as_ref() {
        _ if path.contains(&Step::from("env")) => "this value (not shown)".to_owned(),
        Value::Null => "nothing (null)".to_owned(),
        Value::String(text) => format!("`{}`", text.replace('\n', " ")),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
        other => format!("`{other}`"),
    };
    let options = match error.kind() {
        Kind::Enum { options } => words(options),
        _ => Vec::new(),
    };
    let mut found = violation(path, format!("{said} is not valid here"), None);
    found.expected = match error.kind() {
        Kind::Enum { .. } => Some(listed(options.iter().map(String::as_str), "or")),
        _ => expected(parent(error)),
    };
    let meant = value.as_str().and_then(|text| did_you_mean(text, options.iter().map(String::as_str)));
    found.help = meant.or_else(|| hint(value, &found));
    found
}

/// What is usually behind a value of the wrong type.
fn hint(value: &Value, found: &Violation) -> Option<String> {
    let key = found.path.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Item(_) => None,
    });
    let wants_text = found.expected.as_deref().is_some_and(|words| words.starts_with("text"));
    match (value, key) {
        (Value::Null, Some("dir")) => Some("an unquoted `~` alone is YAML's null; write \"~\"".to_owned()),
        (Value::Null, _) => Some("leave the key out, or give it a value (`{}` is an empty map)".to_owned()),
        (Value::Number(_) | Value::Bool(_), _) if wants_text => Some("quote it".to_owned()),
        _ => None,
    }
}

fn words(options: &Value) -> Vec<String> {
    options.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The schema whose keyword failed.
fn parent(error: &ValidationError<'_>) -> Option<&'static Value> {
    let path = error.schema_path().as_str();
    SCHEMA.pointer(&path[..path.rfind('/')?])
}

fn property_schema(error: &ValidationError<'_>, key: &str) -> Option<&'static Value> {
    parent(error)?.get("properties")?.get(key)
}

/// What a schema wants, in words.
pub fn expected(schema: Option<&'static Value>) -> Option<String> {
    let schema = resolve(schema?);
    if let Some(words) = schema.get("x-expects").and_then(Value::as_str) {
        return Some(words.to_owned());
    }
    if let Some(options) = schema.pointer("/anyOf/0/enum").or_else(|| schema.get("enum")) {
        return Some(listed(words(options).iter().map(String::as_str), "or"));
    }
    let kind = match schema.get("type")? {
        Value::Array(types) => types.first()?.as_str()?,
        other => other.as_str()?,
    };
    Some(match kind {
        "integer" => match schema.get("minimum").and_then(Value::as_f64) {
            Some(least) => format!("a whole number, at least {least}"),
            None => "a whole number".to_owned(),
        },
        "boolean" => "true or false".to_owned(),
        "string" => "text".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "a map".to_owned(),
        other => other.to_owned(),
    })
}

/// Follows a reference, alone or wrapped to give it a description.
pub fn resolve(schema: &'static Value) -> &'static Value {
    let target = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"));
    let pointer = target.and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    pointer.and_then(|pointer| SCHEMA.pointer(pointer)).unwrap_or(schema)
}

/// The schema everything is checked against.
pub fn root() -> &'static Value {
    &SCHEMA
}

fn steps(error: &ValidationError<'_>) -> Vec<Step> {
    let step = |segment: LocationSegment<'_>| match segment {
        LocationSegment::Property(key) => Step::Key(key.into_owned()),
        LocationSegment::Index(index) => Step::Item(index),
    };
    error.instance_path().segments().map(step).collect()
}

/// Names of fields that are a number or a truth.
static TYPED: LazyLock<std::collections::BTreeSet<String>> = LazyLock::new(|| {
    let mut found = std::collections::BTreeSet::new();
    let mut open = vec![&*SCHEMA];
    while let Some(schema) = open.pop() {
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if field.get("pattern").and_then(Value::as_str) == Some(schema::TEMPLATE) {
                found.insert(name.clone());
            }
        }
        open.extend(schema.get("definitions").and_then(Value::as_object).into_iter().flat_map(serde_json::Map::values));
    }
    found
});

/// Whether a field of this name is a number or a truth.
#[must_use]
pub fn is_typed(name: &str) -> bool {
    TYPED.contains(name)
}
