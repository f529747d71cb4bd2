//! What every agent must do under farhelm.

use std::fs;
use std::time::{Duration, Instant};

use crate::agent::{Agent, Shown};
use crate::bed::Bed;
use crate::results;
use crate::support::process;

const PROMPT: &str = "tell me about the harbour";
/// Tools run without a question.
const YOLO: &str = "permissions: yolo";
/// Arguments of a wrapper that stays, and whose child is the agent.
const WRAPPER: &str = r#"sh, -c, 'cd "$1" && shift && "$@"; exit $?', w, "{cwd}""#;

/// Runs a test of an agent, and holds its result against what is written down of it.
pub fn check(agent: &'static Agent, behaviour: &str, test: fn(&Bed)) {
    let Some(bed) = agent.bed() else { return };
    test(&bed);
    results::passed(agent.name, behaviour);
}

/// Model, permissions and prompt of the file reach the agent as arguments; its prompt reaches the model, once.
pub fn launched_with_its_choices_and_its_prompt_once(bed: &Bed) {
    bed.sessions(&[("api", &with_choices(bed.agent, &[]))]);
    bed.apply();
    let pid = bed.agent_pid("api");
    assert_eq!(pid, bed.pid("api"), "the agent is not the pane's process");
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).expect("it runs"), bed.path("work/api"));
    has_arguments(bed, pid);
    is_prompted_once(bed);
    bed.is_settled();
    bed.down();
}

/// The same behind a wrapper that stays as its parent; and what a stop leaves of the two: nothing.
pub fn launched_through_a_wrapper(bed: &Bed) {
    let kind = bed.agent.name;
    let resume = resume_of(bed.agent).join(", ");
    let wrapped = [
        format!("kind: {kind}"),
        format!("invocation: [{WRAPPER}, {kind}]"),
        format!("resume: [{WRAPPER}, {kind}, {resume}]"),
    ];
    bed.sessions(&[("api", &with_choices(bed.agent, &wrapped))]);
    bed.apply();
    let pid = bed.agent_pid("api");
    let wrapper = bed.pid("api");
    assert_ne!(pid, wrapper, "the wrapper is gone");
    has_arguments(bed, pid);
    // An agent may write over its own arguments; the wrapper does not.
    as_composed(bed, wrapper);
    is_prompted_once(bed);
    bed.farhelm(["stop", "api"]).ok();
    assert_eq!(bed.left(), [""; 0]);
    bed.down();
}

/// Without a prompt the agent comes to rest in its composer: nothing asked of the user, nothing of the model.
pub fn idle_after_a_start_without_a_question(bed: &Bed) {
    bed.sessions(&[("api", YOLO)]);
    bed.apply();
    let screen = bed.wait_idle("api");
    for (dialog, texts) in &bed.agent.kind().dialogs {
        assert!(!texts.iter().all(|text| screen.contains(text)), "it asks (`{dialog}`):\n{screen}");
    }
    assert_eq!(bed.model().turns(), []);
    bed.is_settled();
    bed.down();
}

/// A stop in mid-turn takes the agent and the tool it runs.
pub fn stop_in_mid_turn_leaves_nothing(bed: &Bed) {
    bed.sessions(&[("api", YOLO)]);
    in_mid_turn(bed, "api");
    let begin = Instant::now();
    bed.farhelm(["stop", "api"]).ok();
    assert_eq!(bed.left(), [""; 0]);
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    assert_eq!(bed.status().of("api").health, "stopped");
    bed.down();
}

/// `down` takes an idle agent and one in mid-turn, with the tool it runs.
pub fn down_leaves_nothing(bed: &Bed) {
    bed.sessions(&[("api", YOLO), ("web", &format!("{YOLO}\ndesired: stopped"))]);
    bed.apply();
    // Two first starts at once in a new home are not what is tested: of two opencodes one once showed nothing for minutes.
    bed.wait_idle("api");
    bed.sessions(&[("api", YOLO), ("web", YOLO)]);
    in_mid_turn(bed, "web");
    bed.down();
    assert_eq!(bed.left(), [""; 0]);
}

