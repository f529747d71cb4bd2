//! Slots: arguments that stand for something known only at launch. A whole argument or literal text, never a part.

/// The working directory.
pub const CWD: &str = "{cwd}";
/// The conversation's id.
pub const CONVERSATION: &str = "{conversation}";
/// A choice's value, in the data of a kind.
pub const VALUE: &str = "{value}";
/// The same as a quoted TOML string.
pub const VALUE_TOML: &str = "{value:toml}";
/// The working directory as a quoted TOML string, in the data of a kind.
pub const CWD_TOML: &str = "{cwd:toml}";

/// The longest conversation id, in bytes.
pub const MAX_ID: usize = 128;

/// The longest path of a conversation's file, in bytes (`PATH_MAX`).
pub const MAX_PATH: usize = 4096;

/// A conversation id that no agent would give.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no plausible conversation id: one has 1 to {MAX_ID} printable ASCII characters, no space, quote or \
     backslash, no leading `-`, and is no slot's name"
)]
pub struct ImplausibleId(pub String);

/// Checks a conversation id, when it is stored and again when it is put into a command.
///
/// # Errors
/// [`ImplausibleId`].
pub fn plausible(id: &str) -> Result<&str, ImplausibleId> {
    let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'`' | b'\\');
    let good = (1..=MAX_ID).contains(&id.len())
        && id.bytes().all(plain)
        && !id.starts_with('-')
        && ![CWD, CONVERSATION, VALUE].contains(&id);
    if good { Ok(id) } else { Err(ImplausibleId(id.chars().take(MAX_ID).collect())) }
}

/// Checks what a conversation is resumed by: its id, or, where the agent wants its file, an absolute path.
///
/// # Errors
/// [`ImplausibleId`].
pub fn plausible_target(target: &str) -> Result<&str, ImplausibleId> {
    let path = target.starts_with('/') && target.len() <= MAX_PATH && !target.chars().any(char::is_control);
    if path { Ok(target) } else { plausible(target) }
}

/// Whether `slot` is an argument of `argv`. Argument 0 is none.
#[must_use]
pub fn mentions(argv: &[String], slot: &str) -> bool {
    argv.iter().skip(1).any(|arg| arg == slot)
}

/// Fills every slot of a command. One pass: what was filled in is not looked at again. Argument 0 is never a slot.
#[must_use]
pub fn fill(argv: &[String], conversation: Option<&str>, cwd: &str) -> Vec<String> {
    let filled = |(place, arg): (usize, &String)| match (place, arg.as_str(), conversation) {
        (0, ..) => arg.clone(),
        (_, CONVERSATION, Some(id)) => id.to_owned(),
        (_, CWD, _) => cwd.to_owned(),
        _ => arg.clone(),
    };
    argv.iter().enumerate().map(filled).collect()
}

/// Fills the slots of a choice's form, wherever they stand in it. One pass: what was filled in is not looked at again.
#[must_use]
pub fn fill_form(form: &str, value: &str, cwd: &str) -> String {
    let slots = [(VALUE, value.to_owned()), (VALUE_TOML, toml(value)), (CWD, cwd.to_owned()), (CWD_TOML, toml(cwd))];
    let mut filled = String::with_capacity(form.len());
    let mut rest = form;
    while let Some(brace) = rest.find('{') {
        filled.push_str(&rest[..brace]);
        rest = &rest[brace..];
        let (text, length) = match slots.iter().find(|(slot, _)| rest.starts_with(slot)) {
            Some((slot, text)) => (text.as_str(), slot.len()),
            None => ("{", 1),
        };
        filled.push_str(text);
        rest = &rest[length..];
    }
    filled.push_str(rest);
    filled
}

/// A basic string of TOML: quoted, what it does not allow escaped.
fn toml(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_arguments_behind_the_program_are_slots() {
        let argv = ["{cwd}", "{cwd}", "--dir={cwd}", "cd {cwd}", "{conversation}", "{cwd}"].map(str::to_owned);
        let filled = fill(&argv, Some("id"), "/a b");
        assert_eq!(filled, ["{cwd}", "/a b", "--dir={cwd}", "cd {cwd}", "id", "/a b"]);
    }

    #[test]
    fn a_form_is_filled_everywhere_and_once() {
        assert_eq!(fill_form("x={value},{value}", "{cwd}", "/d"), "x={cwd},{cwd}");
        assert_eq!(fill_form("{{cwd:toml}={l={value:toml}}}", "a", "/a b.c"), r#"{"/a b.c"={l="a"}}"#);
        assert_eq!(fill_form("{other} {", "v", "/d"), "{other} {");
        assert_eq!(fill_form("{cwd:toml}", "", "/q\"\\\n\u{e9}"), "\"/q\\\"\\\\\\u000A\u{e9}\"");
    }

    #[test]
    fn a_file_is_named_by_its_path_whatever_letters_are_in_it() {
        let long = format!("/{}", "x/".repeat(200));
        for good in ["id", "/home/ü ser/it's/s.jsonl", &long] {
            assert_eq!(plausible_target(good), Ok(good));
        }
        for bad in ["", "-x", "a b", "s x/y", "/a\nb", "/a\0", &"x".repeat(129), &format!("/{}", "x".repeat(MAX_PATH))]
        {
            assert!(plausible_target(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_id_that_could_be_taken_for_something_else_is_refused() {
        for good in ["4bfc71d6-1111-4222-8333-444455556666", "a", "x/y:z_1.2", &"x".repeat(128)] {
            assert!(plausible(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "a b", "a\"", "a'", "a\\", "a`", "ü", "a\n", "{cwd}", "{conversation}", &"x".repeat(129)]
        {
            assert!(plausible(bad).is_err(), "{bad}");
        }
    }
}
