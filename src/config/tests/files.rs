//! Files: what is read, and how what is wrong in it is reported.

use super::*;

#[test]
fn every_problem_of_every_file_is_reported_in_order_with_its_place() {
    let dir = files(&[
        (
            "fleet/a.yaml",
            "farhelm: v1\nfleet: t\nsessions:\n  one: {profile: claud, dir: here}\n  two: {profle: claude, dir: /}\n",
        ),
        (
            "fleet/b.yaml",
            "farhelm: v1\nfleet: t\nsessions:\n  one: {profile: codex, dir: /}\n  thr: {profile: codex, dir: /, restart: {when: alwasy}, stop: {grace: 2m}}\n",
        ),
        ("fleet/c.yaml", "farhelm: v1\nsessions: {a: 1, a: 2\n"),
        ("fleet/.hidden.yaml", "nonsense"),
    ]);
    let problems = load(&request(dir.path(), &["fleet"]), &kinds()).unwrap_err();
    let text = problems.render(false);
    let places: Vec<_> = problems
        .iter()
        .filter_map(|problem| problem.place.as_ref())
        .map(|place| (place.file.clone(), place.line))
        .collect();
    let mut sorted = places.clone();
    sorted.sort();
    assert_eq!(places, sorted);
    for words in [
        "there is no profile `claud`",
        "did you mean `claude`?",
        "`here` is relative",
        "unknown key `profle`",
        "did you mean `profile`?",
        "claimed by two files: fleet/a.yaml and fleet/b.yaml",
        "did you mean `always`?",
        "a grace of 2m is longer than 1m",
        "fleet/c.yaml:",
        "sessions.thr.restart.when",
        "5 |   thr: {profile: codex",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("says neither"), "{text}");
}

#[test]
fn includes_are_relative_must_match_and_may_not_run_in_circles() {
    let head = "farhelm: v1\nfleet: t\n";
    let dir = files(&[
        ("main.yaml", &format!("{head}include: [common/*.yaml, nope/*.yaml]\n")),
        (
            "ok.yaml",
            &format!("{head}include: [common/*.yaml, common/one.yaml]\nsessions: {{s: {{profile: mine, dir: /}}}}\n"),
        ),
        ("common/one.yaml", "farhelm: v1\nprofiles: {mine: {extends: claude}}\n"),
        ("common/two.yaml", "farhelm: v1\ndefaults: {model: opus}\n"),
        ("loop/a.yaml", &format!("{head}include: b.yaml\n")),
        ("loop/b.yaml", "farhelm: v1\ninclude: [a.yaml]\n"),
    ]);
    let loaded = load(&request(dir.path(), &["ok.yaml"]), &kinds()).unwrap();
    assert_eq!(loaded.desired.sources.len(), 3);
    assert_eq!(loaded.desired.sessions["s"].choices.model.as_deref(), Some("opus"));
    let text = |path: &str| load(&request(dir.path(), &[path]), &kinds()).unwrap_err().render(false);
    assert!(text("main.yaml").contains("matches no file"));
    assert!(text("loop/a.yaml").contains("in a circle"));
    assert!(text("nowhere.yaml").contains("nowhere.yaml cannot be read"));
    assert!(text(".").contains("claimed by two files") || text(".").contains("matches no file"));
}

#[test]
fn without_a_path_the_default_file_is_read() {
    let dir = files(&[("config/farhelm/farhelm.yaml", "farhelm: v1\nfleet: home\n")]);
    assert_eq!(load(&request(dir.path(), &[]), &kinds()).unwrap().desired.fleet.unwrap().as_str(), "home");
    std::fs::write(dir.path().join("farhelm.yaml"), "farhelm: v1\nfleet: here\n").unwrap();
    assert_eq!(load(&request(dir.path(), &[]), &kinds()).unwrap().desired.fleet.unwrap().as_str(), "here");
    let empty = files(&[]);
    assert!(load(&request(empty.path(), &[]), &kinds()).unwrap_err().render(false).contains("no fleet file"));
}

#[test]
fn a_file_says_its_version_first_and_the_fleet_its_name() {
    assert!(stdin("fleet: t\n").unwrap_err().render(false).contains("`farhelm` is missing"));
    assert!(stdin("fleet: t\nfarhelm: v1\n").unwrap_err().render(false).contains("must be the first key"));
    assert!(stdin("farhelm: v2\nfleet: t\n").unwrap_err().render(false).contains("expected `v1`"));
    assert!(stdin("farhelm: v1\n").unwrap_err().render(false).contains("no file says `fleet:`"));
    for empty in ["", "# nothing\n", "---\n"] {
        assert!(!stdin(empty).unwrap_err().is_empty(), "{empty:?}");
    }
    assert!(stdin("\u{feff}farhelm: v1\nfleet: t\n").is_ok());
}

