//! `each`: one entry to many sessions, and plain entries laid over them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::context::Context;
use super::draft::Draft;
use super::intake::intake;
use super::layers::{Entry, Layer};
use super::merge::Over;
use super::template::Row;
use crate::spec::name::Name;
use crate::spec::settings::Settings;
use crate::spec::words::Text;

/// The most sessions of a fleet.
pub const MAX_SESSIONS: usize = 20_000;

/// What the files say of one session.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Where, highest first.
    pub layers: Vec<Layer>,
    /// What; none where it was wrong, which has been reported.
    pub settings: Option<Settings>,
    /// Some of it was wrong, which has been reported: what is missing may be that.
    pub damaged: bool,
}

/// All sessions by name.
pub fn expand(context: &Context<'_>, sessions: Vec<(String, Entry)>) -> BTreeMap<Name, Claim> {
    let mut plain = BTreeMap::new();
    let mut expanded = BTreeMap::new();
    for (key, entry) in sessions {
        match entry.value.get("each") {
            None => one(context, &key, entry, &mut plain),
            Some(_) => many(context, &key, &entry, &mut expanded),
        }
    }
    for (name, mut claim) in plain {
        if let Some(below) = expanded.remove(&name) {
            same_file(context, &name, &claim, &below);
            claim.layers.extend(below.layers);
            claim.damaged |= below.damaged;
            claim.settings = claim.settings.zip(below.settings).map(|(top, below)| top.over(&below));
        }
        expanded.insert(name, claim);
    }
    expanded
}

fn same_file(context: &Context<'_>, name: &Name, over: &Claim, below: &Claim) {
    let (over, below) = (&over.layers[0], &below.layers[0]);
    if over.file != below.file {
        twice(context, name, below, over);
    }
}

fn one(context: &Context<'_>, key: &str, mut entry: Entry, into: &mut BTreeMap<Name, Claim>) {
    let scope = context.scope(None);
    let Some(name) = name(context, key, &entry, None) else { return };
    let good = !entry.broken & context.fill(&entry.layer, &scope, &mut entry.value);
    let settings = if good { context.settings(&entry.layer, &entry.value) } else { None };
    let settings = settings.and_then(|settings| intake(context, &entry.layer, settings));
    add(context, into, name, Claim { layers: vec![entry.layer], settings, damaged: entry.damaged });
}

fn many(context: &Context<'_>, key: &str, entry: &Entry, into: &mut BTreeMap<Name, Claim>) {
    let mut template = entry.value.clone();
    let Some(mut each) = template.as_object_mut().and_then(|fields| fields.remove("each")) else { return };
    if !context.fill(&entry.layer, &context.scope(None), &mut each) {
        return;
    }
    let rows = match rows(&each, MAX_SESSIONS.saturating_sub(into.len())) {
        Some(rows) => rows,
        None => {
            let site = entry.layer.site(&context.files, &["each".into()]);
            let message = format!("more than {MAX_SESSIONS} sessions in all");
            return context.report(Draft::error(site, format!("{}.each", entry.layer.path), message));
        }
    };
    for row in rows {
        let scope = context.scope(Some(&row));
        let Some(name) = name(context, key, entry, Some(&row)) else { continue };
        let mut value = template.clone();
        let good = !entry.broken && context.fill(&entry.layer, &scope, &mut value);
        let settings = if good { context.settings(&entry.layer, &value) } else { None };
        let settings = settings.and_then(|settings| intake(context, &entry.layer, settings));
        add(context, into, name, Claim { layers: vec![entry.layer.clone()], settings, damaged: entry.damaged });
    }
}

/// The rows of `each`; none when there are more than `limit`.
fn rows(each: &Value, limit: usize) -> Option<Vec<Row>> {
    let text = |value: &Value| serde_json::from_value::<Text>(value.clone()).map(|text| text.0).unwrap_or_default();
    match each {
        Value::Array(list) => {
            let row = |row: &Value| {
                row.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
            };
            (list.len() <= limit).then(|| list.iter().map(row).collect())
        }
        Value::Object(lists) => {
            let mut rows = vec![Row::new()];
            for (name, values) in lists {
                let values: Vec<String> = values.as_array().into_iter().flatten().map(text).collect();
                if rows.len().saturating_mul(values.len()) > limit {
                    return None;
                }
                let with = |row: &Row, value: &String| {
                    let mut row = row.clone();
                    row.insert(name.clone(), value.clone());
                    row
                };
                rows = rows.iter().flat_map(|row| values.iter().map(move |value| with(row, value))).collect();
            }
            Some(rows)
        }
        _ => Some(Vec::new()),
    }
}

/// The session's name, filled and checked.
fn name(context: &Context<'_>, key: &str, entry: &Entry, row: Option<&Row>) -> Option<Name> {
    let wrong = |message: String, help| {
        let site = entry.layer.key_site(&context.files, &[]);
        context.report(Draft::error(site, &entry.layer.path, message).help(help));
    };
    let filled = match context.scope(row).fill(key) {
        Ok(filled) => filled,
        Err(unfilled) => {
            wrong(unfilled.message, unfilled.help);
            return None;
        }
    };
    match Name::new(filled.unwrap_or_else(|| key.to_owned())) {
        Ok(name) => Some(name),
        // A key that needed no filling was checked by the schema.
        Err(_) if entry.broken => None,
        Err(error) => {
            wrong(error.to_string(), None);
            None
        }
    }
}

fn add(context: &Context<'_>, into: &mut BTreeMap<Name, Claim>, name: Name, mut claim: Claim) {
    if let Some(layer) = claim.layers.first_mut() {
        layer.path = format!("sessions.{name}");
    }
    match into.get(&name) {
        Some(first) => twice(context, &name, &first.layers[0], &claim.layers[0]),
        None => drop(into.insert(name, claim)),
    }
}

fn twice(context: &Context<'_>, name: &Name, first: &Layer, second: &Layer) {
    let files = [first, second].map(|layer| context.files[layer.file].display.as_str());
    let sites = [first, second].map(|layer| layer.key_site(&context.files, &[]));
    let (message, help) = if sites[0] == sites[1] {
        let help = "use every name of `each` in the session's name, as ${…}";
        (format!("`each` gives the name `{name}` more than once"), Some(help.to_owned()))
    } else if files[0] == files[1] {
        (format!("session `{name}` is here twice"), None)
    } else {
        (format!("session `{name}` is claimed by two files: {} and {}", files[0], files[1]), None)
    };
    let first = Some(sites[0]).filter(|site| *site != sites[1]);
    let draft = Draft::error(sites[1], format!("sessions.{name}"), message).help(help);
    context.report(draft.and(first, "first claimed here"));
}
