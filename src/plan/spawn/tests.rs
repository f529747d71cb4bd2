use std::collections::BTreeSet;

use super::*;
use crate::agents::kind::{Kind, PromptForm};
use crate::config::desired::{Session, Spawn};
use crate::plan::tests::world::{kind, session};
use crate::state::children::{End, Ended};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn id(number: u128) -> SessionId {
    SessionId(uuid::Uuid::from_u128(number))
}

fn api() -> Parent {
    Parent { id: id(1), name: name("api") }
}

fn ask() -> Ask {
    Ask { profile: name("helper"), dir: "/src".into(), prompt: None, title: None, name: None, key: None }
}

struct World {
    fleet: Desired,
    children: Children,
    recorded: BTreeSet<Name>,
    buried: BTreeSet<Name>,
}

impl World {
    fn new() -> Self {
        let templates = [(name("helper"), session("helper", "claude")), (name("plain"), session("plain", "generic"))];
        let fleet = Desired {
            fleet: Some(name("web")),
            sessions: [(name("api"), session("api", "claude"))].into(),
            kinds: [Kind { prompt: Some(PromptForm::Positional), ..kind("claude") }, kind("generic")]
                .map(|kind| (kind.name.clone(), kind))
                .into(),
            spawn: Spawn { templates: templates.into(), max_children: 2, max_depth: 1 },
            ..Desired::default()
        };
        Self { fleet, children: Children::default(), recorded: BTreeSet::new(), buried: BTreeSet::new() }
    }

    fn judge(&self, parent: &Parent, ask: &Ask) -> Result<Granted, Refusal> {
        let fleet = self.children.join(&self.fleet, |_| None);
        let (recorded, buried) = (|name: &Name| self.recorded.contains(name), |name: &Name| self.buried.contains(name));
        Case { fleet: &fleet, children: &self.children, recorded: &recorded, buried: &buried, now_ms: 7 }
            .judge(parent, ask)
    }

    /// Grants it, and remembers that.
    fn grant(&mut self, parent: &Parent, ask: &Ask) -> Child {
        let granted = self.judge(parent, ask).unwrap();
        if let Granted::New(child) = &granted {
            self.children.children.push(child.clone());
        }
        granted.child().clone()
    }
}

#[test]
fn a_child_gets_a_free_name_after_its_parent_and_profile() {
    let mut world = World::new();
    world.recorded.insert(name("api-helper-1"));
    world.buried.insert(name("api-helper-2"));
    assert_eq!(world.grant(&api(), &ask()).name, name("api-helper-3"));
    assert_eq!(world.grant(&api(), &ask()).name, name("api-helper-4"));
    let long = name(&"x".repeat(63));
    let made = numbered(&long, &name("helper"), 12).unwrap();
    assert_eq!((made.as_str().len(), made.as_str().ends_with("x-12")), (63, true));
}

#[test]
fn nothing_is_granted_by_default_and_only_allowed_profiles_are() {
    let mut world = World::new();
    let other = Ask { profile: name("codex"), ..ask() };
    let refused = world.judge(&api(), &other).unwrap_err();
    assert_eq!(refused, Refusal::Profile { profile: name("codex"), allowed: "helper, plain".to_owned() });
    world.fleet.spawn = Spawn::default();
    assert_eq!(world.judge(&api(), &ask()), Err(Refusal::Off));
}

#[test]
fn a_parent_has_no_more_children_at_once_than_allowed() {
    let mut world = World::new();
    let first = world.grant(&api(), &ask());
    world.grant(&api(), &ask());
    assert_eq!(world.judge(&api(), &ask()).unwrap_err().code(), "max-children");
    world.children.end(End::Dismissed, 0, |child| child.name == first.name);
    world.recorded.insert(first.name.clone());
    assert_eq!(world.judge(&api(), &ask()).unwrap_err().code(), "max-children", "it is not gone yet");
    world.recorded.clear();
    assert!(world.judge(&api(), &ask()).is_ok());
}

#[test]
fn a_child_whose_profile_is_not_allowed_at_present_takes_its_room_until_it_has_gone() {
    let mut world = World::new();
    world.grant(&api(), &ask());
    world.grant(&api(), &ask());
    let helper = world.fleet.spawn.templates.remove("helper").unwrap();
    let plain = Ask { profile: name("plain"), ..ask() };
    assert_eq!(world.judge(&api(), &plain).unwrap_err().code(), "max-children", "they would be four when it is again");
    world.children.end(End::Reaped, 0, |_| true);
    assert!(world.judge(&api(), &plain).is_ok());
    world.fleet.spawn.templates.insert(name("helper"), helper);
}

