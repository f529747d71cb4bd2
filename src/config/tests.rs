use std::path::{Path, PathBuf};
use std::time::Duration;

use super::desired::*;
use super::fixture::{errors, files, fleet, kinds, request, stdin};
use super::load::load;

fn session(body: &str, name: &str) -> Session {
    let loaded = fleet(body).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    loaded.desired.sessions.values().find(|session| session.name.as_str() == name).unwrap().clone()
}

fn warnings(body: &str) -> Vec<String> {
    let loaded = fleet(body).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    loaded.warnings.iter().map(|problem| problem.message.clone()).collect()
}

fn has(found: &[String], words: &str) -> bool {
    found.iter().any(|message| message.contains(words))
}

#[test]
fn the_smallest_session_gets_every_default() {
    let api = session("sessions: {api: {profile: claude, dir: ~/code}}", "api");
    assert_eq!(api.invocation, ["claude"]);
    assert_eq!(api.dir, Dir { spelling: "~/code".into(), path: "/home/me/code".into() });
    assert_eq!((api.restart, api.stop_grace), (Restart::default(), Duration::from_secs(5)));
    assert_eq!((api.update, api.on_lost_conversation), (UpdateWhen::Idle, OnLost::Block));
    assert!(api.running && api.hooks && !api.protect);
    let plain = session("sessions: {x: {invocation: [top], dir: /}}", "x");
    assert_eq!(plain.kind.as_str(), "generic");
    assert_eq!((plain.update, plain.on_lost_conversation), (UpdateWhen::Now, OnLost::Fresh));
}

#[test]
fn a_session_beats_its_profile_chain_which_beats_the_defaults_field_by_field() {
    let body = "
defaults: {permissions: yolo, restart: {when: never, max_restarts: 9}, env: {A: d, B: d, C: d}}
profiles:
  claude: {model: opus, env: {B: p, C: p}}
  mine: {extends: claude, effort: low, restart: {max_restarts: 7}}
sessions:
  s: {profile: mine, dir: /, effort: high, env: {C: s}}
";
    let s = session(body, "s");
    let choices = Choices {
        model: Some("opus".into()),
        effort: Some("high".into()),
        permissions: Permissions::Yolo,
        trust: None,
    };
    assert_eq!(s.choices, choices);
    assert_eq!((s.restart.when, s.restart.max_restarts), (RestartWhen::Never, 7));
    let values: Vec<_> = s.env.values().cloned().collect();
    assert_eq!(values, ["d", "p", "s"].map(|text| EnvValue::Literal(text.into())));
}

#[test]
fn each_makes_all_combinations_or_rows_and_a_plain_entry_refines_one() {
    let body = "
vars: {src: ~/code}
sessions:
  \"${repo}-${p}\": {each: {repo: [web, infra], p: [claude, codex]}, profile: \"${p}\", dir: \"${src}/${repo}\", title: \"${repo}\"}
  infra-codex: {permissions: yolo}
  \"row-${n}\": {each: [{n: 1, p: x}, {n: 2, p: y}], invocation: [echo, \"${p}\"], dir: /, priority: \"${n}\"}
";
    let all = fleet(body).unwrap().desired.sessions;
    let names: Vec<&str> = all.keys().map(super::super::spec::name::Name::as_str).collect();
    assert_eq!(names, ["infra-claude", "infra-codex", "row-1", "row-2", "web-claude", "web-codex"]);
    let codex = &all["infra-codex"];
    assert_eq!((codex.choices.permissions, codex.dir.spelling.as_str()), (Permissions::Yolo, "~/code/infra"));
    assert_eq!((all["row-2"].priority, all["row-2"].invocation[1].as_str()), (2, "y"));
}

