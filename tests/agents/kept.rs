//! A session comes back in its own conversation, whatever ended it; and where it cannot, farhelm says so beforehand.

use std::fs;

use serde_json::Value;

use crate::bed::Bed;
use crate::support::process;
use crate::support::wait::wait_at_most;

const FIRST: &str = "remember the harbour";
const SECOND: &str = "and of its ships";

/// An id that no report confirms is resumed only where the profile says so.
pub fn fields(bed: &Bed, more: &str) -> String {
    let assigned = if reports(bed) { "" } else { "resume_assigned: true\n" };
    format!("permissions: yolo\n{assigned}{more}")
}

/// Whether the agent's hooks reach farhelm here.
fn reports(bed: &Bed) -> bool {
    // Gemini takes settings of ours only from a directory that is root's all the way up.
    bed.agent.name != "gemini" && bed.agent.kind().reports.is_some()
}

/// Whether a conversation goes on with the model that the command line names.
fn changes_its_model(bed: &Bed) -> bool {
    // OpenCode 1.18.33 goes on with the model that answered last in the conversation.
    bed.agent.name != "opencode"
}

/// What a plan says of a conversation that goes on.
fn kept(bed: &Bed) -> &'static str {
    if reports(bed) { "conversation kept (" } else { "conversation kept, unconfirmed" }
}

impl Bed {
    /// What `farhelm conversations` says of a session.
    #[track_caller]
    pub fn conversation(&self, name: &str) -> Value {
        let all = self.farhelm(["conversations", "--json"]).ok().json();
        let all = all["conversations"].as_array().expect("a list").clone();
        all.into_iter().find(|one| one["session"] == name).unwrap_or_else(|| panic!("no conversation of `{name}`"))
    }

    /// Launches the fleet, has a session say something, and waits until its conversation could be resumed: the id.
    #[track_caller]
    pub fn prompted(&self, name: &str, text: &str) -> String {
        self.apply();
        self.wait_idle(name);
        let before = self.model().turns().len();
        self.type_into(name, text);
        self.wait_turns(name, before + 1);
        self.wait_idle(name);
        let expected = if reports(self) { "kept" } else { "unconfirmed" };
        self.wait(name, "its conversation is known", || self.conversation(name)["state"] == expected);
        self.conversation(name)["id"].as_str().expect("an id").to_owned()
    }

    /// Kills the agent where it stands, its tools and its pane's process with it.
    #[track_caller]
    pub fn kill_agent(&self, name: &str) {
        let pids = [self.agent_pid(name), self.pid(name)];
        pids.iter().for_each(|pid| process::kill_hard(*pid));
        // A leader is a zombie at once, while its threads are still being ended.
        wait_at_most(crate::bed::PATIENCE, "it is gone", || self.status().of(name).pid.is_none());
    }

    /// Kills the tmux server, and waits until the agents have ended with it.
    #[track_caller]
    pub fn kill_server(&self) {
        self.tmux().run(&["kill-server"]);
        wait_at_most(crate::bed::PATIENCE, "the agents have ended", || self.left().is_empty());
    }

    /// The model is asked on, and told what was said before.
    #[track_caller]
    pub fn goes_on(&self, name: &str, id: &str, said: &[&str], next: &str) {
        self.wait_idle(name);
        let before = self.model().turns().len();
        self.type_into(name, next);
        let turns = self.wait_turns(name, before + 1);
        let last = turns.last().expect("just asked");
        for text in said {
            assert_eq!(last.prompts.iter().filter(|p| p.contains(text)).count(), 1, "`{text}` in {:?}", last.prompts);
        }
        self.wait_idle(name);
        assert_eq!(self.conversation(name)["id"], id, "another conversation");
    }
}

/// SIGKILL; then another model; then its removal and its return.
pub fn comes_back_after_a_kill_a_change_and_a_removal(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    let id = bed.prompted("api", FIRST);
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("launch, resume").says(kept(bed));
    bed.apply();
    bed.goes_on("api", &id, &[FIRST], SECOND);
    let changed = fields(bed, &format!("model: {}", bed.agent.model));
    bed.sessions(&[("api", &changed)]);
    bed.farhelm(["plan", "--now"]).ok().says("restart, resume").says("model ");
    bed.farhelm(["apply", "-y", "--now"]).ok();
    bed.goes_on("api", &id, &[FIRST, SECOND], "and the tides");
    let asked = bed.model().turns().last().map(|turn| turn.model.clone());
    assert_eq!(asked.as_deref() == Some(bed.agent.model_in_requests), changes_its_model(bed), "{asked:?}");
    bed.sessions(&[]);
    bed.apply();
    assert_eq!(bed.left(), [""; 0]);
    bed.sessions(&[("api", &changed)]);
    bed.farhelm(["plan"]).ok().says("launch, resume");
    bed.apply();
    bed.goes_on("api", &id, &[FIRST, SECOND], "and the gulls");
    bed.is_settled();
    bed.down();
}

