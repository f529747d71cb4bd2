//! What the ports cost, printed; not part of a normal test run.

use std::time::{Duration, Instant};

use super::testing::{TestTmux, machine};
use crate::host::disk::Disk;
use crate::host::process::Processes;
use crate::host::tmux::{OpenPane, Place, Tmux};

fn median(times: usize, mut run: impl FnMut()) -> Duration {
    let mut taken: Vec<Duration> = (0..times)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .collect();
    taken.sort();
    taken[times / 2]
}

fn requests(prefix: &str, count: usize) -> Vec<OpenPane> {
    (0..count)
        .map(|i| OpenPane {
            place: Place::NewSession(format!("{prefix}{i}")),
            window: "agent".to_owned(),
            dir: "/tmp".into(),
            argv: ["sleep", "1000"].map(str::to_owned).to_vec(),
            stamp: ["id", "owner", "fleet", "session", "generation", "fields", "dir", "conversation", "sources"]
                .map(|name| (name.to_owned(), "0b1c6f0e-7a54-4f0d-9f44-1234567890ab".to_owned()))
                .into(),
        })
        .collect()
}

#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stderr, reason = "its figures")]
fn costs() {
    let tmux = TestTmux::new();
    let line = |what: &str, time: Duration| eprintln!("{what}: {:.1} ms", time.as_secs_f64() * 1000.0);
    let begun = Instant::now();
    tmux.machine.open(&tmux.socket, &requests("a", 100)).unwrap();
    line("open() of 100 on a cold socket", begun.elapsed());
    let begun = Instant::now();
    tmux.machine.open(&tmux.socket, &requests("b", 100)).unwrap();
    line("open() of 100 more", begun.elapsed());
    line("panes() of 200", median(31, || assert_eq!(tmux.machine.panes(&tmux.socket).unwrap().panes.len(), 200)));
    line("tmux list-panes -a of 200", median(31, || drop(tmux.tmux(&["list-panes", "-a"]))));
    let machine = machine();
    let count = machine.table().unwrap().processes.len();
    line(&format!("table() of {count}"), median(31, || drop(machine.table())));
    let dir = tempfile::tempdir_in(".").unwrap();
    for count in [1_usize, 10, 100] {
        let files: Vec<_> = (0..count).map(|i| (dir.path().join(format!("{i}.json")), vec![b'x'; 4096])).collect();
        line(&format!("replace() of {count}"), median(7, || machine.replace(&files).unwrap()));
    }
}
