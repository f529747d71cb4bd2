//! What a session comes back as: in its own conversation and no other's, with the posture and the environment it had.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use crate::bed::Bed;
use crate::kept::fields;
use crate::support::process;

/// Two sessions in one directory, both killed: each comes back in its own conversation.
pub fn two_in_one_directory_are_never_crossed(bed: &Bed) {
    let in_one = |more: &str| fields(bed, &format!("dir: '@WORK@/shared'\n{more}"));
    let said = [("api", "remember the harbour"), ("web", "remember the lighthouse")];
    bed.sessions(&[("api", &in_one("")), ("web", &in_one(""))]);
    let ids = said.map(|(name, text)| bed.prompted(name, text));
    assert_ne!(ids[0], ids[1]);
    for (name, _) in said {
        bed.kill_agent(name);
    }
    bed.apply();
    for (at, (name, text)) in said.iter().enumerate().rev() {
        bed.goes_on(name, &ids[at], &[text], &format!("and what else, {name}"));
        let last = bed.model().turns().last().expect("asked").prompts.join("\n");
        let other = said[1 - at].1;
        assert!(!last.contains(other), "`{name}` has the other's conversation: {last}");
    }
    bed.is_settled();
    bed.down();
}

/// Model, effort, permissions and environment are after a resume what they were before it.
pub fn comes_back_with_its_posture_and_its_environment(bed: &Bed) {
    let more = "model: fake-model\neffort: low\nenv: {OF_THE_FILE: 'a $$value'}";
    bed.sessions(&[("api", &fields(bed, more))]);
    let id = bed.prompted("api", "remember the harbour");
    let (argv, environment) = shown(bed, &id);
    for word in ["fake-model", "low"] {
        assert!(argv.iter().any(|shown| shown.contains(word)), "{word} is not in {argv:#?}");
    }
    assert_eq!(environment.get(&OsString::from("OF_THE_FILE")), Some(&OsString::from("a $value")));
    bed.kill_agent("api");
    bed.apply();
    bed.goes_on("api", &id, &["remember the harbour"], "and of its ships");
    assert_eq!(shown(bed, &id), (argv, environment));
    for request in bed.model().requests().iter().filter(|request| !request.side) {
        assert_eq!(request.model, bed.agent.model_in_requests, "{request:#?}");
        assert_eq!(request.effort.as_deref(), bed.agent.effort_in_requests, "{request:#?}");
    }
    bed.down();
}

/// The agent's arguments, without those that name its conversation, and its environment.
fn shown(bed: &Bed, id: &str) -> (Vec<String>, BTreeMap<OsString, OsString>) {
    let pid = bed.agent_pid("api");
    let forms = bed.agent.kind().conversation.as_ref().expect("every tested agent has conversations");
    let mut argv: Vec<String> = process::argv(pid).into_iter().map(|w| w.to_string_lossy().into_owned()).collect();
    argv.retain(|word| word != id && !forms.assign.contains(word) && !forms.resume.contains(word));
    (argv.iter().map(|word| without_launch(word)).collect(), process::environment(pid))
}

/// An argument without the number of the launch that farhelm's hook carries, and the hashes made of it.
fn without_launch(word: &str) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("--launch ") {
        text += before;
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text += rest;
    let hashes = text.split("sha256:").map(|part| match part.get(..64) {
        Some(hash) if hash.bytes().all(|b| b.is_ascii_hexdigit()) => &part[64..],
        _ => part,
    });
    hashes.collect()
}

/// An agent that runs farhelm leaves its own marks in the environment: no launch inherits them, so that what is said is
/// saved and can be resumed.
pub fn starts_without_the_marks_of_an_agent_above_it(bed: &Bed) {
    let marks = &bed.agent.kind().scrub;
    // Those of farhelm itself, of the tmux server it starts, and of the login shell.
    let exports: String = marks.iter().map(|mark| format!("export {mark}=1\n")).collect();
    marks.iter().for_each(|mark| bed.set(mark, "1"));
    fs::write(bed.path("home/.bash_profile"), exports).expect("a file");
    bed.sessions(&[("api", &fields(bed, ""))]);
    let id = bed.prompted("api", "remember the harbour");
    let environment = process::environment(bed.agent_pid("api"));
    let inherited: Vec<_> = marks.iter().filter(|mark| environment.contains_key(&OsString::from(mark))).collect();
    assert!(inherited.is_empty(), "{inherited:?}");
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("launch, resume");
    bed.apply();
    bed.goes_on("api", &id, &["remember the harbour"], "and of its ships");
    bed.down();
}

