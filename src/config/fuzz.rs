//! Whatever a file holds, loading it ends, in an answer or in problems that can be shown, and shows no secret.

use std::time::Instant;

use proptest::prelude::*;

use super::fixture::{kinds, request};
use super::load::load_from;
use super::render;
use super::tree;

/// A file that uses every part of the format.
const VALID: &str = r#"farhelm: v1
fleet: fuzz
x-base: &base {profile: mine, dir: ~/x, restart: {when: always, backoff: {initial: 1s}}}
vars: {src: ~/code, n: 3, who: "${env:WHO}"}
policy: {prune: true, max_reap: "${n}", launch: {parallel: 4, stagger: 250ms}}
defaults: {permissions: yolo, labels: {team: "${src}"}, env: {TOKEN: s3cret-literal}}
profiles:
  mine: {extends: claude, model: opus, resume: [claude, --resume, "{conversation}"]}
sessions:
  a: {<<: *base, prompt: "do ${it:-that}", tabs: {t: {}, u: {run: "tail -F 'a b'"}}}
  "${repo}-${p}":
    each: {repo: [web, infra], p: [claude, codex]}
    profile: ${p}
    dir: ${src}/${repo}
  web-codex: {title: "$$ é", env_from: {T: {command: [pass, show, t]}}}
  c:
    invocation: >-
      top -d 5
    dir: /
    permissions: default
"#;

fn load(text: &[u8]) {
    let dir = std::env::temp_dir();
    let mut input = text;
    match load_from(&request(&dir, &["-"]), &kinds(), &mut input) {
        Ok(loaded) => {
            let text = render::fleet(&loaded, true) + &loaded.warnings.render(false);
            assert!(!text.contains("s3cret-literal"), "{text}");
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            let text = problems.render(true) + &problems.json().to_string();
            assert!(!text.contains(['\u{7}', '\0']), "{text:?}");
        }
    }
}

/// Pieces from which YAML is made, and their enemies.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(vec![
            "a", "sessions", ": ", ":\n", "\n", "\n  ", "\n    ", "- ", "{", "}", "[", "]", ",", "\"", "'", "&a ", "*a", "<<: ",
            "? ", "| ", ">\n", "!x ", "#", "${", "${a}", "$$", "~", "null", "1", ".inf", "---\n", "...\n", "%", "@", "\t", "\r\n",
            "farhelm: v1\n", "fleet: f\n", "each: ", "env: ", "profile: ", "dir: ", "é", "\u{1F600}", "\u{7}", "\u{2028}", "\0",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        load(&bytes);
    }

    #[test]
    fn random_yaml_is_answered(pieces in proptest::collection::vec(piece(), 0..80), head in any::<bool>()) {
        let text = if head { "farhelm: v1\nfleet: f\n" } else { "" }.to_owned() + &pieces.concat();
        load(text.as_bytes());
    }

    #[test]
    fn mutated_fleets_are_answered(edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..12_usize, piece()), 1..5)) {
        let mut text = VALID.to_owned();
        for (at, cut, piece) in edits {
            let floor = |mut at: usize| { while !text.is_char_boundary(at) { at -= 1; } at };
            let from = floor(at.index(text.len() + 1));
            let to = floor((from + cut).min(text.len()));
            text.replace_range(from..to.max(from), &piece);
        }
        load(text.as_bytes());
    }
}

#[test]
fn the_unmutated_fleet_is_good() {
    let dir = std::env::temp_dir();
    let loaded = load_from(&request(&dir, &["-"]), &kinds(), &mut VALID.as_bytes());
    let loaded = loaded.unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    assert_eq!(loaded.desired.sessions.len(), 6);
}

#[test]
fn hostile_files_are_answered_quickly() {
    let bomb: String = (0..9)
        .map(|n| {
            let items = if n == 0 { "x, ".repeat(9) } else { format!("*a{}, ", n - 1).repeat(9) };
            format!("a{n}: &a{n} [{items}]\n")
        })
        .collect();
    let vars: String = (0..20_000).map(|n| format!("  v{n}: ${{v{}}}\n", n + 1)).collect();
    let keys: String = (0..20_000).map(|n| format!("  Bad{n}: {{}}\n")).collect();
    for text in [
        "[".repeat(200_000),
        "a: ".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(50_000),
        format!("farhelm: v1\nfleet: x\n{bomb}"),
        format!("farhelm: v1\nfleet: x\nvars:\n{vars}"),
        format!("farhelm: v1\nfleet: x\nsessions:\n{keys}"),
        format!("farhelm: v1\nfleet: {}", "${a:-".repeat(100_000)),
        "?".repeat(500_000),
        "\"".to_owned() + &"a\n".repeat(300_000),
    ] {
        let start = Instant::now();
        load(text.as_bytes());
        assert!(start.elapsed().as_secs() < 20, "{} took {:?}", &text[..30], start.elapsed());
    }
}

/// What loading costs beside reading the events: `cargo test --release --lib -- --ignored --nocapture cost`.
#[test]
#[ignore = "a measurement"]
fn cost_of_loading() {
    let dir = std::env::temp_dir();
    let kinds = kinds();
    for count in [200, 5_000] {
        let mut text = "farhelm: v1\nfleet: big\nvars: {src: ~/code}\nsessions:\n".to_owned();
        for n in 0..count {
            text.push_str(&format!(
                "  session-{n}:\n    profile: claude\n    dir: ${{src}}/repo-{n}\n    model: opus\n    restart: {{when: on-failure}}\n    labels: {{team: core}}\n"
            ));
        }
        let time = |work: &mut dyn FnMut()| {
            (0..7)
                .map(|_| {
                    let start = Instant::now();
                    work();
                    start.elapsed()
                })
                .min()
                .unwrap()
        };
        let events = time(&mut || drop(tree::events_only(&text)));
        let all = time(&mut || drop(load_from(&request(&dir, &["-"]), &kinds, &mut text.as_bytes()).unwrap()));
        println!(
            "{count}: {} bytes, events {events:?}, load {all:?} = {:.2}x",
            text.len(),
            all.as_secs_f64() / events.as_secs_f64()
        );
    }
}
