//! What must hold of sessions that agents asked for. It is worked out here from the requests and the files, beside
//! farhelm's own memory, and compared with that.

use std::collections::{BTreeMap, BTreeSet};

use farhelm::config::desired::Desired;
use farhelm::host::sim::World;
use farhelm::plan::Plan;
use farhelm::plan::action::Action;
use farhelm::plan::spawn::Ask;
use farhelm::spec::name::Name;
use farhelm::state::children::{Child, End};
use farhelm::state::record::{Record, SessionId};

use crate::memory;

/// What may have changed the children since they were looked at last.
#[derive(Default)]
pub struct Cause<'a> {
    /// A request, and who made it.
    pub attempt: Option<(SessionId, &'a Ask)>,
    /// No longer wanted, as somebody entitled said.
    pub dismissed: &'a [Name],
    /// Of these an operator said whether they stay.
    pub kept: &'a [Name],
    /// The whole fleet was to go.
    pub down: bool,
}

/// Every child there ever was, since farhelm's memory was last lost.
#[derive(Default)]
pub struct Family {
    known: Vec<Child>,
    /// The sessions that each of them became, by its place in `known`: one at most.
    became: BTreeMap<usize, BTreeSet<String>>,
}

type Records = BTreeMap<String, Record>;

fn recorded(world: &World) -> Records {
    let gone = memory::buried(world);
    let mut records = memory::records(world);
    records.retain(|id, _| !gone.contains(id));
    records
}

/// Whether the files have a session of this name, or one that was called so.
fn declared(files: &Desired, name: &Name) -> bool {
    files.sessions.contains_key(name) || files.sessions.values().any(|s| s.moved_from.as_ref() == Some(name))
}

impl Family {
    /// Nothing is remembered any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The children that are to be, as they were last seen.
    pub fn live(&self) -> impl Iterator<Item = &Child> {
        self.known.iter().filter(|child| child.ended.is_none())
    }

    /// Looks at the children again: nothing but `cause` may have changed them.
    pub fn look(&mut self, world: &World, files: &Desired, cause: &Cause<'_>) {
        let found = memory::children(world);
        let records = recorded(world);
        let mut wrong = Vec::new();
        if found.len() < self.known.len() {
            wrong.push(format!("{} children were forgotten", self.known.len() - found.len()));
        }
        for (at, child) in found.iter().enumerate() {
            match self.known.get(at) {
                Some(before) => wrong.extend(self.changed(before, child, (files, &records), cause)),
                None => wrong.extend(asked_for(child, cause)),
            }
        }
        if found.len() > self.known.len() + 1 {
            wrong.push("one request gave more than one child".to_owned());
        }
        let mut keys = BTreeSet::new();
        for child in found.iter().filter(|child| child.key.is_some()) {
            if !keys.insert((child.parent_id, child.key.clone())) {
                wrong.push(format!("a key of {} gave a second child, {}", child.parent, child.name));
            }
        }
        self.known = found;
        wrong.extend(self.recognise(files, &records));
        for words in wrong {
            world.violated(words);
        }
    }

    fn changed(
        &self,
        before: &Child,
        now: &Child,
        (files, records): (&Desired, &Records),
        cause: &Cause<'_>,
    ) -> Option<String> {
        let same = Child { kept: now.kept, ended: now.ended, ..before.clone() };
        if same != *now {
            return Some(format!("a child became another: {before:?} is {now:?}"));
        }
        if before.kept != now.kept && !cause.kept.contains(&now.name) {
            return Some(format!("nobody said that child {} is kept: {}", now.name, now.kept));
        }
        let (None, Some(ended)) = (before.ended, now.ended) else {
            let again = before.ended != now.ended;
            return again.then(|| format!("a child that had ended is to be again: {}", now.name));
        };
        let may = match ended.how {
            End::Dismissed => cause.dismissed.contains(&now.name),
            End::Reaped => cause.down || !self.is_wanted(before, files, records),
            End::Declared => declared(files, &now.name),
        };
        (!may).then(|| format!("child {} ended as {:?} without a cause", now.name, ended.how))
    }

    /// Binds children to the sessions they became.
    fn recognise(&mut self, files: &Desired, records: &Records) -> Vec<String> {
        let mut wrong = Vec::new();
        for (at, child) in self.known.iter().enumerate() {
            if child.ended.is_some() || declared(files, &child.name) {
                continue;
            }
            let Some((id, _)) = records.iter().find(|(_, record)| record.name == child.name) else { continue };
            let became = self.became.entry(at).or_default();
            became.insert(id.clone());
            if became.len() > 1 {
                wrong.push(format!("one request became several sessions ({}: {became:?})", child.name));
            }
        }
        wrong
    }

