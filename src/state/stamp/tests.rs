use proptest::prelude::*;

use super::*;
use crate::state::fields::Field;
use crate::state::tests::{id, name, record};

fn options(pairs: &[(&str, &str)]) -> StampText {
    pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

fn stamp() -> Stamp {
    Stamp::of(&record(1, "web", "api"), &OwnerId("0123abcd".into()))
}

fn paths() -> impl Strategy<Value = PathBuf> {
    proptest::collection::vec(1u8..=255, 0..40)
        .prop_map(|tail| PathBuf::from(OsString::from_vec([b"/".as_slice(), &tail].concat())))
}

prop_compose! {
    fn stamps()(
        numbers in (any::<u128>(), any::<u128>(), any::<u32>(), any::<bool>(), any::<bool>()),
        names in ("[a-z0-9]{1,20}", "[a-z0-9]{1,20}", "[a-z0-9]{1,20}"),
        env in proptest::collection::btree_map("[^\0]{1,12}", "[0-9a-f]{16}", 0..6),
        salt in "\\PC{0,12}",
        dir in proptest::option::of(paths()),
        conversation in proptest::option::of("\\PC{1,40}"),
        sources in proptest::collection::vec(paths(), 0..4),
    ) -> Stamp {
        let (session, tab, generation, flag, tabbed) = numbers;
        let assigned = if flag { Provenance::Assigned } else { Provenance::Reported };
        Stamp {
            id: id(session),
            owner: OwnerId("0123456789abcdef0123456789abcdef".into()),
            fleet: name(&names.0),
            session: name(&names.1),
            generation,
            tab: tabbed.then(|| (name(&names.2), id(tab))),
            salt,
            fields: env.into_iter().map(|(key, hash)| (Field::Env(key), hash)).collect(),
            fields_version: 1,
            dir,
            provenance: conversation.is_some().then_some(assigned),
            conversation,
            protect: flag,
            sources,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again_and_uses_the_safe_alphabet(stamp in stamps()) {
        let text = stamp.write();
        for value in text.values() {
            prop_assert!(value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.,:/=%+".contains(&b)), "{}", value);
        }
        prop_assert_eq!(Stamp::read(&text), Some(stamp));
    }

    #[test]
    fn garbage_in_any_option_never_panics(key in 0usize..11, garbage in "\\PC{0,60}|[%:,=v0-9a-f]{0,60}") {
        let mut text = stamp().write();
        let key = text.keys().nth(key).unwrap().clone();
        text.insert(key, garbage);
        let _ = Stamp::read(&text);
    }
}

#[test]
fn a_pane_that_does_not_say_whose_it_is_has_no_stamp() {
    assert_eq!(Stamp::read(&StampText::new()), None);
    assert_eq!(Stamp::read(&options(&[("owner", "0123"), ("fleet", "web"), ("session", "api")])), None);
    for missing in ["id", "owner", "fleet", "session"] {
        let mut text = stamp().write();
        text.insert(missing.into(), String::new());
        assert_eq!(Stamp::read(&text), None, "{missing}");
    }
}

#[test]
fn a_tabs_pane_with_an_unreadable_tab_is_nobodys_and_not_the_agents() {
    let mut text = stamp().write();
    text.insert("tab".into(), "shell".into());
    assert_eq!(Stamp::read(&text), None);
}

#[test]
fn a_stamp_says_what_it_does_not_know_too_so_that_nothing_old_remains() {
    let text = stamp().write();
    for empty in ["conversation", "protect", "tab"] {
        assert_eq!(text[empty], "", "{empty}");
    }
}

#[test]
fn hashes_of_another_canonical_form_or_too_many_are_unknown_and_not_none() {
    let mut text = stamp().write();
    text.insert("fields".into(), "v99:salt:command=00".into());
    assert_eq!(Stamp::read(&text).unwrap().fields_version, 0);
    let fields = (0..1000).map(|number| (Field::Env(format!("NAME{number}")), "0123456789abcdef".into())).collect();
    let read = Stamp::read(&Stamp { fields, ..stamp() }.write()).unwrap();
    assert_eq!((read.fields_version, read.fields.len()), (0, 0));
}

#[test]
fn sources_too_many_for_a_stamp_are_unknown() {
    let sources = (0..1000).map(|number| PathBuf::from(format!("/etc/fleet/{number:04}.yaml"))).collect();
    assert!(Stamp::read(&Stamp { sources, ..stamp() }.write()).unwrap().sources.is_empty());
}