#[test]
fn each_must_give_every_session_a_name_of_its_own() {
    let found = errors("sessions:\n  same: {each: {n: [1, 2]}, invocation: [a], dir: /}\n");
    assert!(has(&found, "`each` gives the name `same` more than once"), "{found:?}");
    let lists = (0..6).map(|n| format!("n{n}: [{}]", "1, ".repeat(50))).collect::<Vec<_>>().join(", ");
    let found = errors(&format!("sessions:\n  \"s-${{n1}}\": {{each: {{{lists}}}, invocation: [a], dir: /}}\n"));
    assert!(has(&found, "more than 20000 sessions"), "{found:?}");
}

#[test]
fn operators_variables_beat_the_files_and_vars_files() {
    let dir = files(&[
        (
            "f.yaml",
            "farhelm: v1\nfleet: t\nvars: {a: 1, b: 1, c: 1}\nsessions: {s: {invocation: ['${a}${b}${c}'], dir: /}}\n",
        ),
        ("v.yaml", "b: 2\nc: 2\n"),
    ]);
    let mut request = request(dir.path(), &["f.yaml"]);
    request.var_files = vec!["v.yaml".into()];
    request.vars = vec![("c".into(), "3".into())];
    let loaded = load(&request, &kinds()).unwrap();
    assert_eq!(loaded.desired.sessions["s"].invocation, ["123"]);
    assert_eq!(loaded.desired.sources, [dir.path().canonicalize().unwrap().join("f.yaml")]);
}

#[test]
fn values_of_the_environment_are_named_and_never_shown() {
    let body = "sessions: {s: {invocation: ['${env:WHO}'], dir: /, restart: {max_restarts: '${n:-3}'}}}";
    let loaded = fleet(body).unwrap();
    assert_eq!(loaded.desired.from_environment, ["WHO"]);
    assert_eq!(loaded.desired.sessions["s"].restart.max_restarts, 3);
    let body = "vars: {w: '${env:WHO}'}
sessions:
  a: {profile: '${env:WHO}', dir: '${env:WHO}', permissions: '${w}', restart: {max_restarts: '${env:WHO}'}}
  b: {profile: '${w}', dir: '~${w}'}
  c: {profile: claude, effort: '${env:WHO}', dir: '${w}'}
  '${env:WHO}_': {profile: claude, dir: /}
  d: {profile: claude, dir: /, env: {TOKEN: s3cret-two}, envv: 1}
  e: {profile: claude, dir: /, env: {TOKEN: [s3cret-three]}}
  '${x}': {each: {x: ['${env:WHO}'], y: ['${w}']}, profile: '${y}', dir: '${x}', title: '${z:?${w}}'}
";
    let problems = fleet(body).unwrap_err();
    let all = format!("{}{}", problems.render(false), problems.json());
    assert!(problems.len() >= 8, "{all}");
    assert!(!all.contains("s3cret"), "{all}");
    assert!(all.contains("`${env:WHO}` is relative"), "{all}");
}

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
fn a_raw_command_has_the_kind_of_the_program_it_starts() {
    assert_eq!(session("sessions: {s: {invocation: /usr/bin/claude --verbose, dir: /}}", "s").kind.as_str(), "claude");
    assert_eq!(session("sessions: {s: {invocation: claude-x, dir: /}}", "s").kind.as_str(), "generic");
    let body = "profiles: {p: {invocation: [claude]}}\nsessions: {s: {profile: p, dir: /}}";
    assert_eq!(session(body, "s").kind.as_str(), "generic");
    let body = "profiles: {p: {kind: claude, model: opus}}\nsessions: {s: {profile: p, dir: /}}";
    assert_eq!(session(body, "s").invocation, ["claude"]);
}

