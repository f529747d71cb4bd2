//! What a session says: commands, kinds, choices, directories, environment.

use super::*;

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
fn hooks_are_trusted_and_a_view_is_kept_only_where_the_agent_knows_of_that() {
    assert!(has(&errors("sessions: {s: {profile: claude, dir: /, hook_trust: bypass}}"), "`hook_trust: bypass`"));
    assert!(has(&errors("sessions: {s: {profile: codex, dir: /, agent_view: on}}"), "`agent_view: on`"));
    let body = "
farhelm: v1
fleet: test
profiles: {mine: {extends: codex, hook_trust: bypass}}
defaults: {agent_view: off}
sessions:
  a: {profile: mine, dir: /}
  b: {profile: claude, dir: /, agent_view: on}
  c: {profile: claude, dir: /}";
    let dir = tempfile::tempdir().unwrap();
    let known = crate::agents::catalogue::builtin();
    let loaded = load_from(&request(dir.path(), &["-"]), known, &mut body.as_bytes());
    let loaded = loaded.unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    let chosen = |name: &str| {
        let choices = &loaded.desired.sessions[name].choices;
        (choices.bypass_hook_trust, choices.agent_view)
    };
    assert_eq!([chosen("a"), chosen("b"), chosen("c")], [(true, false), (false, true), (false, false)]);
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
fn directories_are_absolute_or_at_home() {
    for (dir, words) in [("code", "is relative"), ("~joe/x", "somebody's home"), ("./x", "is relative")] {
        assert!(has(&errors(&format!("sessions: {{s: {{invocation: [a], dir: {dir}}}}}")), words), "{dir}");
    }
    assert!(has(&errors("sessions: {s: {invocation: [a]}}"), "says no `dir`"));
    assert_eq!(session("sessions: {s: {invocation: [a], dir: '~'}}", "s").dir.path, Path::new("/home/me"));
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
