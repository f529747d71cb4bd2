use super::*;

fn faults(text: &str) -> Vec<String> {
    read(text).1.into_iter().map(|fault| fault.words).collect()
}

fn path(keys: &[&str]) -> Vec<Step> {
    keys.iter().map(|key| key.parse().map_or_else(|_| Step::from(*key), Step::Item)).collect()
}

#[test]
fn a_path_leads_to_its_value_also_through_aliases_and_merge_keys() {
    let text = "base: &b {x: 1, y: [2, 3]}\nuse: *b\nmore:\n  <<: [*b]\n  z: 4\n";
    let (tree, faults) = read(text);
    assert_eq!(faults, []);
    let root = tree.root().unwrap();
    for (keys, line, column) in [(["use", "y", "1"], 0, 23), (["more", "y", "0"], 0, 20), (["more", "z", ""], 4, 5)] {
        let found = tree.find(root, &path(&keys));
        assert_eq!(tree.at(found.node).start, Pos { line, column }, "{keys:?}");
    }
    let merged = tree.find(root, &path(&["more", "x"]));
    assert_eq!(tree.at(merged.through.unwrap()).start.line, 3);
    assert_eq!(tree.find(root, &path(&["use", "nothing", "there"])).steps, 1);
}

#[test]
fn duplicate_keys_tags_and_keys_that_are_no_text_are_all_found() {
    let found = faults("a: 1\nb: !secret x\na: 2\n1: c\nnull: d\nn: .inf\n");
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found.iter().any(|words| words == "key `a` is here twice"));
}

#[test]
fn hostile_files_are_refused_early() {
    let deep = "[".repeat(100_000);
    let wide = "- a\n".repeat(MAX_NODES + 1);
    let mut aliases = "a: &a 1\nb: [".to_owned();
    aliases.push_str(&"*a, ".repeat(MAX_ALIASES + 1));
    aliases.push(']');
    let own = "a: &a [*a]\n";
    for text in [deep.as_str(), wide.as_str(), aliases.as_str(), own, "a: 1\n---\nb: 2\n", "{a: [}"] {
        assert!(read(text).1.iter().any(|fault| fault.fatal), "{}", &text[..text.len().min(20)]);
    }
}

#[test]
fn numbers_and_truths_are_told_from_text_as_yaml_1_2_does() {
    for text in ["no", "off", "yes", "on", "014", "1_000", "12:30", "v1", "a", "-", ".", "0x", "1.2.3", "e3"] {
        assert!(reads_as_text(text), "{text}");
    }
    for other in ["", "~", "null", "true", "FALSE", "1", "-3", "0o14", "0x1F", "1e3", ".5", "0", "-.inf", ".nan"] {
        assert!(!reads_as_text(other), "{other}");
    }
}