#[test]
fn how_to_resume_must_be_known_or_written_out() {
    for (command, words) in [
        ("kind: claude, invocation: [wrap, claude]", "how to resume cannot be derived: `wrap` is not `claude`"),
        ("kind: claude, invocation: [claude, --continue]", "cannot be derived from an invocation with `--continue`"),
        ("kind: claude, invocation: [claude], resume: [claude]", "must have `{conversation}`"),
        ("kind: claude, invocation: [claude], resume: [claude, 'x{conversation}']", "must have `{conversation}`"),
        ("invocation: [top], resume: [top, '{conversation}']", "can never be filled in"),
        ("invocation: ['{cwd}']", "cannot be the program"),
        ("invocation: [a, '{conversation}']", "only known to `resume`"),
        ("invocation: ['']", "program's name is empty"),
        ("invocation: [\"a\\0\"]", "cannot hold a NUL"),
        ("invocation: \" \"", "the command is empty"),
        ("invocation: \"a 'b\"", "a quote is not closed"),
        ("kind: nope, invocation: [a]", "there is no kind `nope`"),
        (
            "kind: claude, invocation: [docker, run, claude], resume: [docker, '{conversation}']",
            "out of this host's process table",
        ),
    ] {
        let found = errors(&format!("sessions:\n  s: {{{command}, dir: /}}\n"));
        assert!(found.len() == 1 && has(&found, words), "{command}: {found:?}");
    }
    let good = "sessions: {s: {kind: claude, invocation: [w, '{cwd}', claude], resume: [w, '{cwd}', claude, '{conversation}'], dir: /}}";
    assert_eq!(session(good, "s").resume.unwrap().len(), 4);
    session("sessions: {s: {invocation: [docker, run], dir: /}}", "s");
    session("sessions: {s: {invocation: [top], resume: [top, again], dir: /}}", "s");
}

#[test]
fn a_profile_that_changes_the_command_does_not_inherit_the_resume() {
    let body = "
profiles:
  a: {kind: claude, invocation: [w, claude], resume: [w, claude, '{conversation}']}
  b: {extends: a, invocation: [v, claude]}
sessions: {s: {profile: b, dir: /}}";
    assert!(has(&errors(body), "cannot be derived"));
}

#[test]
fn a_choice_that_the_kind_cannot_express_is_refused() {
    let problems = fleet("sessions: {s: {profile: codex, dir: /, effort: high, trust: trusted}}").unwrap_err();
    let text = problems.render(false);
    assert!(text.contains("kind `codex` cannot express `effort`") && text.contains("`trust: trusted`"), "{text}");
    assert!(text.contains("only what it can: `model`, `permissions: yolo` and `prompt`"), "{text}");
    assert!(has(&errors("sessions: {s: {profile: claude, dir: /, effort: hi}}"), "has no effort `hi`"));
    assert!(has(&errors("sessions: {s: {invocation: [a], dir: /, prompt: x}}"), "cannot express `prompt`"));
}

#[test]
fn what_only_the_defaults_choose_is_left_out_for_a_program_that_is_no_agent() {
    let body = "
defaults: {permissions: yolo, model: m, effort: high, prompt: go}
profiles: {watch: {invocation: [watch]}, loud: {invocation: [watch], model: m}}
sessions: {plain: {profile: watch, dir: /}, raw: {invocation: [top], dir: /}, agent: {profile: claude, dir: /}}";
    for name in ["plain", "raw"] {
        let plain = session(body, name);
        assert_eq!((plain.choices, plain.prompt), (Choices::default(), None), "{name}");
    }
    assert_eq!(session(body, "agent").choices.permissions, Permissions::Yolo);
    let loud = body.replace("profile: watch", "profile: loud");
    assert_eq!(errors(&loud).len(), 1);
    assert!(has(&errors(&loud), "kind `generic` cannot express `model`"));
    let own = body.replace("profile: watch", "profile: watch, permissions: yolo");
    assert!(has(&errors(&own), "kind `generic` cannot express `permissions: yolo`"));
    let agent = body.replace("profile: claude", "profile: codex");
    assert!(has(&errors(&agent), "kind `codex` cannot express `effort`"));
}

