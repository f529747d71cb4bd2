//! Bad input: fleet files, directories and arguments as they should not be.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::fleet::{Fleet, agent};
use crate::support::process;

#[test]
fn a_fleet_file_that_cannot_be_read_harms_nothing_that_runs() {
    let fleet = Fleet::new();
    let good = fs::read(fleet.agents([agent("a")])).expect("just written");
    fleet.apply();
    let pid = fleet.pid("a");
    let mut big = good.clone();
    big.extend("# padding\n".repeat(1 << 18).bytes());
    let bad: [(&str, Vec<u8>); 9] = [
        ("empty", Vec::new()),
        ("only a comment", b"# nothing\n".to_vec()),
        ("cut off", good[..good.len() / 2].to_vec()),
        ("huge", big),
        ("binary", (0..=255).cycle().take(5000).collect()),
        ("not UTF-8", [good.as_slice(), b"# \xff\xfe\n"].concat()),
        ("a list", b"- farhelm: v1\n".to_vec()),
        ("a cycle", b"farhelm: v1\nfleet: t\nx-a: &a [*a]\nsessions: {}\n".to_vec()),
        ("a deep nest", format!("farhelm: v1\nfleet: t\nx-a: {}\n", "[".repeat(100_000)).into_bytes()),
    ];
    for (what, text) in bad {
        fleet.file("farhelm.yaml", text);
        for verb in [&["validate"][..], &["plan"], &["apply", "-y"], &["down", "-y"]] {
            let ran = fleet.farhelm(verb).code(1).mentions("farhelm.yaml");
            assert!(!ran.stderr.contains("panicked"), "{what}\n{ran}");
            assert!(process::runs(pid), "{what} ended a session\n{ran}");
        }
    }
    fleet.file("farhelm.yaml", &good);
    fleet.is_settled();
    fleet.down();
}

#[test]
fn an_alias_bomb_is_refused_quickly() {
    let fleet = Fleet::new();
    let mut text = String::from("farhelm: v1\nfleet: t\nx-a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..10 {
        let aliases = vec![format!("*a{}", n - 1); 9].join(", ");
        text += &format!("x-a{n}: &a{n} [{aliases}]\n");
    }
    fleet.file("farhelm.yaml", text);
    let begin = std::time::Instant::now();
    fleet.farhelm(["validate"]).code(1);
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
}

#[test]
fn a_missing_an_unreadable_and_a_special_fleet_file_are_errors_that_name_it() {
    let fleet = Fleet::new();
    fleet.farhelm(["plan"]).code(1).mentions("farhelm.yaml");
    fleet.farhelm(["plan", "nowhere.yaml"]).code(1).mentions("nowhere.yaml");
    fleet.dir("farhelm.yaml");
    fleet.farhelm(["plan"]).code(1);
    fs::remove_dir(fleet.path("work/farhelm.yaml")).expect("empty");
    symlink("/dev/zero", fleet.path("work/farhelm.yaml")).expect("a link");
    fleet.farhelm(["plan"]).code(1).mentions("farhelm.yaml");
    fs::remove_file(fleet.path("work/farhelm.yaml")).expect("just made");
    nix::unistd::mkfifo(&fleet.path("work/farhelm.yaml"), nix::sys::stat::Mode::S_IRUSR).expect("a pipe");
    fleet.farhelm(["plan"]).code(1).mentions("farhelm.yaml");
    fs::remove_file(fleet.path("work/farhelm.yaml")).expect("just made");

    if nix::unistd::geteuid().is_root() {
        crate::support::skipped("root can read an unreadable file");
        return;
    }
    let path = fleet.agents([agent("a")]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("our own file");
    fleet.farhelm(["plan"]).code(1).mentions("farhelm.yaml");
}

#[test]
fn two_files_that_claim_one_name_are_refused_naming_both() {
    let fleet = Fleet::new();
    let text = fs::read(fleet.agents([agent("a")])).expect("just written");
    fleet.file("fleet/one.yaml", &text);
    fleet.file("fleet/two.yaml", &text);
    fleet.farhelm(["plan", "fleet"]).code(1).mentions("one.yaml").mentions("two.yaml");
}

#[test]
fn every_mistake_of_a_file_is_reported_in_one_run_with_its_line() {
    let fleet = Fleet::new();
    fleet.write("farhelm: v1\nfleet: t\nsessions:\n  a:\n    invocation: x\n    dri: /tmp\n  b:\n    invocation: x\n    dir: /tmp\n    restart: {when: sometimes}\n");
    let ran =
        fleet.farhelm(["validate"]).code(1).mentions("dri").mentions("sometimes").mentions("sessions.b.restart.when");
    assert!(ran.stderr.contains("farhelm.yaml:6") && ran.stderr.contains("farhelm.yaml:10"), "{ran}");
    assert!(ran.stderr.contains("`dir`"), "no suggestion\n{ran}");
}

#[test]
fn a_directory_that_is_gone_or_a_file_blocks_that_session_alone() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b"), agent("c")]);
    fs::remove_dir(fleet.path("work/a")).expect("empty");
    fs::remove_dir(fleet.path("work/b")).expect("empty");
    fleet.file("b", "a file");
    fleet.farhelm(["plan"]).ok().says("2 blocked").says("1 to launch");
    fleet.farhelm(["apply", "-y"]).mentions("work/a").mentions("work/b");
    fleet.pid("c");
    assert_eq!(fleet.marked().len(), 1);
    fleet.dir("a");
    fleet.apply();
    fleet.pid("a");
    fleet.down();
}

