use super::*;

/// A link: its program, then its arguments separated by `|`.
type Part = (&'static str, &'static str);

const HOOK: Part = ("/opt/farhelm", "/opt/farhelm|internal|hook|--vendor|x|--launch|1");
const SH: Part = ("/usr/bin/dash", "/bin/sh|-c|'/opt/farhelm' internal hook --vendor x --launch 1");
const CLAUDE: Part = ("/opt/claude/bin/claude.exe", "claude|--settings|{}");
const CODEX: Part = ("/opt/codex/bin/codex", "/opt/codex/bin/codex");
const NODE: Part = ("/usr/bin/node", "node|/opt/.bin/codex");
const WRAPPER: Part = ("/usr/bin/bash", "bash|/opt/wrapper|run");
const TOOL: Part = ("/usr/bin/bash", "/bin/bash|-c|source x && eval 'claude'");
const ZSH: Part = ("/usr/bin/zsh", "zsh|-c|/opt/farhelm internal hook");

/// Nearest first, as the hook reads it; the last is the terminal's process.
fn chain(parts: &[Part]) -> Vec<Link> {
    let links = parts.iter().enumerate().map(|(place, (exe, argv))| {
        let pid = 100 - i32::try_from(place).unwrap();
        Link {
            process: ProcessKey { pid, start: 7 },
            parent: pid - 1,
            comm: base_name(exe).to_owned(),
            exe: Some((*exe).to_owned()),
            argv: Some(argv.split('|').map(str::to_owned).collect()),
            cwd: None,
        }
    });
    links.collect()
}

fn code(rule: ChainRule, programs: &[&str], parts: &[Part]) -> &'static str {
    let programs: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
    match check(rule, &programs, &chain(parts)) {
        Ok(()) => "ok",
        Err(fault) => fault.code(),
    }
}

#[test]
fn claude_reports_from_the_terminal_or_one_below_it() {
    for (parts, expected) in [
        (&[HOOK, SH, CLAUDE][..], "ok"),
        (&[HOOK, CLAUDE], "ok"),
        (&[HOOK, SH, CLAUDE, WRAPPER], "ok"),
        (&[HOOK, SH, SH, CLAUDE, WRAPPER], "ok"),
        (&[HOOK, SH, CLAUDE, WRAPPER, WRAPPER], "too-deep"),
        // A Claude that the agent's shell tool started.
        (&[HOOK, SH, CLAUDE, TOOL, CLAUDE], "too-deep"),
        // A shell that does more than run the hook is the reporter itself.
        (&[HOOK, TOOL, CLAUDE], "ok"),
        (&[HOOK, TOOL, CLAUDE, WRAPPER], "too-deep"),
        (&[HOOK, ZSH, CLAUDE, WRAPPER], "too-deep"),
        (&[HOOK, SH], "no-agent"),
        (&[HOOK], "no-agent"),
        (&[SH, CLAUDE], "no-hook"),
        (&[], "no-hook"),
    ] {
        assert_eq!(code(ChainRule::NearTerminal, &["claude"], parts), expected, "{parts:?}");
    }
}

#[test]
fn a_child_of_the_same_program_is_a_nested_run_where_hooks_are_inherited() {
    const OPENCODE: Part = ("/opt/opencode", "opencode");
    for (parts, expected) in [
        (&[HOOK, OPENCODE][..], "ok"),
        (&[HOOK, OPENCODE, WRAPPER], "ok"),
        (&[HOOK, OPENCODE, OPENCODE], "nested"),
        (&[HOOK, OPENCODE, TOOL, OPENCODE], "too-deep"),
    ] {
        assert_eq!(code(ChainRule::NearTerminalOutermost, &["opencode"], parts), expected, "{parts:?}");
    }
}

