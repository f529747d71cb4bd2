//! Small values of the fleet file: commands, scalars, lists of one or more.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// A command: a list of arguments, or a text split by POSIX shell-word rules. No shell ever sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argv(pub Vec<String>);

/// A scalar that is used as text: text, a whole number, `true` or `false`. A fraction must be quoted, because `1.10`
/// as a number is `1.1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub String);

/// One text, or a list of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OneOrMore(pub Vec<String>);

/// The largest prompt, in bytes: it travels as one argument, and Linux ends those at 128 KiB.
pub const MAX_PROMPT: usize = 128 * 1024 - 1;

/// Why a text can be no agent's prompt.
#[must_use]
pub fn prompt_fault(prompt: &str) -> Option<String> {
    if prompt.len() > MAX_PROMPT {
        Some(format!("the prompt is longer than {MAX_PROMPT} bytes, the most one argument holds"))
    } else if prompt.contains('\0') {
        Some("the prompt holds a NUL, which no argument can".to_owned())
    } else if prompt.is_empty() {
        Some("the prompt is empty".to_owned())
    } else {
        None
    }
}

struct Words;

impl<'de> Visitor<'de> for Words {
    type Value = Argv;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of arguments, or a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Argv, E> {
        match shell_words::split(text) {
            Ok(argv) => Ok(Argv(argv)),
            Err(_) => Err(E::custom("a quote is not closed: it cannot be split into arguments; write a list instead")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Argv, A::Error> {
        let mut argv = Vec::new();
        while let Some(Text(argument)) = items.next_element()? {
            argv.push(argument);
        }
        Ok(Argv(argv))
    }
}

impl<'de> Deserialize<'de> for Argv {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Words)
    }
}

struct Scalar;

impl Visitor<'_> for Scalar {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a whole number, true or false")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Text, E> {
        Ok(Text(truth.to_string()))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Scalar)
    }
}

struct Several;

impl<'de> Visitor<'de> for Several {
    type Value = OneOrMore;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, or a list of texts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMore, E> {
        Ok(OneOrMore(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMore, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(OneOrMore(all))
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Several)
    }
}

impl JsonSchema for Argv {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Argv".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A command: a list of arguments, or a text split by POSIX shell-word rules. No shell sees it.",
            "type": ["array", "string"],
            "items": generator.subschema_for::<Text>(),
            "minItems": 1,
            "minLength": 1,
            "x-expects": "a list of arguments, or a text that is split like shell words",
        })
    }
}

impl JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer", "boolean"],
            "x-expects": "text, a whole number, true or false (quote anything else)",
        })
    }
}

impl JsonSchema for OneOrMore {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OneOrMore".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["array", "string"],
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "minLength": 1,
            "x-expects": "a text, or a list of texts",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(json: serde_json::Value) -> Result<Argv, serde_json::Error> {
        serde_json::from_value(json)
    }

    #[test]
    fn a_command_is_a_list_or_shell_words_that_no_shell_interprets() {
        assert_eq!(argv(serde_json::json!(["a b", 1])).unwrap().0, ["a b", "1"]);
        assert_eq!(argv(serde_json::json!("tail -F 'my log' $X ~")).unwrap().0, ["tail", "-F", "my log", "$X", "~"]);
        assert!(argv(serde_json::json!("say 'oops")).unwrap_err().to_string().contains("quote is not closed"));
    }
}
