//! What simulated agents do that say which conversation they have: they take one up or begin it, are prompted, write it
//! down, leave it for another, start agents below them, and say so by their hooks.

use std::path::{Path, PathBuf};

use super::super::process::{Markers, ProcessKey};
use super::World;
use super::hooks::Claim;
use super::ledger::AgentRun;
use super::machine::{Event, Machine};
use super::program::Habits;
use super::table::{End, Spawn};
use super::talks::{Received, Speaker, Talk, Vendor};

/// One thing such an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// It is up.
    Up,
    /// It takes the prompt of its command line.
    Told,
    /// It is prompted by hand.
    Prompted,
    /// It writes down what was said.
    Writes,
    /// Its turn is over.
    Rests,
    /// Its user leaves the conversation for a new one.
    Clears,
    /// It runs an agent of its kind below it, which inherited all it needs to report.
    Nests,
}

/// The line by which a file of this kind begins.
pub(super) fn head(vendor: Vendor, id: &str, dir: &Path) -> String {
    match vendor {
        Vendor::Claude => "{\"type\":\"mode\",\"mode\":\"normal\"}\n".to_owned(),
        Vendor::Codex => format!(
            "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"session_id\":\"{id}\",\"source\":\"cli\",\"cwd\":\"{}\"}}}}\n",
            dir.display()
        ),
    }
}

/// What is written of a prompt and its answer.
pub(super) const MESSAGE: &str = "{\"type\":\"user\",\"uuid\":\"1\"}\n";

/// What a Codex holds open of its conversation.
fn lock_file(talk: &str) -> PathBuf {
    PathBuf::from(format!("/home/u/.codex/thread-writer-locks/{talk}.lock"))
}

/// Where Claude says which process has which conversation.
fn mark_file(pid: i32) -> PathBuf {
    PathBuf::from(format!("/home/u/.claude/sessions/{pid}.json"))
}

impl Machine {
    /// An agent has been exec'd; `reports` is where its hook would leave what it says.
    pub(super) fn speaker_begins(&mut self, vendor: Vendor, run: &AgentRun, reports: PathBuf, dir: PathBuf) {
        let prompt = run.argv.iter().find(|word| word.starts_with("prompt of ")).cloned();
        let hooked = run.argv.iter().any(|word| word.contains("internal hook"));
        let program = run.argv.first().cloned().unwrap_or_default();
        let source = if run.resumed.is_some() { "resume" } else { "startup" };
        let mut speaker = Speaker {
            vendor,
            origin: Some(run.origin.clone()),
            reports: hooked.then_some(reports),
            talk: None,
            source,
            said: false,
            prompt,
            unwritten: false,
            program,
            dir,
        };
        if !self.takes_up(&mut speaker, run) {
            let after = self.random.range(30, 300);
            return self.schedule(after, Event::Exit(run.key, 1));
        }
        self.set_mark(run.key, &speaker);
        let (has_prompt, up) = (speaker.prompt.is_some(), self.random.range(50, 400));
        self.talks.speakers.insert(run.key, speaker);
        match vendor {
            Vendor::Claude => self.schedule(up, Event::Speak(run.key, Act::Up)),
            Vendor::Codex if has_prompt => self.schedule(up, Event::Speak(run.key, Act::Told)),
            Vendor::Codex => {}
        }
        self.schedule_whim(run.key);
    }

    /// Which conversation an agent has by its command line; `false` when it cannot have that, and ends.
    fn takes_up(&mut self, speaker: &mut Speaker, run: &AgentRun) -> bool {
        if let Some(id) = &run.resumed {
            speaker.talk = Some(id.clone());
            return self.can_resume(speaker.vendor, id);
        }
        if speaker.vendor == Vendor::Claude {
            let id = run.assigned.clone().unwrap_or_else(|| self.new_talk_id());
            if self.can_resume(Vendor::Claude, &id) {
                return false;
            }
            self.begin_talk(speaker, &id);
        }
        true
    }

    fn begin_talk(&mut self, speaker: &mut Speaker, id: &str) {
        let file = Self::talk_file(speaker.vendor, &speaker.dir, id);
        let session = speaker.origin.as_ref().map(|origin| origin.session.clone());
        let talk = Talk { session, vendor: speaker.vendor, file, text: Vec::new(), prompted: false, maimed: false };
        self.talks.all.entry(id.to_owned()).or_insert(talk);
        speaker.talk = Some(id.to_owned());
    }

    /// Whether an agent finds the conversation of this id.
    pub(super) fn can_resume(&self, vendor: Vendor, id: &str) -> bool {
        let Some(talk) = self.talks.all.get(id).filter(|talk| talk.vendor == vendor) else { return false };
        let Ok(bytes) = self.files.read(&talk.file, u64::MAX) else { return false };
        let text = String::from_utf8_lossy(&bytes);
        match vendor {
            Vendor::Claude => text.contains("\"uuid\""),
            Vendor::Codex => text.contains('\n') && text.contains(id),
        }
    }

