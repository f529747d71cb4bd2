//! `watch`: how soon it acts, beside what tmux itself takes, and what it costs when nothing happens.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bed::{Bed, running, time, until};
use crate::{RUNS, report};

/// Files that have not changed for this time are read.
const SETTLE: Duration = Duration::from_millis(300);

/// A `farhelm watch` of the bed's fleet, at rest.
struct Watching {
    child: Child,
    journal: PathBuf,
}

impl Watching {
    fn start(bed: &Bed, words: &[&str]) -> Self {
        let journal = bed.path("journal");
        let file = fs::File::create(&journal).expect("the journal");
        let mut command = bed.farhelm(&["watch", "--log", "json"]);
        let child = command.args(words).stderr(Stdio::from(file)).spawn().expect("farhelm starts");
        let watching = Self { child, journal };
        until(|| watching.says("loaded"));
        watching
    }

    fn says(&self, words: &str) -> bool {
        fs::read_to_string(&self.journal).is_ok_and(|text| text.contains(words))
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process numbers are small")
    }

    fn stop(mut self) {
        let _ = kill(Pid::from_raw(self.pid()), Signal::SIGTERM);
        assert!(self.child.wait().expect("farhelm ends").success());
    }
}

/// Takes the program down, and what ran it.
fn clean(bed: &Bed, program: &[&str]) {
    time(&mut bed.farhelm(&["down", "-y"]));
    until(|| running(program).is_empty());
}

/// An agent is killed until its replacement runs in its pane, beside tmux's own replacement of the same login shell.
pub fn restarts() {
    const MANY: usize = 50;
    const OURS: [&str; 2] = ["sleep", "86395"];
    const THEIRS: [&str; 2] = ["sleep", "86394"];
    let (bed, hand) = (Bed::new(), Bed::new());
    bed.fleet(MANY, "sleep, '86395'");
    time(&mut bed.farhelm(&["apply", "-y"]));
    let shell = ["/bin/bash", "-l", "-i", "-c", "exec sleep 86394"];
    time(hand.tmux(&["new-session", "-d", "-s", "b", "-x", "200", "-y", "50", "-c", "/tmp", "--"]).args(shell));
    until(|| running(&THEIRS).len() == 1);
    let watching = Watching::start(&bed, &[]);
    thread::sleep(Duration::from_secs(1));
    let victims = running(&OURS);
    let pairs: Vec<(Duration, Duration)> = victims
        .into_iter()
        .take(RUNS * 3)
        .map(|victim| {
            let begun = Instant::now();
            let _ = kill(Pid::from_raw(victim), Signal::SIGKILL);
            until(|| running(&OURS).len() == MANY && !running(&OURS).contains(&victim));
            let ours = begun.elapsed();
            let old = running(&THEIRS);
            let begun = Instant::now();
            time(hand.tmux(&["respawn-pane", "-k", "-t", "b", "--"]).args(shell));
            until(|| running(&THEIRS).len() == 1 && running(&THEIRS) != old);
            let theirs = begun.elapsed();
            // Each at rest again.
            thread::sleep(Duration::from_millis(300));
            (ours, theirs)
        })
        .collect();
    report(
        "watch of 50 sessions, agent killed until replaced / tmux respawn-pane of the same login shell",
        3.0,
        &pairs,
    );
    watching.stop();
    clean(&bed, &OURS);
}

/// A file is saved until its plan is known, beside the time that files are given to settle and one plan.
pub fn files() {
    const PROGRAM: [&str; 2] = ["sleep", "86393"];
    let bed = Bed::new();
    let file = bed.fleet(200, "sleep, '86393'");
    time(&mut bed.farhelm(&["apply", "-y"]));
    let watching = Watching::start(&bed, &["--no-apply"]);
    thread::sleep(Duration::from_secs(1));
    let text = fs::read_to_string(&file).expect("the fleet file");
    let pairs: Vec<(Duration, Duration)> = (0..RUNS)
        .map(|run| {
            let name = format!("new{run}");
            let begun = Instant::now();
            fs::write(&file, format!("{text}  {name}:\n    invocation: [sleep, '86393']\n    dir: /tmp\n"))
                .expect("saved");
            until(|| watching.says(&format!("\"{name}\"")));
            let ours = begun.elapsed();
            (ours, SETTLE + time(&mut bed.farhelm(&["plan"])))
        })
        .collect();
    report("watch of 200 sessions, file saved until its plan is known / 300 ms to settle and one plan", 1.0, &pairs);
    watching.stop();
    clean(&bed, &PROGRAM);
}

/// What a process and those it started and collected used so far, in clock ticks, and its resident memory, in kB.
fn usage(pid: i32) -> (f64, f64) {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a stat line").split_whitespace().collect();
    let ticks = fields[11..15].iter().map(|field| field.parse::<f64>().expect("a number")).sum();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    (ticks, resident.trim().trim_end_matches(" kB").parse().expect("a number"))
}

/// Nothing happens for `FARHELM_BENCH_IDLE` seconds (600), with 200 sessions and with 400: by name only, for it takes its
/// time.
pub fn idle() {
    const PROGRAM: [&str; 2] = ["sleep", "86392"];
    let seconds = std::env::var("FARHELM_BENCH_IDLE").ok().and_then(|text| text.parse().ok()).unwrap_or(600_u32);
    for many in [200, 400] {
        let bed = Bed::new();
        bed.fleet(many, "sleep, '86392'");
        time(&mut bed.farhelm(&["apply", "-y"]));
        let watching = Watching::start(&bed, &[]);
        thread::sleep(Duration::from_secs(5));
        let (before, _) = usage(watching.pid());
        thread::sleep(Duration::from_secs(seconds.into()));
        let (after, resident) = usage(watching.pid());
        // A tick is 10 ms.
        let share = (after - before) / f64::from(seconds);
        println!(
            "watch of {many} idle sessions for {seconds} s\n    {share:.3} % of a core, goal 0.05; {:.1} MB resident, goal 20",
            resident / 1024.0
        );
        watching.stop();
        clean(&bed, &PROGRAM);
    }
}