#[test]
fn a_known_kind_is_completed_field_by_field() {
    let body = "
kinds: {claude: {executables: [claude, claude-beta], env: {A: b}, choices: {effort_values: [low, wild]}}}
sessions: {s: {invocation: [claude-beta], dir: /, effort: wild, model: m}}";
    let loaded = fleet(body).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    let (mine, known) = (&loaded.desired.kinds["claude"], &kinds()["claude"]);
    assert_eq!(loaded.desired.sessions["s"].kind.as_str(), "claude");
    assert_eq!((mine.executables.len(), mine.env["A"].as_str()), (2, "b"));
    assert_eq!(mine.choices.effort_values, ["low", "wild"]);
    assert_eq!((&mine.choices.model, &mine.conversation), (&known.choices.model, &known.conversation));
}

#[test]
fn a_kind_that_cannot_work_is_refused_where_it_is_written() {
    for (kind, words) in [
        ("x: {executables: [x]}", "kinds.x: missing field `about`"),
        ("x: {about: a, nonsense: 1}", "kinds.x.nonsense: unknown key"),
        ("x: {name: y, about: a}", "kinds.x.name: the kind's name is its key"),
        ("x: {about: a, conversation: {resume: [-r, '{conversation}']}}", "kinds.x.executables: "),
        ("x: {about: a, choices: {model: [-m]}}", "kinds.x.choices.model: "),
        ("claude: {conversation: {resume: [--continue]}}", "kinds.claude.conversation.resume: "),
        ("claude: {choices: {yolo: 3}}", "kinds.claude.choices.yolo: "),
    ] {
        let found = errors(&format!("kinds: {{{kind}}}\n"));
        assert!(found.len() == 1 && has(&found, words), "{kind}: {found:?}");
    }
}

#[test]
fn a_program_that_is_easily_taken_for_the_agent_is_refused() {
    let body = "kinds: {codex: {not_executables: {codex-ide: an editor}}}
sessions: {s: {kind: codex, invocation: [codex-ide], resume: [codex-ide, '{conversation}'], dir: /}}";
    assert!(has(&errors(body), "`codex-ide` is not the program of kind `codex`: it is an editor"));
}

#[test]
fn profiles_chain_without_circles() {
    let circle = "profiles: {a: {extends: b}, b: {extends: c}, c: {extends: a}}\n";
    let found = errors(circle);
    assert!(found.len() == 1 && has(&found, "in a circle: a -> b -> c -> a"), "{found:?}");
    assert!(has(&errors("profiles: {a: {extends: clude}}"), "there is no profile `clude`"));
    assert!(has(&errors("sessions: {s: {profile: a, dir: /}}\nprofiles: {a: {model: x}}"), "has no `invocation`"));
    assert!(has(&errors("sessions: {s: {profile: claude, invocation: [a], dir: /}}"), "exclude each other"));
    assert!(has(&errors("sessions: {s: {dir: /}}"), "says neither"));
}

