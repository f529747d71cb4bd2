//! Kimi Code.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::agent::{Agent, Home, Shown};

pub static AGENT: Agent = Agent {
    name: "kimi",
    model: "fake",
    model_in_requests: "fake-model",
    arguments: &["-m", "fake", "--auto"],
    hook: None,
    effort_in_requests: None,
    takes_prompt: false,
    configure,
    trust,
    environment,
    comm: "kimi-code",
    shown: Shown::Name,
    idle: &["│ >", "context:"],
    busy: &["Working…"],
};

common_tests!();

#[test]
fn a_prompt_in_the_file_is_refused_before_anything_starts() {
    let Some(bed) = AGENT.bed() else { return };
    bed.sessions(&[("api", "prompt: hello")]);
    bed.farhelm(["validate"]).code(1).mentions("kind `kimi` cannot express `prompt`");
    bed.farhelm(["apply", "-y"]).code(1).mentions("cannot express `prompt`");
    assert_eq!(bed.tmux().panes(), []);
}

#[test]
fn what_cannot_be_resumed_is_said_before_and_after_it_is_lost() {
    let Some(bed) = AGENT.bed() else { return };
    let words = "kimi neither reports its conversation nor takes an id for it";
    bed.sessions(&[("api", "permissions: yolo")]);
    bed.farhelm(["plan"]).ok().says("1 to launch").says(words);
    bed.farhelm(["explain", "kind", "kimi"]).ok().says(words);
    bed.apply();
    bed.wait_idle("api");
    bed.type_into("api", "remember the harbour");
    bed.wait_turns("api", 1);
    bed.wait_idle("api");
    bed.sessions(&[("api", "permissions: yolo\nenv: {CHANGED: '1'}")]);
    bed.farhelm(["plan"]).ok().says("blocked").says(words).says("--allow-fresh");
    bed.sessions(&[("api", "permissions: yolo")]);
    bed.kill_agent("api");
    bed.farhelm(["plan"]).ok().says("1 to launch").says("conversation lost").says(words);
    bed.apply();
    bed.wait_idle("api");
    bed.down();
}

fn configure(home: &Home) {
    let mut config = format!(
        "default_model = \"other\"\n[providers.fake]\ntype = \"openai\"\nbase_url = \"{}/v1\"\napi_key = \"dummy\"\n",
        home.model
    );
    for name in ["other", "fake"] {
        config +=
            &format!("[models.{name}]\nprovider = \"fake\"\nmodel = \"{name}-model\"\nmax_context_size = 200000\n");
    }
    home.write(".kimi-code/config.toml", &config);
}

/// A file by the directory's name and the hash of its path.
fn trust(home: &Home, dir: &Path) {
    let hash: String = Sha256::digest(dir.as_os_str().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = dir.file_name().expect("a directory of a session").display();
    let text = json!({"root": dir, "trustedAt": 1}).to_string();
    home.write(&format!(".kimi-code/workspace-trust/wd_{name}_{}", &hash[..12]), &text);
}

fn environment(_: &Home) -> Vec<(&'static str, String)> {
    [("KIMI_DISABLE_TELEMETRY", "1"), ("KIMI_CODE_NO_AUTO_UPDATE", "1")]
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec()
}
