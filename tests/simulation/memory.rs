//! What farhelm's state directory says, read from outside.

use std::collections::BTreeMap;
use std::path::PathBuf;

use farhelm::host::sim::World;
use farhelm::spec::name::Name;
use farhelm::state::record::{FleetRecord, Record, Tombstone};

use crate::fleet::state_dir;

/// All records, by session id; damaged files are not records.
pub fn records(world: &World) -> BTreeMap<String, Record> {
    let files = world.files_below(&state_dir().join("sessions"));
    let parse = |path: &PathBuf| serde_json::from_slice::<Record>(&world.file(path)?).ok();
    files.iter().filter_map(parse).map(|record| (record.id.to_string(), record)).collect()
}

/// All tombstones, by session id.
pub fn tombstones(world: &World) -> BTreeMap<String, Tombstone> {
    let files = world.files_below(&state_dir().join("tombstones"));
    let parse = |path: &PathBuf| serde_json::from_slice::<Tombstone>(&world.file(path)?).ok();
    files.iter().filter_map(parse).map(|tombstone| (tombstone.record.id.to_string(), tombstone)).collect()
}

/// The files the fleet was last applied from; empty when nothing says.
pub fn sources(world: &World) -> Vec<PathBuf> {
    let bytes = world.file(&state_dir().join("fleets/sim.json"));
    bytes.and_then(|bytes| serde_json::from_slice::<FleetRecord>(&bytes).ok()).unwrap_or_default().sources
}

/// Changes the record of `name`, as an operator's verb does; says whether there is one.
pub fn change(world: &World, name: &Name, change: impl FnOnce(&mut Record)) -> bool {
    let Some(mut record) = records(world).into_values().find(|record| record.name == *name) else { return false };
    change(&mut record);
    let path = state_dir().join("sessions").join(format!("{}.json", record.id));
    world.rewrite_file(&path, &serde_json::to_vec(&record).expect("a record is plain data"));
    true
}