#[test]
fn directories_are_absolute_or_at_home() {
    for (dir, words) in [("code", "is relative"), ("~joe/x", "somebody's home"), ("./x", "is relative")] {
        assert!(has(&errors(&format!("sessions: {{s: {{invocation: [a], dir: {dir}}}}}")), words), "{dir}");
    }
    assert!(has(&errors("sessions: {s: {invocation: [a]}}"), "says no `dir`"));
    assert_eq!(session("sessions: {s: {invocation: [a], dir: '~'}}", "s").dir.path, Path::new("/home/me"));
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
fn environment_and_prompt_are_checked_where_they_are_said() {
    for (fields, words) in [
        ("env: {FARHELM_X: 1}", "farhelm's own"),
        ("env: {A: 1}, env_from: {A: {file: x}}", "one source"),
        ("env_from: {A: {file: x, command: [y]}}", "exclude each other"),
        ("env_from: {A: {}}", "neither `file` nor `command`"),
        ("env_from: {A: {file: x, format: dotenv}}", "is for commands"),
        ("env_file: nope.env", "nope.env cannot be read"),
        ("prompt: a, prompt_file: b", "exclude each other"),
        ("prompt_file: b", "cannot be read"),
        ("env: {A-B: 1}", "`A-B` cannot be a key here"),
        ("before_launch: {timeout: 1s}", "needs `run`"),
        ("restart: {backoff: {initial: 1h}}", "is longer than `max`"),
        ("tabs: {t: {dir: x}}", "is relative"),
    ] {
        let found = errors(&format!("sessions:\n  s: {{profile: claude, dir: /, {fields}}}\n"));
        assert!(found.len() == 1 && has(&found, words), "{fields}: {found:?}");
    }
}

#[test]
fn what_is_legal_and_surely_not_meant_is_warned_about() {
    for (command, words) in [
        ("[a, '--dir={cwd}']", "only a whole argument is filled in"),
        ("'tail -f x | grep y'", "`|` is passed on"),
        ("[make, '&&', run]", "`&&` is passed on"),
        ("[echo, $HOME]", "no shell fills in a `$`"),
        ("[a, '>', log]", "`>` is passed on"),
    ] {
        let found = warnings(&format!("sessions:\n  s: {{invocation: {command}, dir: /}}\n"));
        assert!(found.len() == 1 && has(&found, words), "{command}: {found:?}");
    }
    let shell = "sessions:\n  s: {invocation: [sh, -c, 'cd $1 && ls | wc > x', w, '{cwd}'], dir: /}\n";
    assert_eq!(warnings(shell), [""; 0]);
    let resume = "sessions: {s: {profile: p, dir: /, model: opus, permissions: yolo}}\nprofiles: {p: {extends: claude, resume: [claude, --yolo, --resume, '{conversation}']}}";
    assert!(has(&warnings(resume), "does not repeat `model`"));
    let own = "kinds: {codex: {args: [-c, no-daemon]}}
sessions: {s: {kind: codex, invocation: [w, codex], resume: [w, codex, -c, x, resume, '{conversation}'], dir: /}}";
    assert!(has(&warnings(own), "does not repeat `no-daemon`"));
}

#[test]
fn policy_kinds_and_moves_are_understood() {
    let body = "
moved: {from: old}
policy: {prune: false, max_reap: 2, max_running: 3, launch: {parallel: 1, stagger: 1s}, watch: {prune: true}}
kinds: {aider: {about: an agent, executables: [aider], x-note: 1}}
sessions:
  s: {profile: aider, dir: /, moved: {from: r}, desired: stopped, labels: {team: 1}, tabs: {shell: {}, logs: {run: tail -F x}},
      before_launch: {run: [make], on: always}, stop: {grace: 60s}, hooks: off}
";
    // Kinds take no extension keys: their data is copied as a whole.
    assert!(has(&errors(body), "unknown key `x-note`"));
    let desired = fleet(&body.replace(", x-note: 1", "")).unwrap().desired;
    let policy = Policy {
        prune: false,
        max_reap: 2,
        max_running: Some(3),
        parallel: 1,
        stagger: Duration::from_secs(1),
        watch_prune: true,
    };
    assert_eq!((desired.policy, desired.moved_from.unwrap().as_str()), (policy, "old"));
    assert_eq!(desired.kinds.keys().map(super::super::spec::name::Name::as_str).collect::<Vec<_>>(), ["aider"]);
    let s = &desired.sessions["s"];
    assert_eq!(
        (s.running, s.hooks, s.labels["team"].as_str(), s.moved_from.as_ref().unwrap().as_str()),
        (false, false, "1", "r")
    );
    assert_eq!(s.tabs["logs"].run.as_ref().unwrap().len(), 3);
    assert_eq!(
        s.before_launch,
        Some(BeforeLaunch { run: vec!["make".into()], timeout: Duration::from_secs(600), always: true })
    );
    assert!(has(
        &errors("sessions: {a: {invocation: [x], dir: /, moved: {from: b}}, b: {invocation: [x], dir: /}}"),
        "still here"
    ));
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
