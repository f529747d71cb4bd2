//! What farhelm's state directory says, read from outside.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use farhelm::config::desired::Desired;
use farhelm::host::sim::World;
use farhelm::spec::name::Name;
use farhelm::state::children::{Child, Children};
use farhelm::state::record::{FleetRecord, Record, Tombstone};

use crate::fleet::state_dir;

/// All records, by session id; damaged files are not records.
pub fn records(world: &World) -> BTreeMap<String, Record> {
    let files = world.files_below(&state_dir().join("sessions"));
    let parse = |path: &PathBuf| serde_json::from_slice::<Record>(&world.file(path)?).ok();
    files.iter().filter_map(parse).map(|record| (record.id.to_string(), record)).collect()
}

/// The sessions that agents asked for, as farhelm remembers them.
pub fn children(world: &World) -> Vec<Child> {
    let bytes = world.file(&state_dir().join("children/sim.json"));
    bytes.and_then(|bytes| serde_json::from_slice::<Children>(&bytes).ok()).unwrap_or_default().children
}

/// The fleet of the files with what agents asked for.
pub fn whole<'d>(world: &World, files: &'d Desired) -> Cow<'d, Desired> {
    let children = Children { children: children(world), ..Children::default() };
    if children.children.is_empty() {
        return Cow::Borrowed(files);
    }
    let (records, gone) = (records(world), buried(world));
    let known = |id: &String| records.get(id).filter(|_| !gone.contains(id));
    children.join(files, |id| known(&id.to_string()).map(|record| record.name.clone()))
}

/// The sessions a directory of the state directory has a file of.
pub fn ids(world: &World, dir: &str) -> BTreeSet<String> {
    let files = world.files_below(&state_dir().join(dir));
    files.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

/// The files the fleet was last applied from; empty when nothing says.
pub fn sources(world: &World) -> Vec<PathBuf> {
    let bytes = world.file(&state_dir().join("fleets/sim.json"));
    bytes.and_then(|bytes| serde_json::from_slice::<FleetRecord>(&bytes).ok()).unwrap_or_default().sources
}

/// The sessions whose record counts no more: their burial was cut short, and their tombstone says as much as they do.
pub fn buried(world: &World) -> BTreeSet<String> {
    let files = world.files_below(&state_dir().join("tombstones"));
    let parse = |path: &PathBuf| serde_json::from_slice::<Tombstone>(&world.file(path)?).ok();
    let graves: BTreeMap<String, u32> =
        files.iter().filter_map(parse).map(|grave| (grave.record.id.to_string(), grave.record.generation())).collect();
    let ended =
        |(id, record): (String, Record)| graves.get(&id).is_some_and(|g| record.generation() <= *g).then_some(id);
    records(world).into_iter().filter_map(ended).collect()
}

/// Changes the record of `name`, as an operator's verb does; says whether there is one.
pub fn change(world: &World, name: &Name, change: impl FnOnce(&mut Record)) -> bool {
    let gone = buried(world);
    let mut all = records(world).into_iter().filter(|(id, _)| !gone.contains(id));
    let Some((_, mut record)) = all.find(|(_, record)| record.name == *name) else { return false };
    change(&mut record);
    let path = state_dir().join("sessions").join(format!("{}.json", record.id));
    world.rewrite_file(&path, &serde_json::to_vec(&record).expect("a record is plain data"));
    true
}
