//! The JSON Schema of the plan document, `schema/plan.schema.json`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use super::Plan;

/// The form of a moment in JSON.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes `host::clock::Moment` to the schema")]
pub(super) struct MomentForm {
    /// Milliseconds since this boot.
    boot_ms: u64,
    /// Milliseconds since 1970, UTC.
    wall_ms: i64,
}

/// The schema, as `farhelm schema plan` prints it: draft-07, as editors understand it, ending in a newline.
#[must_use]
pub fn plan() -> String {
    let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Plan>();
    // A schema is plain JSON: printing it cannot fail.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