#[test]
fn children_may_have_children_only_as_deep_as_allowed() {
    let mut world = World::new();
    let child = world.grant(&api(), &ask());
    let parent = Parent { id: id(2), name: child.name };
    assert_eq!(world.judge(&parent, &ask()).unwrap_err().code(), "max-depth");
    world.fleet.spawn.max_depth = 2;
    let grandchild = world.grant(&parent, &ask());
    assert_eq!(grandchild.depth, 2);
    let parent = Parent { id: id(3), name: grandchild.name };
    assert_eq!(world.judge(&parent, &ask()).unwrap_err().code(), "max-depth");
}

#[test]
fn the_same_key_gives_the_same_child_also_when_it_has_ended_and_never_another_request() {
    let mut world = World::new();
    let keyed = Ask { key: Some("k".to_owned()), prompt: Some("one".to_owned()), ..ask() };
    let first = world.grant(&api(), &keyed);
    assert_eq!(world.judge(&api(), &keyed), Ok(Granted::Before(first.clone())));
    world.children.children[0].ended = Some(Ended { how: End::Reaped, at_ms: 8 });
    assert_eq!(world.judge(&api(), &keyed).unwrap().child().name, first.name);
    for other in [
        Ask { prompt: Some("two".to_owned()), ..keyed.clone() },
        Ask { prompt: None, ..keyed.clone() },
        Ask { dir: "/other".into(), ..keyed.clone() },
        Ask { name: Some(name("x")), ..keyed.clone() },
    ] {
        assert_eq!(world.judge(&api(), &other).unwrap_err().code(), "key-reused");
    }
    // Another session's keys are its own.
    world.fleet.sessions.insert(name("web"), session("web", "claude"));
    let web = Parent { id: id(9), name: name("web") };
    assert!(matches!(world.judge(&web, &keyed), Ok(Granted::New(_))));
    let long = Ask { key: Some("k".repeat(MAX_KEY + 1)), ..ask() };
    assert_eq!(world.judge(&api(), &long), Err(Refusal::BadKey));
}

#[test]
fn a_name_that_is_used_or_whose_conversation_would_come_back_is_refused() {
    let mut world = World::new();
    let named = |text: &str| Ask { name: Some(name(text)), ..ask() };
    assert_eq!(world.judge(&api(), &named("api")), Err(Refusal::Taken(name("api"))));
    let moved = Session { moved_from: Some(name("gate")), ..session("web", "claude") };
    world.fleet.sessions.insert(name("web"), moved);
    assert_eq!(world.judge(&api(), &named("gate")), Err(Refusal::Taken(name("gate"))), "the files would take it over");
    world.recorded.insert(name("left"));
    assert_eq!(world.judge(&api(), &named("left")), Err(Refusal::Taken(name("left"))));
    world.buried.insert(name("old"));
    assert_eq!(world.judge(&api(), &named("old")), Err(Refusal::Buried(name("old"))));
    assert_eq!(world.grant(&api(), &named("new")).name, name("new"));
    assert_eq!(world.judge(&api(), &named("new")), Err(Refusal::Taken(name("new"))));
}

#[test]
fn a_session_that_has_left_the_fleet_gets_nothing() {
    let world = World::new();
    let gone = Parent { id: id(5), name: name("gone") };
    assert_eq!(world.judge(&gone, &ask()), Err(Refusal::Left(name("gone"))));
}

#[test]
fn what_cannot_be_launched_is_refused_at_once() {
    let world = World::new();
    let code = |ask: &Ask| world.judge(&api(), ask).unwrap_err().code();
    assert_eq!(code(&Ask { dir: "src".into(), ..ask() }), "dir");
    let prompt = |text: &str, profile: &str| Ask { prompt: Some(text.to_owned()), profile: name(profile), ..ask() };
    assert_eq!(code(&prompt("do", "plain")), "prompt");
    assert_eq!(code(&prompt("", "helper")), "prompt");
    assert_eq!(code(&prompt("a\0b", "helper")), "prompt");
}
