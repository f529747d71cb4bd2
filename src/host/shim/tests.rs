//! The shim as a process: this test program, run again, acts as it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::state::launch_files::{Before, Sentinel, VERSION};
use crate::state::record::SessionId;

/// Where the spec is, for [`act_as_the_shim`].
const SPEC: &str = "FARHELM_TEST_SHIM";
/// Printed by the shim's process before it begins; what the test harness prints comes earlier.
const BEGIN: &str = "===begin===\n";
const ACT: [&str; 4] = ["host::shim::tests::act_as_the_shim", "--exact", "--nocapture", "--test-threads=1"];

#[test]
#[allow(clippy::exit, reason = "this test is the shim's process")]
fn act_as_the_shim() {
    let Some(spec) = std::env::var_os(SPEC) else { return };
    print!("\n{BEGIN}");
    std::process::exit(try_run(Path::new(&spec)).into());
}

/// A spec whose files lie in `dir`.
pub(super) fn spec(dir: impl Into<PathBuf>, argv: &[&str]) -> LaunchSpec {
    let dir = dir.into();
    LaunchSpec {
        durable_exec: false,
        kind: None,
        version: VERSION,
        argv: argv.iter().map(|arg| (*arg).to_owned()).collect(),
        env: BTreeMap::new(),
        unset: vec![SPEC.to_owned()],
        before_launch: None,
        session: SessionId(Uuid::from_u128(1)),
        tab: None,
        generation: 1,
        token: "token".to_owned(),
        socket: "/state/socket".into(),
        bin_dir: "/opt/farhelm".into(),
        status_file: dir.join("launch.status"),
        exec_file: dir.join("launch.exec"),
        dir,
    }
}

struct Launch {
    dir: TempDir,
    spec: LaunchSpec,
}

impl Launch {
    fn new(argv: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spec = spec(dir.path().canonicalize().unwrap(), argv);
        Self { dir, spec }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write_spec(&self) -> PathBuf {
        let path = self.file("launch.json");
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
        serde_json::to_writer(file, &self.spec).unwrap();
        path
    }

    fn run(&self) -> Output {
        shim(&self.write_spec())
    }

    fn before(mut self, script: &str, timeout_ms: u64) -> Self {
        let run = ["sh", "-c", script].map(str::to_owned).to_vec();
        self.spec.before_launch = Some(Before { run, timeout_ms });
        self
    }

    fn sentinel(&self) -> Option<Sentinel> {
        Some(serde_json::from_slice(&fs::read(&self.spec.status_file).ok()?).unwrap())
    }

    #[track_caller]
    fn assert_failed(&self, output: &Output, failure: Failure, words: &str) {
        let sentinel = self.sentinel().unwrap();
        assert_eq!((sentinel.what, sentinel.words.as_str()), (failure, words));
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("farhelm: {words}\n"));
        assert!(!self.spec.exec_file.exists());
    }
}

fn shim(spec_file: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(ACT).env_clear().env(SPEC, spec_file).env("PATH", "/usr/bin:/bin").env("TMUX_PANE", "%1");
    command.env("CLAUDECODE", "1").env("KEPT", "as it was").stdin(Stdio::null()).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap().split_once(BEGIN).unwrap().1
}

/// The signals of a `SigIgn:` line, without the real-time ones, which belong to the C library or to nobody.
fn ignored(line: &str) -> u64 {
    u64::from_str_radix(line.rsplit('\t').next().unwrap(), 16).unwrap() & 0x7fff_ffff
}