/// SIGKILL in mid-turn; then of the tmux server; then what a reboot leaves.
pub fn comes_back_in_mid_turn_and_after_the_server_and_the_machine_died(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    let id = bed.prompted("api", FIRST);
    let endless = bed.endless("api");
    bed.type_into("api", &endless);
    bed.wait_tool("api");
    bed.kill_agent("api");
    bed.apply();
    bed.goes_on("api", &id, &[FIRST], SECOND);
    bed.kill_server();
    bed.apply();
    bed.goes_on("api", &id, &[FIRST, SECOND], "and the tides");
    bed.kill_server();
    forget_the_boot(bed);
    bed.farhelm(["plan"]).ok().says("launch, resume");
    bed.apply();
    bed.goes_on("api", &id, &[FIRST, SECOND], "and the gulls");
    bed.down();
}

/// Every record as a machine finds it that was booted since.
fn forget_the_boot(bed: &Bed) {
    let sessions = bed.state().join("sessions");
    for entry in fs::read_dir(&sessions).expect("records").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a record");
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux");
        let other = "00000000-0000-4000-8000-000000000000";
        fs::write(entry.path(), text.replace(boot.trim(), other)).expect("written");
    }
}

/// Killed before anything was said: there is nothing to lose, and what was to be said is said then.
pub fn starts_anew_when_nothing_was_said(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    bed.apply();
    bed.wait_idle("api");
    if bed.agent.name == "claude" {
        // Codex says nothing before its first prompt.
        bed.wait("api", "its conversation is known", || bed.conversation("api")["state"] == "nothing-to-lose");
    }
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("1 to launch").says("nothing to lose");
    bed.apply();
    bed.wait_idle("api");
    bed.type_into("api", FIRST);
    bed.wait_turns("api", 1);
    bed.down();
}

/// The file of the conversation is gone: the session is held, and begins anew only when it is told to.
pub fn is_held_when_its_transcript_is_gone(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    bed.prompted("api", FIRST);
    bed.kill_agent("api");
    bed.farhelm(["stop", "api"]).ok();
    let records = bed.state().join("sessions");
    let record = fs::read_dir(records).expect("records").flatten().next().expect("one").path();
    let record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    let transcript = record["identity"]["transcripts"][0].as_str().expect("a transcript").to_owned();
    fs::remove_file(&transcript).expect("it was there");
    bed.farhelm(["start", "api"]).code(0);
    bed.farhelm(["plan"]).ok().says("blocked").says("cannot be found");
    bed.apply();
    assert!(bed.left().is_empty(), "{:?}", bed.left());
    bed.farhelm(["apply", "-y", "--allow-fresh", "api"]).ok();
    bed.wait_idle("api");
    bed.down();
}

/// `/clear`, then a kill: the new conversation comes back, never the one that was left.
pub fn comes_back_in_the_conversation_that_a_clear_began(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    let old = bed.prompted("api", FIRST);
    bed.slash("api", "/clear", FIRST);
    bed.wait_idle("api");
    bed.type_into("api", SECOND);
    bed.wait_turns("api", 2);
    bed.wait_idle("api");
    bed.wait("api", "the new conversation is known", || {
        let now = bed.conversation("api");
        now["id"] != old.as_str() && now["state"] == "kept"
    });
    let new = bed.conversation("api")["id"].as_str().expect("an id").to_owned();
    bed.kill_agent("api");
    bed.apply();
    bed.goes_on("api", &new, &[SECOND], "and the tides");
    assert!(!bed.model().turns().last().expect("asked").prompts.iter().any(|p| p.contains(FIRST)));
    bed.down();
}

/// A second agent of the kind, run by the first one's shell tool, overwrites nothing.
pub fn a_nested_run_changes_nothing(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    let id = bed.prompted("api", FIRST);
    let nested = match bed.agent.name {
        "claude" => "claude -p nested",
        _ => "codex exec nested",
    };
    bed.type_into("api", &format!("go [[run {nested} > /dev/null 2>&1; echo over]]"));
    bed.wait("api", "the nested run is over", || {
        bed.model()
            .requests()
            .iter()
            .any(|request| request.tool_output.as_deref().is_some_and(|out| out.contains("over")))
    });
    bed.wait_idle("api");
    assert_eq!(bed.conversation("api")["id"], id.as_str());
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("launch, resume");
    bed.apply();
    bed.goes_on("api", &id, &[FIRST], SECOND);
    bed.down();
}
