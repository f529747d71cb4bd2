use super::*;
use crate::config::desired::Spawn;
use crate::plan::tests::world::session;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn id(number: u128) -> SessionId {
    SessionId(uuid::Uuid::from_u128(number))
}

fn child(text: &str, parent: &str, depth: u32) -> Child {
    Child {
        name: name(text),
        parent: name(parent),
        parent_id: id(1),
        depth,
        profile: name("helper"),
        dir: "/src/it".into(),
        prompt: Some("look".into()),
        title: None,
        key: None,
        request: String::new(),
        asked_ms: 0,
        kept: false,
        ended: None,
    }
}

fn fleet(sessions: &[&str]) -> Desired {
    let sessions = sessions.iter().map(|text| (name(text), session(text, "claude"))).collect();
    let templates = [(name("helper"), session("helper", "claude"))].into();
    Desired { fleet: Some(name("web")), sessions, spawn: Spawn { templates, ..Spawn::default() }, ..Desired::default() }
}

fn joined(children: &[Child], desired: &Desired) -> (Vec<String>, BTreeMap<Name, Departure>) {
    let children = Children { children: children.to_vec(), ..Children::default() };
    let whole = children.join(desired, |_| None).into_owned();
    (whole.sessions.keys().map(ToString::to_string).collect(), whole.departed)
}

#[test]
fn a_child_is_a_session_made_from_its_profile_with_its_own_directory_and_prompt() {
    let desired = fleet(&["api"]);
    let children = Children { children: vec![child("helper-1", "api", 1)], ..Children::default() };
    let whole = children.join(&desired, |_| None);
    let made = &whole.sessions["helper-1"];
    assert_eq!((made.parent.as_ref(), made.prompt.as_deref()), (Some(&name("api")), Some("look")));
    assert_eq!((made.dir.path.to_str(), &made.kind), (Some("/src/it"), &name("claude")));
    assert_eq!(made.invocation, desired.spawn.templates["helper"].invocation);
}

#[test]
fn children_leave_with_their_parent_and_theirs_with_them_unless_they_are_kept() {
    let two = [child("a", "api", 1), child("b", "a", 2)];
    assert_eq!(joined(&two, &fleet(&["api"])).0, ["a", "api", "b"]);
    let (sessions, departed) = joined(&two, &fleet(&["web"]));
    assert_eq!(sessions, ["web"]);
    assert_eq!(departed[&name("a")], Departure::ParentGone(name("api")));
    assert_eq!(departed[&name("b")], Departure::ParentGone(name("a")));
    let kept = [Child { kept: true, ..child("a", "api", 1) }, child("b", "a", 2)];
    assert_eq!(joined(&kept, &fleet(&["web"])).0, ["a", "b", "web"]);
}

#[test]
fn a_child_follows_a_parent_that_is_renamed() {
    let mut renamed = fleet(&["gate"]);
    renamed.sessions.get_mut("gate").unwrap().moved_from = Some(name("api"));
    assert_eq!(joined(&[child("a", "api", 1)], &renamed).0, ["a", "gate"]);
    // The file says `moved` no more; the record says what it is called.
    let children = Children { children: vec![child("a", "api", 1)], ..Children::default() };
    let desired = fleet(&["gate"]);
    let whole = children.join(&desired, |asked| (asked == id(1)).then(|| name("gate")));
    assert_eq!(whole.sessions["a"].parent, Some(name("gate")));
}

#[test]
fn a_session_of_the_files_takes_the_place_of_a_child_under_its_name_and_under_a_new_one() {
    let mut desired = fleet(&["a", "api"]);
    let (sessions, departed) = joined(&[child("a", "api", 1)], &desired);
    assert_eq!((sessions, departed.len()), (vec!["a".to_owned(), "api".to_owned()], 0));
    desired = fleet(&["api", "new"]);
    desired.sessions.get_mut("new").unwrap().moved_from = Some(name("a"));
    let (sessions, departed) = joined(&[child("a", "api", 1)], &desired);
    assert_eq!((sessions, departed.len()), (vec!["api".to_owned(), "new".to_owned()], 0));
}

#[test]
fn what_is_dismissed_or_no_longer_allowed_says_why_it_leaves_and_its_name_is_free_again() {
    let ended = |text: &str| Child { ended: Some(Ended { how: End::Dismissed, at_ms: 0 }), ..child(text, "api", 1) };
    assert_eq!(joined(&[ended("a")], &fleet(&["api"])).1[&name("a")], Departure::Dismissed);
    for both in [[ended("a"), child("a", "api", 1)], [child("a", "api", 1), ended("a")]] {
        let (sessions, departed) = joined(&both, &fleet(&["api"]));
        assert_eq!((sessions, departed.len()), (vec!["a".to_owned(), "api".to_owned()], 0));
    }
    let mut closed = fleet(&["api"]);
    closed.spawn = Spawn::default();
    assert_eq!(joined(&[child("a", "api", 1)], &closed).1[&name("a")], Departure::ProfileGone(name("helper")));
}

#[test]
fn what_ended_is_remembered_as_long_as_its_tombstone() {
    let mut children = Children { children: vec![child("a", "api", 1), child("b", "api", 1)], ..Children::default() };
    assert!(children.end(End::Reaped, 1_000, |child| child.name == name("a")));
    assert!(!children.end(End::Reaped, 2_000, |child| child.name == name("a")), "it has ended before");
    let days = TOMBSTONE_DAYS * 24 * 60 * 60 * 1000;
    children.prune(1_000 + days);
    assert_eq!((children.children.len(), children.live().count()), (2, 1));
    children.prune(1_001 + days);
    assert_eq!(children.children.len(), 1);
}