/// Writes a program by another process: a descriptor of ours, inherited for a moment by a child of some other test,
/// would make it "busy".
fn write_script(path: &Path, text: &str) {
    let mut writer = Command::new("sh");
    writer.args(["-c", r#"printf '%s' "$1" > "$2" && chmod 700 "$2""#, "sh", text]).arg(path);
    assert!(writer.status().unwrap().success());
}

#[track_caller]
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < end, "not within 30s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

#[test]
fn the_environment_is_the_inherited_one_with_exactly_the_changes() {
    let mut launch = Launch::new(&["env", "-0"]);
    launch.spec.unset.push("CLAUDECODE".to_owned());
    launch.spec.env.insert("ODD".to_owned(), " a=b\n'\"$HOME ".to_owned());
    let output = launch.run();
    let mut seen: Vec<&str> = stdout(&output).split_terminator('\0').collect();
    seen.sort_unstable();
    let dir = launch.spec.dir.display();
    let id = "00000000-0000-0000-0000-000000000001";
    assert_eq!(
        seen,
        [
            "COLORTERM=truecolor",
            &format!("FARHELM_AGENT_ID={id}"),
            &format!("FARHELM_SESSION_ID={id}"),
            "FARHELM_SESSION_TOKEN=token",
            "FARHELM_SUPERVISOR_SOCK=/state/socket",
            "KEPT=as it was",
            "ODD= a=b\n'\"$HOME ",
            "PATH=/opt/farhelm:/usr/bin:/bin",
            &format!("PWD={dir}"),
        ]
    );
}

#[test]
fn a_launch_leaves_the_exec_mark_and_no_spec_and_no_sentinel() {
    let launch = Launch::new(&["true"]);
    let output = launch.run();
    assert!(output.status.success());
    assert!(launch.spec.exec_file.exists());
    assert!(!launch.file("launch.json").exists());
    assert_eq!(launch.sentinel(), None);
}

#[test]
fn the_programs_own_status_127_is_no_failed_exec() {
    let launch = Launch::new(&["sh", "-c", "exit 127"]);
    assert_eq!(launch.run().status.code(), Some(127));
    assert_eq!(launch.sentinel(), None);
    assert!(launch.spec.exec_file.exists());
}

#[test]
fn arguments_and_directory_arrive_untouched() {
    let mut launch =
        Launch::new(&["sh", "-c", r#"pwd; printf '<%s>' "$@""#, "sh", "", " a  b ", "$HOME `id` \"'\\", "l1\nl2"]);
    launch.spec.dir = launch.spec.dir.join("a 'b'\n$c");
    fs::create_dir(&launch.spec.dir).unwrap();
    let output = launch.run();
    let dir = launch.spec.dir.display();
    assert_eq!(stdout(&output), format!("{dir}\n<>< a  b ><$HOME `id` \"'\\><l1\nl2>"));
}

#[test]
fn a_hundred_kilobytes_of_argument_arrive() {
    let long = "x".repeat(100 * 1024);
    let launch = Launch::new(&["sh", "-c", r#"printf '%s' "${#1}""#, "sh", &long]);
    assert_eq!(stdout(&launch.run()), "102400");
}

#[test]
fn a_program_that_is_not_there_is_named_in_the_pane_and_in_the_sentinel() {
    let launch = Launch::new(&["no-such-agent", "--token", "hidden"]);
    let output = launch.run();
    assert_eq!(output.status.code(), Some(127));
    launch.assert_failed(&output, Failure::Exec, "no-such-agent: not found in PATH");
    assert_eq!(fs::metadata(&launch.spec.status_file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_kind_of_a_missing_agent_is_named() {
    let mut launch = Launch::new(&["no-such-agent"]);
    launch.spec.kind = Some(crate::spec::name::Name::new("claude").unwrap());
    let output = launch.run();
    let words = "no-such-agent: not found in PATH; it is an agent of kind `claude`, and `farhelm doctor` says what is \
                 installed";
    launch.assert_failed(&output, Failure::Exec, words);
}

#[test]
fn a_program_is_looked_for_in_the_agents_own_path() {
    let mut launch = Launch::new(&["sh", "-c", "echo ran"]);
    launch.spec.env.insert("PATH".to_owned(), "/nowhere".to_owned());
    let output = launch.run();
    launch.assert_failed(&output, Failure::Exec, "sh: not found in PATH");
}

#[test]
fn what_cannot_be_executed_is_told_from_what_is_missing() {
    let launch = Launch::new(&["./script"]);
    fs::write(launch.file("script"), "").unwrap();
    let output = launch.run();
    assert_eq!(output.status.code(), Some(126));
    launch.assert_failed(&output, Failure::Exec, "./script: Permission denied (os error 13)");
}

#[test]
fn a_script_without_its_interpreter_is_told_from_a_missing_one() {
    let mut launch = Launch::new(&["odd-script"]);
    write_script(&launch.file("odd-script"), "#!/no/such/interpreter\n");
    launch.spec.bin_dir.clone_from(&launch.spec.dir);
    let output = launch.run();
    launch.assert_failed(&output, Failure::Exec, "odd-script: found in PATH, but its interpreter is missing");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let launch = Launch::new(&["\u{1b}[2Jx"]);
    let output = launch.run();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "farhelm: \\u{1b}[2Jx: not found in PATH\n");
}

#[test]
fn a_directory_that_is_gone_fails_the_launch() {
    let mut launch = Launch::new(&["true"]);
    launch.spec.dir = launch.file("gone");
    let output = launch.run();
    let words = format!("cannot enter {}: No such file or directory (os error 2)", launch.spec.dir.display());
    launch.assert_failed(&output, Failure::Chdir, &words);
}

#[test]
fn a_damaged_spec_is_removed_and_reported_without_its_content() {
    let launch = Launch::new(&[]);
    let path = launch.file("launch.json");
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
    serde_json::to_writer(file, "s3cret").unwrap();
    let output = shim(&path);
    assert!(!path.exists());
    let words =
        format!("the launch spec {} is damaged or of another farhelm version (line 1, column 8)", path.display());
    launch.assert_failed(&output, Failure::UnreadableSpec, &words);
}

#[test]
fn a_file_that_others_can_read_is_no_spec_and_stays() {
    let launch = Launch::new(&["true"]);
    let path = launch.write_spec();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let output = shim(&path);
    assert!(path.exists());
    assert_eq!(launch.sentinel().unwrap().what, Failure::UnreadableSpec);
    assert_eq!(output.status.code(), Some(125));
}

#[test]
fn a_spec_that_is_not_there_is_reported() {
    let launch = Launch::new(&["true"]);
    shim(&launch.file("launch.json"));
    assert_eq!(launch.sentinel().unwrap().what, Failure::UnreadableSpec);
}

#[test]
fn before_launch_runs_first_in_the_agents_directory_and_environment() {
    let launch = Launch::new(&["cat", "made"]).before(r#"printf '%s' "$FARHELM_AGENT_ID" > made"#, 30_000);
    assert_eq!(stdout(&launch.run()), "00000000-0000-0000-0000-000000000001");
}

#[test]
fn a_before_launch_that_fails_ends_the_launch() {
    let launch = Launch::new(&["touch", "launched"]).before("exit 3", 30_000);
    let output = launch.run();
    launch.assert_failed(&output, Failure::BeforeLaunch, "`before_launch` failed: sh ended with exit status: 3");
    assert!(!launch.file("launched").exists());
}

#[test]
fn a_before_launch_that_takes_too_long_is_killed_with_its_group() {
    let script = "trap '' TERM HUP; sleep 1000 & echo $! > pid; wait";
    let launch = Launch::new(&["touch", "launched"]).before(script, 700);
    let output = launch.run();
    launch.assert_failed(
        &output,
        Failure::BeforeLaunch,
        "`before_launch` failed: sh took longer than 700ms and was killed",
    );
    let pid = fs::read_to_string(launch.file("pid")).unwrap();
    wait_until("the group is killed", || !runs(&pid));
    assert!(!launch.file("launched").exists());
}

#[test]
fn a_stop_during_before_launch_ends_it_and_the_launch() {
    let launch = Launch::new(&["touch", "launched"]).before("echo $$ > pid; exec sleep 1000", 60_000);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(ACT).env(SPEC, launch.write_spec()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let pid = || fs::read_to_string(launch.file("pid")).unwrap_or_default();
    wait_until("before_launch runs", || pid().ends_with('\n'));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert!(!runs(&pid()));
    assert_eq!(launch.sentinel().unwrap().words, "`before_launch` was cut short by SIGTERM: sh was killed");
    assert!(!launch.file("launched").exists());
}

#[test]
fn ignored_signals_are_reset_for_the_program_and_for_before_launch() {
    let launch =
        Launch::new(&["grep", "^SigIgn", "/proc/self/status"]).before("grep ^SigIgn /proc/self/status", 30_000);
    let act = ACT.join(" ");
    let script = format!("trap '' HUP INT QUIT TERM TSTP TTIN TTOU USR1 CHLD PIPE; exec \"$0\" {act}");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(std::env::current_exe().unwrap()).env(SPEC, launch.write_spec());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(stdout(&output).lines().map(ignored).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn nothing_of_the_shim_stays_open_in_the_program() {
    let script = "for fd in /proc/self/fd/*; do readlink $fd; done | grep -E 'socket|eventpoll|eventfd'; true";
    let launch = Launch::new(&["sh", "-c", script]).before("true", 30_000);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(ACT).env(SPEC, launch.write_spec()).stdin(Stdio::null());
    assert_eq!(stdout(&command.output().unwrap()), "");
}

mod in_a_pane;