/// `/clear`, and the tmux server is killed as soon as that is reported: the new conversation counts, although no pass saw
/// the report while anything of it was alive.
pub fn a_report_made_while_the_server_dies_counts(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    let old = bed.prompted("api", "remember the harbour");
    bed.paste_into("api", "/clear");
    bed.press("api", &["Enter"]);
    let new = bed.reported("api", |report| report["source"] == "clear");
    bed.kill_server_hard();
    assert_ne!(new, old);
    assert_eq!(bed.conversation("api")["id"], new.as_str());
    // What it had written of it by then is a conversation, or nothing.
    let state = bed.conversation("api")["state"].clone();
    assert!(state == "kept" || state == "nothing-to-lose", "{state}");
    bed.apply();
    bed.wait_idle("api");
    bed.type_into("api", "and of its ships");
    let turns = bed.wait_turns("api", 2);
    assert_eq!(turns[1].prompts, ["and of its ships"]);
    bed.wait_idle("api");
    let id = bed.conversation("api")["id"].clone();
    assert!(state != "kept" || id == new.as_str(), "{id}, not {new}");
    bed.down();
}

/// The tmux server is killed as soon as the first prompt is reported: that conversation counts, although no pass saw the
/// report while anything of it was alive.
pub fn a_first_report_made_while_the_server_dies_counts(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    bed.apply();
    bed.wait_idle("api");
    bed.type_into("api", "remember the harbour");
    let id = bed.reported("api", |_| true);
    bed.kill_server_hard();
    assert_eq!(bed.conversation("api")["id"], id.as_str());
    bed.farhelm(["plan"]).ok().says(", resume");
    bed.apply();
    bed.goes_on("api", &id, &["remember the harbour"], "and of its ships");
    bed.down();
}

/// `/clear`, and the tmux server is killed long before the next prompt: the conversation that was begun goes on.
pub fn comes_back_in_an_empty_conversation_that_a_clear_began(bed: &Bed) {
    bed.sessions(&[("api", &fields(bed, ""))]);
    bed.prompted("api", "remember the harbour");
    bed.paste_into("api", "/clear");
    bed.press("api", &["Enter"]);
    let new = bed.reported("api", |report| report["source"] == "clear");
    bed.wait("api", "it is written", || bed.conversation("api")["state"] == "kept");
    bed.kill_server_hard();
    // Its last threads may still be ending: then that is awaited first, as a restart.
    bed.farhelm(["plan"]).ok().says(", resume").says("conversation kept (").says(&new[..8]);
    bed.apply();
    bed.goes_on("api", &new, &[], "and of its ships");
    assert_eq!(bed.model().turns()[1].prompts, ["and of its ships"]);
    bed.down();
}

impl Bed {
    /// Waits for a report of a conversation on the disk that no pass has taken: its id.
    #[track_caller]
    fn reported(&self, name: &str, fits: impl Fn(&serde_json::Value) -> bool) -> String {
        let status = self.status();
        let dir = self.state().join("reports").join(status.of(name).id.as_deref().expect("it was launched"));
        let mut found = None;
        self.wait(name, "it is reported", || {
            let files = fs::read_dir(&dir).into_iter().flatten().flatten();
            let starts = files.filter(|entry| entry.file_name().to_string_lossy().ends_with(".start.json"));
            let reports = starts.filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok());
            found = reports.into_iter().find(|report: &serde_json::Value| fits(report));
            found.is_some()
        });
        found.expect("just seen")["conversation"].as_str().expect("an id").to_owned()
    }

    /// Kills the tmux server without a chance to tidy up, and waits until the agents have ended with it.
    #[track_caller]
    fn kill_server_hard(&self) {
        process::kill_hard(self.tmux().server().expect("it runs"));
        self.wait_left_nothing();
    }
}