#[test]
fn anchors_merge_keys_and_extension_keys_work() {
    let body = "
x-base: &base {profile: claude, dir: /work}
sessions:
  a: {<<: *base, model: opus, x-note: [any, thing]}
  x-ray: *base
";
    let all = fleet(body).unwrap().desired.sessions;
    assert_eq!((all["a"].dir.spelling.as_str(), all["x-ray"].dir.spelling.as_str()), ("/work", "/work"));
    let bad = fleet("x-base: &base {profile: claude, dir: here}\nsessions:\n  a:\n    <<: *base\n").unwrap_err();
    let place = bad.iter().next().unwrap().place.clone().unwrap();
    assert_eq!((place.line, place.column), (Some(3), Some(38)));
}

#[test]
fn files_that_settings_name_are_read_relative_to_the_file_that_says_so() {
    let main = "farhelm: v1\nfleet: t\ninclude: sub/p.yaml\nsessions:\n  s: {profile: p, dir: /, prompt_file: task.md, env: {B: mine}, env_from: {T: {file: ~/t, on_change: restart}, M: {command: pass show x, format: dotenv}}}\n";
    let dir = files(&[
        ("main.yaml", main),
        ("task.md", "do it\n"),
        (
            "sub/p.yaml",
            "farhelm: v1\nprofiles: {p: {extends: claude, env_file: vars.env, env_from: {C: {file: key}}}}\n",
        ),
        ("sub/vars.env", "A=1\nB=2\n"),
    ]);
    let loaded =
        load(&request(dir.path(), &["main.yaml"]), &kinds()).unwrap_or_else(|it| panic!("{}", it.render(false)));
    let s = &loaded.desired.sessions["s"];
    assert_eq!(s.prompt.as_deref(), Some("do it"));
    assert_eq!(
        (s.env["A"].clone(), s.env["B"].clone()),
        (EnvValue::Literal("1".into()), EnvValue::Literal("mine".into()))
    );
    let key = dir.path().canonicalize().unwrap().join("sub/key");
    assert_eq!(s.env["C"], EnvValue::Secret(SecretRef::File { path: key, restart_on_change: false }));
    assert_eq!(
        s.env["T"],
        EnvValue::Secret(SecretRef::File { path: PathBuf::from("/home/me/t"), restart_on_change: true })
    );
    assert_eq!(s.env_bundles, [SecretRef::Command { argv: vec!["pass".into(), "show".into(), "x".into()] }]);
}

#[test]
fn syntax_errors_explain_the_usual_trap_and_hide_env_values() {
    let trap = stdin("farhelm: v1\nfleet: t\nsessions:\n  a: {dir: ~/${x}}\n").unwrap_err().render(false);
    assert!(trap.contains("must be quoted"), "{trap}");
    let open =
        stdin("farhelm: v1\nfleet: t\nsessions:\n  a:\n    env:\n      T: \"s3cret\n").unwrap_err().render(false);
    assert!(!open.contains("s3cret"), "{open}");
    let null = fleet("sessions: {s: {invocation: [a], dir: ~}}").unwrap_err().render(false);
    assert!(null.contains("an unquoted `~` alone is YAML's null"), "{null}");
    let twice = fleet("sessions:\n  a: {dir: x}\n  a: {profile: clau, dir: /}\n").unwrap_err().render(false);
    assert!(twice.contains("key `a` is here twice") && twice.contains("did you mean"), "{twice}");
}

#[test]
fn env_values_are_hidden_in_source_lines_whatever_ends_those() {
    for end in ["\n", "\r\n", "\r"] {
        let lines = [
            "farhelm: v1",
            "fleet: t",
            "sessions:",
            "  a:",
            "    dir: /",
            "    env: {T: s3cret, U: [1]}",
            "    oops: 1",
            "",
        ];
        let text = stdin(&lines.join(end)).unwrap_err().render(false);
        assert!(text.contains("unknown key `oops`") && !text.contains("s3cret"), "{end:?} {text}");
    }
}

#[test]
fn every_example_is_a_fleet_without_a_warning() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut count = 0;
    for entry in std::fs::read_dir(&examples).unwrap() {
        let name = entry.unwrap().file_name();
        let Some(name) = name.to_str().filter(|name| name.ends_with(".yaml")) else { continue };
        let loaded = load(&request(&examples, &[name]), &kinds());
        let loaded = loaded.unwrap_or_else(|problems| panic!("{}", problems.render(false)));
        assert!(loaded.warnings.is_empty(), "{}", loaded.warnings.render(false));
        let text = std::fs::read_to_string(examples.join(name)).unwrap();
        assert!(text.starts_with("# yaml-language-server: $schema=../schema/fleet.schema.json\n"));
        count += 1;
    }
    assert!(count >= 2);
}
