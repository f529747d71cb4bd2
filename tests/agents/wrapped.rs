//! What may stand between the terminal and an agent whose reports are to count, and what may not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bed::{Bed, PATIENCE};
use crate::cache;
use crate::kept::fields;
use crate::support::process;
use crate::support::wait::wait_at_most;

/// A wrapper that stays, and whose child is what follows.
const RESIDENT: &str = r#"sh, -c, '"$@"; exit $?', w"#;
/// One that stays also when that has ended.
const LINGERING: &str = r#"sh, -c, '"$@"; exec tail -f /dev/null', w"#;
/// One that becomes what follows.
const EXECING: &str = r#"sh, -c, 'exec "$@"', w"#;
/// Node that stays, and whose child is what follows.
const LAUNCHER: &str = "const child = require('child_process').spawn(process.argv[2], process.argv.slice(3), \
    {stdio: 'inherit'});\nchild.on('exit', (status) => process.exit(status ?? 1));\n";
const SAID: &str = "remember the harbour";

/// Lines of a session whose command is `before` and then the agent.
fn command(bed: &Bed, before: &str) -> String {
    let kind = bed.agent.name;
    let resume = &bed.agent.kind().conversation.as_ref().expect("every tested agent has conversations").resume;
    let resume: Vec<String> = resume.iter().map(|word| format!("'{word}'")).collect();
    let command = format!("{before}, {kind}");
    // A resume that is written out says by itself what a derived one repeats.
    let trust = format!("-c, 'projects={{\"{}\"={{trust_level=\"trusted\"}}}}', ", bed.path("work/api").display());
    let choices = if kind == "codex" { &trust } else { "" };
    let resume = format!("{command}, {choices}{}", resume.join(", "));
    fields(bed, &format!("kind: {kind}\ninvocation: [{command}]\nresume: [{resume}]"))
}

fn launcher(bed: &Bed) -> String {
    format!("node, '{}'", bed.program("launch.js", LAUNCHER).display())
}

/// What stands there hides the agent: its report counts for nothing, that is said everywhere, and no conversation is
/// silently lost.
fn is_refused(bed: &Bed, before: &str, why: &str) {
    bed.sessions(&[("api", &command(bed, before))]);
    bed.apply();
    bed.wait_idle("api");
    bed.type_into("api", SAID);
    bed.wait_turns("api", 1);
    bed.wait_idle("api");
    bed.wait("api", "its report is refused", || bed.conversation("api")["state"] == "none-reported");
    let said_so = || {
        let words = ["its report was refused", why];
        for verb in [&["plan"][..], &["describe", "api"], &["status"], &["conversations"]] {
            words.into_iter().fold(bed.farhelm(verb).ok(), |ran, words| ran.says(words));
        }
    };
    said_so();
    // A pass takes the report away; what came of it is remembered.
    bed.apply();
    said_so();
    bed.farhelm(["describe", "api"]).ok().says("refused ");
    bed.kill_tree("api");
    bed.farhelm(["plan"]).ok().says("blocked").says(why);
    bed.apply();
    assert_eq!(bed.left(), [""; 0]);
    bed.farhelm(["apply", "-y", "--allow-fresh", "api"]).ok();
    bed.wait_idle("api");
    bed.down();
}

/// One wrapper may stay, as `launched_through_a_wrapper` shows.
pub fn behind_two_wrappers_that_stay_it_is_refused(bed: &Bed) {
    is_refused(bed, &format!("{RESIDENT}, {RESIDENT}"), "neither the terminal's process nor its direct child");
}

pub fn behind_node_between_it_and_the_terminal_it_is_refused(bed: &Bed) {
    is_refused(bed, &format!("{RESIDENT}, {}", launcher(bed)), "stands between the hook and the terminal");
}

/// As the terminal's own process Node may stay, as an older one does in front of Codex.
pub fn behind_node_as_the_terminals_own_process_it_is_accepted(bed: &Bed) {
    is_accepted(bed, &command(bed, &launcher(bed)));
}

pub fn behind_a_wrapper_that_becomes_it_it_is_accepted(bed: &Bed) {
    is_accepted(bed, &command(bed, EXECING));
}

/// The program that the package's launcher starts, without it.
pub fn as_the_native_program_it_is_accepted(bed: &Bed) {
    let native = native(bed.agent.name);
    is_accepted(bed, &fields(bed, &format!("kind: {}\ninvocation: ['{}']", bed.agent.name, native.display())));
}

/// Killed behind a wrapper that lives on: that is seen, and the conversation goes on in a new launch without the old wrapper.
pub fn is_missed_behind_a_wrapper_that_lives_on(bed: &Bed) {
    bed.sessions(&[("api", &command(bed, LINGERING))]);
    let id = bed.prompted("api", SAID);
    let agent = bed.agent_pid("api");
    bed.wait("api", "a pass has noted which process it is", || {
        bed.apply();
        let text = bed.farhelm(["describe", "api", "--json"]).ok().json();
        text["launches"][0]["agent"]["pid"] == agent
    });
    let wrapper = bed.pid("api");
    process::kill_hard(agent);
    wait_at_most(PATIENCE, "it is missed", || bed.status().of("api").pid.is_none());
    assert!(process::runs(wrapper), "the wrapper did not live on");
    bed.farhelm(["plan"]).ok().says("restart, resume");
    bed.apply();
    assert!(!process::runs(wrapper), "two of them");
    bed.goes_on("api", &id, &[SAID], "and of its ships");
    bed.down();
}

fn is_accepted(bed: &Bed, session: &str) {
    bed.sessions(&[("api", session)]);
    let id = bed.prompted("api", SAID);
    bed.kill_tree("api");
    bed.farhelm(["plan"]).ok().says("launch, resume").says("conversation kept (");
    bed.apply();
    bed.goes_on("api", &id, &[SAID], "and of its ships");
    bed.down();
}

/// The executable of this name below the agent's packages that is no script.
fn native(name: &str) -> PathBuf {
    let mut open = vec![cache::programs(name).parent().expect("it is in node_modules").to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if entry.file_name() == *name && is_elf(&path) {
                return path;
            }
        }
    }
    panic!("no native `{name}` below {}", cache::programs(name).display());
}

fn is_elf(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *b"\x7fELF"
}

impl Bed {
    /// Kills all that runs in a session's pane.
    #[track_caller]
    fn kill_tree(&self, name: &str) {
        let mut tree = vec![self.pid(name)];
        let mut at = 0;
        while at < tree.len() {
            tree.extend(process::children(tree[at]));
            at += 1;
        }
        tree.iter().for_each(|pid| process::kill_hard(*pid));
        // A leader is a zombie at once, while its threads are still being ended.
        wait_at_most(PATIENCE, "it is gone", || self.status().of(name).pid.is_none());
    }
}