/// Launches the fleet, and makes this agent run a tool that does not end.
fn in_mid_turn(bed: &Bed, name: &str) {
    let prompt = bed.endless(name);
    bed.apply();
    bed.wait_idle(name);
    bed.type_into(name, &prompt);
    bed.wait_tool(name);
    assert!(bed.left().len() > 1, "an agent and its tool are not seen: {:?}", bed.left());
}

/// The YAML of a session with every choice and, where the agent takes one, a prompt.
fn with_choices(agent: &Agent, more: &[String]) -> String {
    let mut fields = vec![format!("model: {}", agent.model), YOLO.to_owned()];
    // Effort as a variable is not seen on a command line.
    let effort = agent.kind().choices.effort.as_ref().is_some_and(|form| !form.args.is_empty());
    fields.extend(effort.then(|| "effort: low".to_owned()));
    fields.extend(agent.takes_prompt.then(|| format!("prompt: {PROMPT}")));
    fields.extend_from_slice(more);
    fields.join("\n")
}

/// The agent's own arguments for a resume.
fn resume_of(agent: &Agent) -> Vec<String> {
    let forms = agent.kind().conversation.as_ref().expect("every tested agent has conversations");
    forms.resume.iter().map(|word| format!("'{word}'")).collect()
}

/// The process shows the arguments that were to be composed, as far as it shows any.
#[track_caller]
fn has_arguments(bed: &Bed, pid: i32) {
    match bed.agent.shown {
        Shown::All => {
            let program = as_composed(bed, pid);
            assert!(program.ends_with(&format!("/{}", bed.agent.name)) || program == bed.agent.name, "{program}");
        }
        // Blanks fill the place of what was there before.
        Shown::Name => {
            let argv: Vec<_> = process::argv(pid).into_iter().filter(|word| !word.is_empty()).collect();
            assert!(argv.len() == 1 && argv[0].to_string_lossy().starts_with(bed.agent.comm), "{argv:?}");
        }
    }
}

/// The process has the arguments that were to be composed, and behind them nothing but farhelm's hook; the word before them.
#[track_caller]
fn as_composed(bed: &Bed, pid: i32) -> String {
    let argv: Vec<String> = process::argv(pid).into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let expected = bed.agent.arguments;
    let dir = bed.path("work/api").display().to_string();
    let fits = |(word, form): (&String, &&str)| match *form {
        "{uuid}" => word.len() == 36 && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'),
        form => *word == form.replace("{prompt}", PROMPT).replace("{dir}", &dir),
    };
    let begins = |at: &usize| argv[*at..].len() >= expected.len() && argv[*at..].iter().zip(expected).all(fits);
    let at = (1..argv.len()).find(begins).unwrap_or_else(|| panic!("{argv:#?} does not have {expected:?}"));
    let rest = &argv[at + expected.len()..];
    let hook = format!("internal hook --vendor {} ", bed.agent.name);
    let state = bed.state().display().to_string();
    let brings_hook = || rest.iter().any(|word| word.contains(&hook) || word.starts_with(&state));
    assert_eq!(rest.first().map(String::as_str), bed.agent.hook, "{argv:#?}");
    assert!(rest.is_empty() || brings_hook(), "{argv:#?}");
    argv[at - 1].clone()
}

/// The model is asked the file's prompt once, also when a second one follows; by hand where none can be given at launch.
#[track_caller]
fn is_prompted_once(bed: &Bed) {
    if !bed.agent.takes_prompt {
        bed.wait_idle("api");
        assert_eq!(bed.model().turns(), []);
        bed.type_into("api", PROMPT);
    }
    bed.wait_turns("api", 1);
    bed.wait_idle("api");
    bed.type_into("api", "and of its ships");
    bed.wait_turns("api", 2);
    bed.wait_idle("api");
    let asked: Vec<_> = bed.model().turns().into_iter().map(|request| request.prompts).collect();
    assert_eq!(asked, [vec![PROMPT], vec![PROMPT, "and of its ships"]]);
    for request in bed.model().requests().iter().filter(|request| !request.side) {
        assert_eq!(request.model, bed.agent.model_in_requests, "{request:#?}");
        assert_eq!(request.effort.as_deref(), bed.agent.effort_in_requests, "{request:#?}");
    }
}