#[test]
fn codex_reports_through_exactly_one_native_codex_and_nothing_else_that_stayed() {
    const RENAMED: Part = ("/opt/my-codex", "codex");
    const UPGRADED: Part = ("/opt/codex/bin/codex (deleted)", "codex");
    const SERVER: Part = ("/opt/codex/bin/codex", "codex|app-server|--listen|unix://");
    for (parts, expected) in [
        (&[HOOK, CODEX][..], "ok"),
        (&[HOOK, UPGRADED], "ok"),
        (&[HOOK, SH, CODEX, WRAPPER], "ok"),
        // npm's codex under an older Node: Node is the terminal's own process, which may be anything.
        (&[HOOK, CODEX, NODE], "ok"),
        (&[HOOK, CODEX, NODE, WRAPPER], "intermediary"),
        (&[HOOK, CODEX, WRAPPER, WRAPPER], "intermediary"),
        (&[HOOK, TOOL, CODEX], "intermediary"),
        (&[HOOK, ZSH, CODEX], "intermediary"),
        (&[HOOK, SH, CODEX, SH, WRAPPER], "ok"),
        (&[HOOK, CODEX, TOOL, CODEX], "several-natives"),
        (&[HOOK, SH, CODEX, CODEX], "several-natives"),
        (&[HOOK, SERVER, CODEX], "several-natives"),
        (&[HOOK, NODE], "no-native"),
        (&[HOOK, RENAMED], "no-native"),
        (&[HOOK], "no-native"),
    ] {
        assert_eq!(code(ChainRule::OneNative, &["codex"], parts), expected, "{parts:?}");
    }
}

#[test]
fn a_process_whose_arguments_are_not_known_is_no_trampoline() {
    let mut links = chain(&[HOOK, SH, CLAUDE, WRAPPER]);
    links[1].argv = None;
    assert_eq!(check(ChainRule::NearTerminal, &[], &links).unwrap_err().code(), "too-deep");
    links[0].argv = None;
    assert_eq!(check(ChainRule::NearTerminal, &[], &links), Err(ChainFault::NoHook));
}

#[test]
fn a_trampoline_is_a_known_shell_with_one_simple_command_that_is_the_hook() {
    for (argv, is) in [
        ("sh|-c|/x internal hook --vendor claude", true),
        ("/usr/bin/bash|-c|'/x y' internal hook", true),
        ("dash|-c|/x internal hook", true),
        ("zsh|-c|/x internal hook", false),
        ("sh|-c|/x internal hook|extra", false),
        ("sh|-lc|/x internal hook", false),
        ("sh|-c|/x internal hook; exit 0", false),
        ("sh|-c|exec /x internal hook", false),
        ("sh|-c|/x internal launch", false),
        ("sh|-c|A=b /x internal hook", false),
        ("sh|-c|", false),
    ] {
        let argv: Vec<String> = argv.split('|').map(str::to_owned).collect();
        assert_eq!(is_trampoline(&argv), is, "{argv:?}");
    }
}

#[test]
fn the_reporter_is_the_first_above_the_hook_that_does_more_than_run_it() {
    let links = chain(&[HOOK, SH, SH, CLAUDE, WRAPPER]);
    assert_eq!(reporter(&links).map(|link| link.process.pid), Some(97));
    assert_eq!(reporter(&chain(&[HOOK, SH])), None);
}

#[test]
fn an_ancestry_counts_as_far_as_the_terminals_own_process_only() {
    let links = chain(&[HOOK, SH, CLAUDE, WRAPPER, WRAPPER]);
    let pane = links[2].process;
    assert_eq!(below(&links, WalkEnd::Pane, pane).unwrap().len(), 3);
    let reused = ProcessKey { start: 8, ..pane };
    for (ended, code) in [
        (WalkEnd::Pane, "not-below-terminal"),
        (WalkEnd::Top, "not-below-terminal"),
        (WalkEnd::Limit, "ancestry-too-long"),
        (WalkEnd::Unreadable, "ancestry-unreadable"),
    ] {
        assert_eq!(below(&links, ended, reused).unwrap_err().code(), code);
    }
}

#[test]
fn an_ancestry_that_does_not_hang_together_proves_nothing() {
    let mut links = chain(&[HOOK, SH, CLAUDE]);
    links[1].parent = 1;
    let pane = links[2].process;
    assert_eq!(below(&links, WalkEnd::Pane, pane), Err(ChainFault::Gap(links[1].process)));
}

#[test]
fn a_refusal_names_the_process_it_is_about() {
    let fault = check(ChainRule::OneNative, &["codex".to_owned()], &chain(&[HOOK, CODEX, NODE, WRAPPER])).unwrap_err();
    assert_eq!(fault.to_string(), "`node` (pid 98) stands between the hook and the terminal");
}