    /// Whether a child is to be in the fleet.
    fn is_wanted(&self, child: &Child, files: &Desired, records: &Records) -> bool {
        child.ended.is_none()
            && files.spawn.templates.contains_key(&child.profile)
            && (child.kept || self.has_parent(child, files, records))
    }

    fn has_parent(&self, child: &Child, files: &Desired, records: &Records) -> bool {
        let parent = records.get(&child.parent_id.to_string()).map_or(&child.parent, |record| &record.name);
        declared(files, parent)
            || self.live().any(|other| {
                other.name == *parent && other.depth < child.depth && self.is_wanted(other, files, records)
            })
    }

    /// Why a request must be refused; none when it is to be granted. `own`: the token is that of the session that asks.
    pub fn forbids(
        &self,
        world: &World,
        files: &Desired,
        (who, own): (SessionId, bool),
        ask: &Ask,
    ) -> Option<&'static str> {
        let records = recorded(world);
        if !own {
            return Some("its token is another session's");
        }
        let Some(parent) = records.get(&who.to_string()) else { return Some("there is no such session") };
        if let Some(before) = self.of_key(who, ask) {
            return (!is_of(before, ask)).then_some("its key was used for something else");
        }
        if !files.spawn.templates.contains_key(&ask.profile) {
            return Some("its profile is not allowed");
        }
        let above = self.live().find(|child| child.name == parent.name && !declared(files, &child.name));
        if above.map_or(!declared(files, &parent.name), |child| !self.is_wanted(child, files, &records)) {
            return Some("its session has left the fleet");
        }
        if above.map_or(0, |child| child.depth) + 1 > files.spawn.max_depth {
            return Some("it would be too deep");
        }
        let there = self.known.iter().enumerate().filter(|(at, child)| {
            let left = || self.became.get(at).into_iter().flatten().any(|id| records.contains_key(id));
            child.parent_id == who && !declared(files, &child.name) && (child.ended.is_none() || left())
        });
        (there.count() >= files.spawn.max_children).then_some("its session has as many children as it may have")
    }

    /// The child that the same session was given for the key of `ask` before.
    pub fn of_key(&self, who: SessionId, ask: &Ask) -> Option<&Child> {
        let key = ask.key.as_ref()?;
        self.known.iter().find(|child| child.parent_id == who && child.key.as_ref() == Some(key))
    }

    /// Whether `name` is a child of `who` that is to be.
    pub fn is_child(&self, who: SessionId, name: &Name) -> bool {
        self.live().any(|child| child.parent_id == who && child.name == *name)
    }

    /// At rest: what was granted is there, and what is to be no more has gone.
    pub fn check_rest(&self, world: &World, files: &Desired, plan: &Plan) {
        let records = recorded(world);
        for (at, child) in self.known.iter().enumerate().filter(|(_, child)| !declared(files, &child.name)) {
            let item = plan.items.iter().find(|item| item.session == child.name);
            if self.is_wanted(child, files, &records) {
                if item.is_none() {
                    world.violated(format!("{} was granted and is not in the plan", child.name));
                }
                continue;
            }
            for id in self.became.get(&at).into_iter().flatten() {
                // The files may have taken it over under another name.
                let moved = records.get(id).is_some_and(|record| declared(files, &record.name));
                let blocked = plan.items.iter().any(|item| {
                    item.id.map(|id| id.to_string()).as_ref() == Some(id) && matches!(item.action, Action::Blocked(_))
                });
                if !moved && !blocked && !world.agents(id).is_empty() {
                    world.violated(format!("child {} ({id}) is to be no more and has an agent", child.name));
                }
            }
        }
    }
}

/// Whether a child is what was asked for.
fn is_of(child: &Child, ask: &Ask) -> bool {
    child.profile == ask.profile
        && child.dir == ask.dir
        && child.prompt == ask.prompt
        && child.title == ask.title
        && child.key == ask.key
        && ask.name.as_ref().is_none_or(|name| *name == child.name)
}

/// What is wrong with a child that was not there before.
fn asked_for(child: &Child, cause: &Cause<'_>) -> Option<String> {
    let asked = cause.attempt.is_some_and(|(who, ask)| child.parent_id == who && is_of(child, ask));
    let fresh = !child.kept && child.ended.is_none();
    (!asked || !fresh).then(|| format!("nobody asked for {child:?}"))
}
