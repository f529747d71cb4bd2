//! Scripts for `source-file`: a request a line, its commands joined by `;`. When a command of a line fails, tmux drops the
//! rest of that line and goes on with the next.

use crate::host::tmux::{PaneId, StampText, TmuxSession};

use super::listing;

/// A tmux script.
#[derive(Debug, Default)]
pub(super) struct Script {
    text: Vec<u8>,
    lines: u32,
    /// Whether the present line has a command already.
    begun: bool,
}

impl Script {
    /// Adds a command to the present line.
    pub(super) fn command<W: AsRef<[u8]>>(&mut self, words: impl IntoIterator<Item = W>) {
        if self.begun {
            self.text.extend_from_slice(b" ;");
        }
        for word in words {
            self.text.push(b' ');
            quote(word.as_ref(), &mut self.text);
        }
        self.begun = true;
    }

    /// Adds the commands that set `stamp` on the pane `target`.
    pub(super) fn stamp(&mut self, target: &str, stamp: &StampText) {
        for (option, value) in listing::options(stamp) {
            self.command(["set-option", "-p", "-t", target, option, &value]);
        }
    }

    /// Ends the present line.
    pub(super) fn end_line(&mut self) {
        self.text.push(b'\n');
        self.lines += 1;
        self.begun = false;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn lines(&self) -> u32 {
        self.lines
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// One word as tmux's parser reads it back exactly. Nothing is special within single quotes; a quote itself goes between
/// double ones, and a newline is spelled out, so that a line stays a line.
fn quote(word: &[u8], text: &mut Vec<u8>) {
    text.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => text.extend_from_slice(b"'\"'\"'"),
            b'\n' => text.extend_from_slice(b"'\"\\n\"'"),
            // tmux 3.3a takes this byte for the end of the file, and says nothing.
            b'\xff' => text.extend_from_slice(b"'\"\\377\"'"),
            other => text.push(*other),
        }
    }
    text.push(b'\'');
}

/// `text` for an argument that tmux expands as a format (`-c`, `-n`, `-s`): it expands to exactly `text`. `##` is a `#`,
/// but not before `[`, where tmux keeps both for a style: that bracket is given as a literal of its own.
pub(super) fn literal_format(text: &[u8]) -> Vec<u8> {
    let mut format = Vec::with_capacity(text.len());
    let mut after_hash = false;
    for byte in text {
        match byte {
            b'#' => format.extend_from_slice(b"##"),
            b'[' if after_hash => format.extend_from_slice(b"#{l:[}"),
            other => format.push(*other),
        }
        after_hash = *byte == b'#';
    }
    format
}

/// Refuses what is no pane id.
pub(super) fn check_pane(pane: &PaneId) -> Result<(), String> {
    check_id(&pane.0, '%')
}

/// Refuses what is no session id.
pub(super) fn check_session(session: &TmuxSession) -> Result<(), String> {
    check_id(&session.0, '$')
}

fn check_id(id: &str, sign: char) -> Result<(), String> {
    let digits = id.strip_prefix(sign).unwrap_or_default();
    let good = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    good.then_some(()).ok_or_else(|| format!("`{id}` is not an id of tmux's"))
}

/// Refuses a session name that tmux would alter, expand, or read as something else in a target.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let good = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    good.then_some(())
        .ok_or_else(|| format!("`{name}` cannot be the name of a tmux session: only letters, digits, `_`, `-`"))
}

/// Refuses a stamp that could not be listed again: another name than the listing asks for, another alphabet than it takes
/// apart.
pub(super) fn check_stamp(stamp: &StampText) -> Result<(), String> {
    for (name, value) in stamp {
        if !listing::STAMPS.contains(&name.as_str()) {
            return Err(format!("`{name}` is no part of a stamp that is listed again"));
        }
        if !value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.,:/=%+".contains(&b)) {
            return Err(format!("`{name}` of a stamp holds characters that are not listed again"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line() {
        let mut script = Script::default();
        script.command(["new-window", "a\nb", "it's"]);
        script.stamp("%1", &[("id".to_owned(), "x".to_owned())].into());
        script.end_line();
        let text = String::from_utf8(script.bytes().to_vec()).unwrap();
        let expected = concat!(
            r#" 'new-window' 'a'"\n"'b' 'it'"'"'s' ; 'set-option' '-p' '-t' '%1' '@farhelm_id' 'x'"#,
            " ; 'set-option' '-p' '-t' '%1' '@farhelm_stamp' ''\n"
        );
        assert_eq!(text, expected);
        assert_eq!(script.lines(), 1);
    }

    #[test]
    fn ids_names_and_stamps_outside_their_alphabet_are_refused() {
        for bad in ["", "%", "1", "$1", "%1;", "%1.0"] {
            assert!(check_pane(&PaneId(bad.to_owned())).is_err(), "{bad}");
        }
        for bad in ["", "-x", "_x", "a.b", "a:b", "#(x)", "=a", "a b", "ü"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        let stamp = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
        assert!(check_stamp(&stamp("dir", "/a-b_c.d,e:f=g%20+")).is_ok());
        assert!(check_stamp(&stamp("dir", "a|b")).is_err());
        assert!(check_stamp(&stamp("dir", "#(x)")).is_err());
        assert!(check_stamp(&stamp("other", "x")).is_err());
    }
}
