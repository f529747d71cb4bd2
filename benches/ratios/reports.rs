//! `plan` of 200 running sessions with a report of each to judge, against the same without reports.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use farhelm::host::process::ProcessKey;
use farhelm::state::record::Record;
use farhelm::state::reports::{self, Link, Report, Slot, WalkEnd};

use crate::bed::{Bed, time};
use crate::{RUNS, report};

pub fn run() {
    let bed = Bed::new();
    let program = bed.path("claude");
    fs::write(&program, "#!/bin/sh\nexec sleep 86397\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    bed.fleet(200, &format!("'{}'", program.display()));
    time(&mut bed.farhelm(&["apply", "-y"]));
    let (place, aside) = (bed.path("state/reports"), bed.path("aside"));
    let _ = fs::remove_dir_all(&place);
    leave(&bed, &aside);
    let pairs: Vec<(Duration, Duration)> = (0..RUNS)
        .map(|_| {
            let theirs = time(&mut bed.farhelm(&["plan"]));
            fs::rename(&aside, &place).expect("the reports");
            let ours = time(&mut bed.farhelm(&["plan"]));
            fs::rename(&place, &aside).expect("the reports");
            (ours, theirs)
        })
        .collect();
    report("plan of 200 running sessions with 200 reports to judge / the same without a report", 1.2, &pairs);
    time(&mut bed.farhelm(&["down", "-y"]));
}

/// Leaves in `dir` a good report of every session that runs, and the transcript it names.
fn leave(bed: &Bed, dir: &Path) {
    let transcripts = bed.path(".claude/projects/-tmp");
    fs::create_dir_all(&transcripts).expect("ours");
    for entry in fs::read_dir(bed.path("state/sessions")).expect("records").flatten() {
        let record: Record = serde_json::from_slice(&fs::read(entry.path()).expect("a record")).expect("a record");
        let id = record.conversation.as_ref().expect("an assigned one").id.clone();
        let transcript = transcripts.join(format!("{id}.jsonl"));
        fs::write(&transcript, "{\"type\":\"user\",\"uuid\":\"1\"}\n").expect("a transcript");
        let report = of(&record, id, &transcript);
        let place = dir.join(record.id.to_string());
        fs::create_dir_all(&place).expect("ours");
        let file = reports::file(&place, report.reporter, Slot::Start);
        fs::write(file, serde_json::to_vec(&report).expect("plain data")).expect("a report");
    }
}

fn of(record: &Record, conversation: String, transcript: &Path) -> Report {
    let launch = record.launch().expect("it runs");
    let pane = launch.process.expect("it runs");
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let link = |process, parent, program: &str, argv| Link {
        process,
        parent,
        comm: program.to_owned(),
        exe: Some(format!("/usr/bin/{program}")),
        argv,
        cwd: Some("/tmp".to_owned()),
    };
    let hook = ProcessKey { pid: 4_000_000, start: pane.start + 1 };
    let shell = ProcessKey { pid: 4_000_001, ..hook };
    Report {
        version: reports::VERSION,
        vendor: "claude".to_owned(),
        generation: launch.generation,
        boot: launch.boot.clone(),
        at: launch.at,
        conversation,
        source: Some("startup".to_owned()),
        transcript: Some(transcript.display().to_string()),
        event: Some("SessionStart".to_owned()),
        detail: None,
        agent_id: None,
        reporter: pane,
        ancestry: vec![
            link(
                hook,
                shell.pid,
                "farhelm",
                words(&["farhelm", "internal", "hook", "--vendor", "claude", "--launch", "1"]),
            ),
            link(
                shell,
                pane.pid,
                "dash",
                words(&["/bin/sh", "-c", "farhelm internal hook --vendor claude --launch 1"]),
            ),
            // What hooks inject is in the agent's own arguments.
            link(pane, 1, "claude", words(&["claude", "--settings", &"x".repeat(3_000)])),
        ],
        ended: WalkEnd::Pane,
    }
}