    fn schedule_whim(&mut self, key: ProcessKey) {
        if self.faults.programs_last {
            return;
        }
        let after = self.random.range(500, 40_000);
        let act = match self.random.below(10) {
            0..=5 => Act::Prompted,
            6 | 7 => Act::Clears,
            _ => Act::Nests,
        };
        self.schedule(after, Event::Speak(key, act));
    }

    /// An agent does something.
    pub(super) fn speaks(&mut self, key: ProcessKey, act: Act) {
        let whim = matches!(act, Act::Prompted | Act::Clears | Act::Nests);
        if whim && self.faults.programs_last {
            return;
        }
        let Some(mut speaker) = self.talks.speakers.get(&key).cloned() else { return };
        match act {
            Act::Up => self.is_up(key, &mut speaker),
            Act::Told => {
                let prompt = speaker.prompt.take();
                self.prompt(key, &mut speaker, prompt);
            }
            Act::Prompted => self.prompt(key, &mut speaker, None),
            Act::Writes => {
                speaker.unwritten = false;
                self.write_talk(&speaker);
            }
            Act::Rests => self.report(key, &speaker, &Claim::of("Stop", None)),
            Act::Clears => self.clear(key, &mut speaker),
            Act::Nests => self.nest(key, &speaker),
        }
        self.talks.speakers.insert(key, speaker);
        if whim {
            self.schedule_whim(key);
        }
    }

    fn is_up(&mut self, key: ProcessKey, speaker: &mut Speaker) {
        speaker.said = true;
        self.report(key, speaker, &Claim::of("SessionStart", Some(speaker.source)));
        if speaker.prompt.is_some() {
            let after = self.random.range(5, 600);
            self.schedule(after, Event::Speak(key, Act::Told));
        }
    }

    fn prompt(&mut self, key: ProcessKey, speaker: &mut Speaker, given: Option<String>) {
        if speaker.talk.is_none() {
            let id = self.new_talk_id();
            self.begin_talk(speaker, &id);
        }
        self.set_mark(key, speaker);
        let Some(id) = speaker.talk.clone() else { return };
        if let (Some(prompt), Some(origin)) = (given, &speaker.origin) {
            self.note(format!("{key} is given `{prompt}`"));
            let session = origin.session.clone();
            self.talks.received.push(Received { session, prompt, conversation: id.clone() });
        }
        if let Some(talk) = self.talks.all.get_mut(&id) {
            talk.prompted = true;
        }
        let late = if self.random.chance(200) { self.random.range(1, 400) } else { 0 };
        speaker.unwritten = late > 0;
        if late == 0 {
            self.write_talk(speaker);
        } else {
            self.schedule(late, Event::Speak(key, Act::Writes));
        }
        if !std::mem::replace(&mut speaker.said, true) {
            self.report(key, speaker, &Claim::of("SessionStart", Some(speaker.source)));
        }
        self.report(key, speaker, &Claim::of("UserPromptSubmit", None));
        let turn = self.random.range(200, 30_000);
        self.schedule(turn, Event::Speak(key, Act::Rests));
    }

    /// Nothing of it is synced: the power may take it.
    fn write_talk(&mut self, speaker: &Speaker) {
        let Some(talk) = speaker.talk.as_ref().and_then(|id| self.talks.all.get_mut(id)) else { return };
        let Some(id) = speaker.talk.as_deref() else { return };
        let mut more = if talk.text.is_empty() { head(speaker.vendor, id, &speaker.dir) } else { String::new() };
        if talk.prompted {
            more.push_str(MESSAGE);
        }
        talk.text.extend(more.bytes());
        let file = talk.file.clone();
        let made = file.parent().is_some_and(|dir| self.files.make_dir(dir).is_ok());
        let kept = made && self.files.append(&file, more.as_bytes()).is_ok();
        talk.maimed |= !kept;
    }

    fn clear(&mut self, key: ProcessKey, speaker: &mut Speaker) {
        speaker.source = "clear";
        match speaker.vendor {
            Vendor::Claude => {
                self.report(key, speaker, &Claim::of("SessionEnd", Some("clear")));
                let id = self.new_talk_id();
                self.begin_talk(speaker, &id);
                self.write_talk(speaker);
                self.set_mark(key, speaker);
                self.report(key, speaker, &Claim::of("SessionStart", Some("clear")));
            }
            // It says so at the next prompt.
            Vendor::Codex => (speaker.talk, speaker.said) = (None, false),
        }
    }

    fn nest(&mut self, key: ProcessKey, speaker: &Speaker) {
        let Some(origin) = speaker.origin.clone() else { return };
        let id = self.make_up(speaker.vendor, &speaker.dir);
        let markers = self.table.live(key).map(|p| p.markers.clone()).unwrap_or_default();
        let shell = Spawn { comm: "bash", markers: markers.clone(), origin: Some(origin.clone()), ..Spawn::default() };
        let shell = self.spawn(key.pid, shell);
        let nested = Spawn { comm: "nested", markers, origin: Some(origin), ..Spawn::default() };
        let nested = self.spawn(shell.pid, nested);
        let below = Speaker { talk: Some(id), ..speaker.clone() };
        let claim = Claim {
            above: vec![(nested, &below.program), (shell, "bash")],
            ..Claim::of("SessionStart", Some("startup"))
        };
        self.report(key, &below, &claim);
        for process in [nested, shell] {
            let after = self.random.range(50, 5_000);
            self.schedule(after, Event::Exit(process, 0));
        }
    }

