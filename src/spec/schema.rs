//! The JSON schema of the fleet file: derived from the types, then made to fit what people write.
//!
//! Draft-07, because editors speak that. A value may be a template (`${…}`) wherever the types want a number, a
//! truth, one of some words or a pattern; it is checked again once it is filled in.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::fleet::Fleet;
use super::name::Name;

/// Matches a text with something to fill in.
pub const TEMPLATE: &str = r"\$\{";

/// The fleet file's schema.
#[must_use]
pub fn fleet() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.transforms.insert(0, Box::new(ForPeople));
    });
    let mut generator = settings.into_generator();
    generator.subschema_for::<Name>();
    generator.subschema_for::<Variable>();
    let mut schema = generator.into_root_schema_for::<Fleet>();
    schema.insert("title".to_owned(), "farhelm fleet".into());
    let mut schema = schema.to_value();
    loosen_kind(&mut schema);
    allow_extensions(&mut schema);
    schema
}

/// An environment variable's name.
struct Variable;

impl JsonSchema for Variable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Variable".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
            "x-expects": "a variable's name: letters, digits and `_`",
        })
    }
}

/// The types that a kind's data is made of.
const KIND_DATA: [&str; 21] = [
    "ChainRule",
    "ChoiceForm",
    "ChoiceForms",
    "ConversationForms",
    "Doing",
    "EvidenceRule",
    "Injection",
    "Interrupt",
    "Keys",
    "Kind",
    "LiveMark",
    "Login",
    "Place",
    "PromptForm",
    "Reports",
    "Setting",
    "Setup",
    "Skips",
    "TrustStore",
    "Verified",
    "Written",
];

/// In a fleet file the key names the kind, and a known kind may be completed field by field: what is missing there is
/// said once both are laid over each other.
fn loosen_kind(schema: &mut Value) {
    for name in KIND_DATA {
        if let Some(Value::Object(data)) = schema.pointer_mut(&format!("/definitions/{name}")) {
            data.remove("required");
        }
    }
}

/// Keys that begin with `x-` are anybody's, except in the data of a kind.
fn allow_extensions(schema: &mut Value) {
    let open = |object: &mut Value| {
        if let Some(object) = object.as_object_mut()
            && object.get("additionalProperties") == Some(&Value::Bool(false))
        {
            object.insert("patternProperties".to_owned(), json!({"^x-": true}));
        }
    };
    open(schema);
    if let Some(Value::Object(definitions)) = schema.get_mut("definitions") {
        definitions.iter_mut().filter(|(name, _)| !KIND_DATA.contains(&name.as_str())).for_each(|(_, it)| open(it));
    }
}

/// Turns derived schemas into ones with good messages and hover texts: no `null`, words instead of one-of, templates.
#[derive(Debug, Clone)]
struct ForPeople;

impl Transform for ForPeople {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        drop_null(object);
        join_words(object);
        accept_template(object);
    }
}

/// `Option<T>` is a field that may be left out, never one that may be null.
fn drop_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    object.remove("format");
}

/// A choice of documented words becomes one `enum`, their meanings part of the description.
fn join_words(object: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = object.get("oneOf") else { return };
    let words: Vec<Value> = branches.iter().filter_map(|branch| branch.get("const").cloned()).collect();
    if words.len() != branches.len() {
        return;
    }
    let mut about = object.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    about.push('\n');
    for branch in branches {
        if let (Some(word), Some(meaning)) = (branch["const"].as_str(), branch["description"].as_str()) {
            about.push_str(&format!("\n- `{word}`: {meaning}"));
        }
    }
    object.remove("oneOf");
    object.insert("enum".to_owned(), Value::Array(words));
    object.insert("type".to_owned(), "string".into());
    object.insert("description".to_owned(), about.into());
}

/// A text with `${` is accepted where a number, a truth, a word or a pattern is wanted.
fn accept_template(object: &mut Map<String, Value>) {
    if let Some(words) = object.remove("enum") {
        let strict = json!({"type": "string", "enum": words});
        object.remove("type");
        object.insert("anyOf".to_owned(), json!([strict, {"type": "string", "pattern": TEMPLATE}]));
        return;
    }
    if let Some(Value::String(pattern)) = object.get_mut("pattern")
        && pattern != TEMPLATE
        && object.get("type") == Some(&json!("string"))
    {
        let either = format!("{}|{TEMPLATE}", object["pattern"].as_str().unwrap_or_default());
        object.insert("pattern".to_owned(), either.into());
        return;
    }
    let single = object.get("type").and_then(Value::as_str).map(str::to_owned);
    if let Some(single @ ("integer" | "boolean")) = single.as_deref() {
        object.insert("type".to_owned(), json!([single, "string"]));
        object.insert("pattern".to_owned(), TEMPLATE.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/fleet.schema.json");
        let text = format!("{:#}\n", fleet());
        if std::env::var_os("FARHELM_BLESS").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(published == text, "{path} is out of date: run the tests once with FARHELM_BLESS=1");
    }

    #[test]
    fn the_data_of_a_kind_is_all_of_its_types() {
        let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<crate::agents::kind::Kind>();
        let schema = schema.to_value();
        let types = schema["definitions"].as_object().unwrap().keys().map(String::as_str);
        let mut types: Vec<&str> = types.filter(|name| *name != "Name").chain(["Kind"]).collect();
        types.sort_unstable();
        assert_eq!(types, KIND_DATA);
    }

    #[test]
    fn values_may_be_templates_and_nothing_may_be_null() {
        let text = fleet().to_string();
        assert!(!text.contains("null"), "{text}");
        let validator = jsonschema::draft7::new(&fleet()).unwrap();
        let fleet = |session: Value| json!({"farhelm": "v1", "sessions": {"a-${b}": session}});
        let good = json!({"permissions": "${p}", "priority": "${n}", "protect": "${b}", "stop": {"grace": "${g}"}});
        assert!(validator.is_valid(&fleet(good)));
        for bad in [json!({"permissions": "all"}), json!({"priority": "1"}), json!({"stop": {"grace": "5"}})] {
            assert!(!validator.is_valid(&fleet(bad)));
        }
    }
}
