//! `OpenCode`: a plugin file named in `OPENCODE_CONFIG_CONTENT`, which is merged with the user's own configuration files
//! (seen on 1.18.33, 2026-11-30). Where the fleet file sets that variable too, the plugin is added to what it says.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{HOOK_ENV, Hook, Injected, Skip};

/// The plugin.
const PLUGIN: &str = include_str!("../extensions/opencode.js");

/// The variable that holds configuration.
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";

pub(super) fn inject(hook: &Hook<'_>, extensions: &Path, env: &BTreeMap<String, String>) -> Result<Injected, Skip> {
    let file = extensions.join("opencode.js");
    let url = file_url(file.to_str().ok_or(Skip::NotText)?);
    let config = with_plugin(env.get(CONFIG).map(String::as_str), &url)?;
    Ok(Injected {
        argv: Vec::new(),
        env: BTreeMap::from([(HOOK_ENV.to_owned(), hook.json()), (CONFIG.to_owned(), config)]),
        files: vec![(file, PLUGIN.as_bytes().to_vec())],
    })
}

/// The configuration with one more plugin.
fn with_plugin(config: Option<&str>, url: &str) -> Result<String, Skip> {
    let mut config = match config.filter(|config| !config.trim().is_empty()) {
        None => json!({}),
        Some(config) => serde_json::from_str(config).map_err(|_| Skip::NotMergeable(CONFIG))?,
    };
    let object = config.as_object_mut().ok_or(Skip::NotMergeable(CONFIG))?;
    let plugins = object.entry("plugin").or_insert_with(|| json!([]));
    plugins.as_array_mut().ok_or(Skip::NotMergeable(CONFIG))?.push(Value::from(url));
    Ok(config.to_string())
}

/// The `file:` URL of an absolute path.
fn file_url(path: &str) -> String {
    let mut url = "file://".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            url.push(byte.into());
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_added_to_what_is_configured_already() {
        for (config, expected) in [
            (None, r#"{"plugin":["u"]}"#),
            (Some(" "), r#"{"plugin":["u"]}"#),
            (Some(r#"{"model":"m","plugin":["a"]}"#), r#"{"model":"m","plugin":["a","u"]}"#),
        ] {
            assert_eq!(with_plugin(config, "u").unwrap(), expected);
        }
        for odd in ["[]", "{", "{\"plugin\":\"a\"}", "{\"a\":1 // comment\n}"] {
            assert_eq!(with_plugin(Some(odd), "u"), Err(Skip::NotMergeable(CONFIG)), "{odd}");
        }
    }

    #[test]
    fn a_path_becomes_a_url_whatever_is_in_it() {
        assert_eq!(file_url("/a b/ü#?.js"), "file:///a%20b/%C3%BC%23%3F.js");
    }
}