    /// A conversation that no session has, with a file as good as any.
    pub(super) fn make_up(&mut self, vendor: Vendor, dir: &Path) -> String {
        let id = self.new_talk_id();
        let file = Self::talk_file(vendor, dir, &id);
        let text = format!("{}{MESSAGE}", head(vendor, &id, dir)).into_bytes();
        if file.parent().is_some_and(|dir| self.files.make_dir(dir).is_ok()) {
            // The directory was just made, and no file has the new name.
            let _ = self.files.create(&file, &text);
        }
        let talk = Talk { session: None, vendor, file, text, prompted: true, maimed: false };
        self.talks.all.insert(id.clone(), talk);
        id
    }

    fn set_mark(&mut self, key: ProcessKey, speaker: &Speaker) {
        let Some(talk) = &speaker.talk else { return };
        let (file, text) = match speaker.vendor {
            Vendor::Claude => {
                (mark_file(key.pid), format!("{{\"sessionId\":\"{talk}\",\"procStart\":\"{}\"}}", key.start))
            }
            Vendor::Codex => (lock_file(talk), String::new()),
        };
        if file.parent().is_some_and(|dir| self.files.make_dir(dir).is_ok()) {
            // A plain file below a directory that was just made.
            let _ = self.files.remove(&file).and_then(|()| self.files.create(&file, text.as_bytes()));
        }
    }

    /// An agent has ended.
    pub(super) fn speaker_ends(&mut self, key: ProcessKey, end: End) {
        let Some(speaker) = self.talks.speakers.remove(&key) else { return };
        if let Some(talk) = speaker.talk.as_ref().and_then(|id| self.talks.all.get_mut(id)) {
            talk.maimed |= speaker.unwritten;
        }
        if speaker.vendor == Vendor::Claude && end != End::Killed(9) {
            let _ = self.files.remove(&mark_file(key.pid));
            self.report(key, &speaker, &Claim::of("SessionEnd", Some("other")));
        }
    }

    /// Whether a launch of a session is on its way to its agent: what was decided before cannot know what happens now.
    fn is_starting(&self, session: &str) -> bool {
        let mut panes = self.servers.iter().flat_map(|server| server.panes.values());
        panes.any(|pane| {
            let shim = self.table.live(pane.process).filter(|process| !process.agent);
            shim.and_then(|shim| shim.origin.as_ref()).is_some_and(|o| o.session == session && o.tab.is_none())
        })
    }

    /// The file by which an agent shows that it has its conversation.
    pub(super) fn open_lock(&self, key: ProcessKey) -> Option<PathBuf> {
        let speaker = self.talks.speakers.get(&key).filter(|speaker| speaker.vendor == Vendor::Codex)?;
        speaker.talk.as_deref().map(lock_file)
    }

    /// Whether a living agent, our own or not, has the conversation, `but` one.
    pub(super) fn is_live(&self, talk: &str, but: ProcessKey) -> Option<ProcessKey> {
        let has = |(key, speaker): &(&ProcessKey, &Speaker)| **key != but && speaker.talk.as_deref() == Some(talk);
        self.talks.speakers.iter().find(has).map(|(key, _)| *key)
    }
}

/// What happens to conversations that is none of farhelm's doing.
impl World {
    /// A user takes up some conversation of ours, which no agent has now, in a terminal of their own; says which.
    pub fn open_elsewhere(&self) -> Option<String> {
        self.peek(|machine| {
            let nobody = ProcessKey { pid: 0, start: 0 };
            let talks = machine.talks.all.iter();
            let free = talks.filter(|(id, talk)| {
                let free = machine.is_live(id, nobody).is_none() && machine.can_resume(talk.vendor, id);
                free && talk.session.as_deref().is_some_and(|session| !machine.is_starting(session))
            });
            let free: Vec<(String, Vendor)> = free.map(|(id, talk)| (id.clone(), talk.vendor)).collect();
            let (id, vendor) = machine.random.pick(&free).cloned()?;
            let lives = machine.random.range(1_000, 90_000);
            let habits = Habits { exits: Some((lives, 0)), ..Habits::default() };
            let user =
                Spawn { comm: vendor.word(), markers: Markers::default(), habits: Some(habits), ..Spawn::default() };
            let key = machine.spawn(1, user);
            let speaker = Speaker {
                vendor,
                origin: None,
                reports: None,
                talk: Some(id.clone()),
                source: "resume",
                said: true,
                prompt: None,
                unwritten: false,
                program: vendor.word().to_owned(),
                dir: PathBuf::from("/home/u"),
            };
            machine.set_mark(key, &speaker);
            machine.talks.speakers.insert(key, speaker);
            Some(id)
        })
    }
}
