//! What the hooks of simulated agents leave behind, truthful or not, in time or late.

use std::path::{Path, PathBuf};

use super::super::process::ProcessKey;
use super::World;
use super::faults::DiskMode;
use super::machine::{Event, Machine};
use super::talks::{Speaker, Told, Vendor};
use crate::agents::kind::reports::START;
use crate::state::reports::{self, Link, Report, Slot, WalkEnd};

/// What a hook says.
#[derive(Debug, Clone)]
pub(super) struct Claim<'a> {
    pub(super) event: &'static str,
    pub(super) source: Option<&'static str>,
    /// The processes between the hook and the terminal's own, nearest first, and their programs.
    pub(super) above: Vec<(ProcessKey, &'a str)>,
}

impl Claim<'_> {
    pub(super) fn of(event: &'static str, source: Option<&'static str>) -> Self {
        Self { event, source, above: Vec::new() }
    }
}

/// A report on its way.
#[derive(Debug, Clone)]
pub(super) struct Flying {
    /// The directory of the session's reports.
    dir: PathBuf,
    session: String,
    report: Report,
    /// The conversation, when it is true.
    pub(super) of: Option<String>,
    began: u64,
}

fn link(process: ProcessKey, parent: i32, program: &str, argv: &[&str]) -> Link {
    Link {
        process,
        parent,
        comm: program.chars().take(15).collect(),
        exe: Some(format!("/usr/bin/{program}")),
        argv: Some(argv.iter().map(|word| (*word).to_owned()).collect()),
        cwd: None,
    }
}

impl Machine {
    /// The hook of the agent `key`, or of one below it, runs.
    pub(super) fn report(&mut self, key: ProcessKey, speaker: &Speaker, claim: &Claim<'_>) {
        let (Some(dir), Some(origin), Some(talk)) = (&speaker.reports, &speaker.origin, &speaker.talk) else { return };
        let parent = |at: usize| claim.above.get(at).map_or(key.pid, |(process, _)| process.pid);
        let hook =
            ProcessKey { pid: 90_000 + i32::try_from(self.random.below(9_000)).unwrap_or(0), start: self.ticks() };
        let mut ancestry = vec![link(hook, parent(0), "farhelm", &["/usr/bin/farhelm", "internal", "hook"])];
        for (at, (process, program)) in claim.above.iter().enumerate() {
            ancestry.push(link(*process, parent(at + 1), program, &[program]));
        }
        ancestry.push(link(key, 1, &speaker.program, &[&speaker.program]));
        let start = claim.event == START;
        let report = Report {
            version: reports::VERSION,
            vendor: speaker.vendor.word().to_owned(),
            generation: origin.generation,
            boot: self.boot_id(),
            at: self.now(),
            conversation: talk.clone(),
            source: claim.source.filter(|_| start).map(str::to_owned),
            transcript: self.talks.all.get(talk).map(|talk| talk.file.display().to_string()),
            event: Some(claim.event.to_owned()),
            detail: claim.source.filter(|_| !start).map(str::to_owned),
            agent_id: None,
            reporter: claim.above.first().map_or(key, |(process, _)| *process),
            ancestry,
            ended: WalkEnd::Pane,
        };
        let of = claim.above.is_empty().then(|| talk.clone());
        let flying = Flying { dir: dir.clone(), session: origin.session.clone(), report, of, began: self.time };
        self.send_off(flying);
    }

    /// A hook may be slow, and may be run twice.
    fn send_off(&mut self, flying: Flying) {
        let quiet = self.faults.programs_last;
        if !quiet && self.random.chance(40) {
            let again = self.random.range(500, 20_000);
            self.let_fly(again, flying.clone());
        }
        if !quiet && self.random.chance(120) {
            let late = self.random.range(20, 6_000);
            self.let_fly(late, flying);
        } else {
            self.land(flying);
        }
    }

    fn let_fly(&mut self, after: u64, flying: Flying) {
        self.talks.flying.push(Some(flying));
        self.schedule(after, Event::Hook(self.talks.flying.len() - 1));
    }

    /// A report that was on its way is written.
    pub(super) fn hook_lands(&mut self, number: usize) {
        if let Some(flying) = self.talks.flying.get_mut(number).and_then(Option::take) {
            self.land(flying);
        }
    }