#[test]
fn a_directory_that_is_another_one_now_blocks_until_it_is_accepted() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fs::remove_dir(fleet.path("work/a")).expect("empty");
    symlink(fleet.dir("first"), fleet.path("work/a")).expect("a link");
    fleet.apply();
    assert_eq!(fleet.started("a", 1).environment["PWD"], fleet.path("work/a").display().to_string(), "the spelling");

    fs::remove_file(fleet.path("work/a")).expect("a link");
    symlink(fleet.dir("second"), fleet.path("work/a")).expect("a link");
    fleet.crash("a");
    fleet.farhelm(["plan"]).ok().says("blocked").says("first").says("second").mentions("--accept-dir");
    fleet.apply();
    assert_eq!(fleet.starts("a").len(), 1);
    fleet.farhelm(["restart", "--accept-dir", "a"]).ok();
    assert_eq!(fleet.started("a", 2).cwd, fleet.path("work/second").canonicalize().expect("it exists"));
    fleet.down();
}

#[test]
fn a_directory_with_any_name_is_only_a_directory() {
    let fleet = Fleet::new();
    let names =
        ["#(touch x)", "#{pid}", "a b", "it's", "say \"hi\"", "$(touch x)", "line\nbreak", "semi;", "-dash", "ü"];
    for name in names {
        fleet.dir(name);
    }
    let sessions: String = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let dir = serde_json::to_string(&format!("@WORK@/{name}")).expect("text");
            let dir = dir.replace('$', "$$");
            format!(
                "  s{n}: {{dir: {dir}, title: {}, invocation: ['@AGENT@', --record, '@RECORDS@/s{n}', '{{cwd}}']}}\n",
                serde_json::to_string(name).expect("text").replace('$', "$$")
            )
        })
        .collect();
    fleet.write(&format!(
        "farhelm: v1\nfleet: t\npolicy: {{launch: {{parallel: 8, stagger: 1ms}}}}\nsessions:\n{sessions}"
    ));
    fleet.apply();
    for (n, name) in names.iter().enumerate() {
        let start = fleet.started(&format!("s{n}"), 1);
        let dir = fleet.path("work").canonicalize().expect("it exists").join(name);
        assert_eq!(start.cwd, dir);
        assert_eq!(OsStr::from_bytes(start.argv[3].as_bytes()).len(), fleet.path("work").join(name).as_os_str().len());
    }
    for place in ["work/x", "home/x", "x"] {
        assert!(!fleet.path(place).exists(), "a name was run as a command");
    }
    fleet.is_settled();
    fleet.down();
}

#[test]
fn arguments_of_100_kilobytes_arrive_whole_and_longer_ones_are_a_plain_failure() {
    let fleet = Fleet::new();
    let long = "x".repeat(100 * 1024);
    fleet.agents([agent("a").does(&long).with(&format!("env: {{LONG: {long}}}"))]);
    fleet.apply();
    let start = fleet.started("a", 1);
    assert_eq!(start.argv[3].len(), long.len());
    assert_eq!(start.environment["LONG"].len(), long.len());
    fleet.is_settled();

    fleet.agents([agent("a").does(&"x".repeat(200 * 1024))]);
    let ran = fleet.farhelm(["apply", "-y"]);
    assert!(ran.code == 5 || ran.code == 1, "{ran}");
    assert!(ran.stdout.len() + ran.stderr.len() < 100_000, "the whole argument is printed");
    fleet.down();
}

#[test]
fn control_characters_of_a_file_never_reach_the_terminal() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")
        .with(r#"invocation: ['@AGENT@', --record, '@RECORDS@/a', "\e]0;owned\a", "\x85[31m\x9b31m"]"#)
        .with(r#"title: "\e[2Jgone\r""#)]);
    for verb in [&["plan"][..], &["apply", "-y"], &["status"], &["render"], &["events"]] {
        let ran = fleet.farhelm(verb).ok().mentions("a");
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{verb:?}: {text:?}");
    }
    fleet.down();
}
