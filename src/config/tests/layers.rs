//! Defaults, profiles, expansion and variables.

use super::*;

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
        ..Choices::default()
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
    let names: Vec<&str> = all.keys().map(crate::spec::name::Name::as_str).collect();
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
fn what_agents_may_ask_for_is_resolved_like_a_session_and_is_nothing_by_default() {
    let spawn = |body: &str| fleet(body).map(|loaded| loaded.desired.spawn);
    assert!(spawn("sessions: {s: {profile: claude, dir: /}}").unwrap().templates.is_empty());
    let body = "
policy: {spawn: {allow: [helper, codex], max_children: 2}}
profiles: {helper: {extends: claude, model: small, env: {A: b}}}
sessions: {s: {profile: claude, dir: /}}
";
    let found = fleet(body).unwrap().desired;
    assert_eq!((found.spawn.max_children, found.spawn.max_depth), (2, 1));
    let helper = &found.spawn.templates["helper"];
    assert_eq!((helper.kind.as_str(), helper.choices.model.as_deref()), ("claude", Some("small")));
    assert!(found.kinds.contains_key("codex"), "a kind that only templates use");
    assert_eq!(found.sessions.len(), 1);
    let found = errors(&body.replace("codex", "codx"));
    assert!(has(&found, "there is no profile `codx`") && has(&found, "policy.spawn.allow"), "{found:?}");
}

#[test]
fn policy_kinds_and_moves_are_understood() {
    let body = "
moved: {from: old}
policy: {prune: false, max_reap: 2, max_running: 3, max_unavailable: 3, launch: {parallel: 1, stagger: 1s}, watch: {prune: true}}
kinds: {aider: {about: an agent, executables: [aider], x-note: 1}}
sessions:
  s: {profile: aider, dir: /, moved: {from: r}, desired: stopped, labels: {team: 1}, tabs: {shell: {}, logs: {run: tail -F x}},
      before_launch: {run: [make], on: always}, stop: {grace: 60s}, hooks: off}
";
    // Kinds take no extension keys: their data is copied as a whole.
    assert!(has(&errors(body), "unknown key `x-note`"));
    let desired = fleet(&body.replace(", x-note: 1", "")).unwrap().desired;
    let policy = Policy {
        max_unavailable: Some(3),
        prune: false,
        max_reap: 2,
        max_running: Some(3),
        parallel: 1,
        stagger: Duration::from_secs(1),
        watch_prune: true,
    };
    assert_eq!((desired.policy, desired.moved_from.unwrap().as_str()), (policy, "old"));
    assert_eq!(desired.kinds.keys().map(crate::spec::name::Name::as_str).collect::<Vec<_>>(), ["aider"]);
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