    /// As the hook does it: whole or not at all, and never over a newer one.
    fn land(&mut self, flying: Flying) {
        let Flying { dir, session, report, of, began } = flying;
        let slot = Slot::of(report.event.as_deref());
        let file = reports::file(&dir, report.reporter, slot);
        let other = self.files.read(&file, u64::MAX).ok().and_then(|b| serde_json::from_slice::<Report>(&b).ok());
        if other.is_some_and(|other| other.boot == report.boot && other.at.boot_ms > report.at.boot_ms) {
            return;
        }
        if !self.leave(&file, &report) {
            if let Some(talk) = of.and_then(|id| self.talks.all.get_mut(&id)) {
                talk.maimed |= slot != Slot::Activity;
            }
            return;
        }
        self.note(format!("{} of {} is reported to {session}: {:?}", report.conversation, report.vendor, report.event));
        if of.is_some() && slot == Slot::Prompt {
            self.talks.hinted.insert(session.clone());
        }
        let latest = self.talks.opened.get(&session) == Some(&report.generation);
        if let Some(conversation) = of.filter(|_| slot == Slot::Start && latest && report.boot == self.boot_id()) {
            let told = Told { conversation, generation: report.generation, at: began, written: self.time };
            self.talks.told.entry(session).or_default().push(told);
        }
    }

    fn leave(&mut self, file: &Path, report: &Report) -> bool {
        if self.faults.disk != DiskMode::Well {
            return false;
        }
        let Ok(bytes) = serde_json::to_vec(report) else { return false };
        let made = file.parent().is_some_and(|dir| self.files.make_dir(dir).is_ok());
        let kept = made && self.files.replace(file, &bytes).is_ok();
        if kept {
            self.talks.news.insert(file.to_owned());
        }
        kept
    }
}

/// What somebody else leaves in a session's reports.
impl World {
    /// A report that must count for nothing: of another launch, another boot, another kind, a delegated agent, a process
    /// elsewhere, or no report at all. `reports` is where all of them are; says what it was.
    pub fn make_up_report(&self, reports_dir: &Path) -> String {
        self.peek(|machine| {
            let speakers: Vec<(ProcessKey, Speaker)> = machine
                .talks
                .speakers
                .iter()
                .filter(|(_, s)| s.origin.is_some())
                .map(|(k, s)| (*k, s.clone()))
                .collect();
            let Some((key, speaker)) = machine.random.pick(&speakers).cloned() else {
                return "nobody to make up a report of".to_owned();
            };
            let Some(origin) = speaker.origin.clone() else { return "nobody".to_owned() };
            machine.made_up_report(&reports_dir.join(&origin.session), key, &speaker, origin.generation)
        })
    }
}

impl Machine {
    fn made_up_report(&mut self, dir: &Path, key: ProcessKey, speaker: &Speaker, generation: u32) -> String {
        let trap = self.make_up(speaker.vendor, &speaker.dir);
        let stranger =
            ProcessKey { pid: 80_000 + i32::try_from(self.random.below(9_000)).unwrap_or(0), start: self.ticks() };
        let prompt = self.random.chance(400);
        // A prompt in the session's own conversation, told by somebody else, proves nothing either.
        let id = speaker.talk.clone().filter(|_| prompt && self.random.chance(500)).unwrap_or(trap);
        let transcript = self.talks.all.get(&id).map(|talk| talk.file.display().to_string());
        let mut report = Report {
            version: reports::VERSION,
            vendor: speaker.vendor.word().to_owned(),
            generation,
            boot: self.boot_id(),
            at: self.now(),
            conversation: id,
            source: Some("startup".to_owned()),
            transcript,
            event: Some(if prompt { "UserPromptSubmit" } else { START }.to_owned()),
            detail: None,
            agent_id: None,
            reporter: stranger,
            ancestry: vec![
                link(
                    ProcessKey { pid: 99_500, start: self.ticks() },
                    key.pid,
                    "farhelm",
                    &["farhelm", "internal", "hook"],
                ),
                link(key, 1, &speaker.program, &[&speaker.program]),
            ],
            ended: WalkEnd::Pane,
        };
        let what = falsify(&mut report, self.random.below(8));
        let file = reports::file(dir, stranger, Slot::of(report.event.as_deref()));
        self.leave(&file, &report);
        format!("somebody leaves a report {what}, of {}", report.conversation)
    }
}

/// Makes a report one that must count for nothing; says how.
fn falsify(report: &mut Report, which: u64) -> &'static str {
    match which {
        0 => {
            report.generation += 1;
            "of a later launch"
        }
        1 => {
            report.generation = report.generation.saturating_sub(1);
            "of an earlier launch"
        }
        2 => {
            report.boot = super::super::process::BootId("another".to_owned());
            "of another boot"
        }
        3 => {
            report.vendor = if report.vendor == Vendor::Claude.word() { "codex" } else { "claude" }.to_owned();
            "of another kind"
        }
        4 => {
            report.agent_id = Some("delegated".into());
            "of a delegated agent"
        }
        5 => {
            report.ancestry[1].process.pid += 1;
            report.ancestry[0].parent += 1;
            "of a process elsewhere"
        }
        6 => {
            report.ancestry[0].argv = None;
            "of no hook"
        }
        _ => {
            report.version = 99;
            "of another version"
        }
    }
}
