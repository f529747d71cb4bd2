//! Foreign text as a terminal may show it.

/// `text` with everything made visible that could drive a terminal or fake a line: control characters, line and
/// paragraph separators, and marks that reorder or hide text.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmful(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// As [`visible`], of at most `limit` characters of `text`.
#[must_use]
pub fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => visible(text),
        Some(_) => {
            let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
            visible(&kept) + "…"
        }
    }
}

fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_shown_instead() {
        assert_eq!(visible("a\u{1b}[2Jb\r\n\u{202e}c\u{2028}"), r"a\u{1b}[2Jb\u{d}\u{a}\u{202e}c\u{2028}");
        assert_eq!(visible("straße ✓"), "straße ✓");
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        assert_eq!(shortened("äbc", 3), "äbc");
        assert_eq!(shortened("ä\u{1b}cd", 3), "ä\\u{1b}…");
    }
}
