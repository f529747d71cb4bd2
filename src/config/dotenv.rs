//! `NAME=value` lines, as env files and secret commands give them.
//!
//! Blank lines and lines that begin with `#` are skipped; `export ` is allowed. A value is bare (to the end of the
//! line or ` #`, blanks around it cut), in single quotes (as it stands) or in double quotes (`\n`, `\t`, `\"`, `\\`,
//! `\$`). Quoted values may span lines. Nothing is expanded.

/// Why lines cannot be read. Holds no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {words}")]
pub struct DotenvError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub words: &'static str,
}

/// The variables of `text`, in order; of a repeated name the last counts.
///
/// # Errors
/// The first line that is none.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, DotenvError> {
    let mut found = Vec::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = |rest: &str| text[..text.len() - rest.len()].matches('\n').count() + 1;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(found);
        }
        if rest.starts_with('#') {
            rest = behind_line(rest);
            continue;
        }
        let at = line(rest);
        let fail = |words| DotenvError { line: at, words };
        let body =
            rest.strip_prefix("export").filter(|body| body.starts_with([' ', '\t'])).unwrap_or(rest).trim_start();
        let length = body.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(body.len());
        let (name, body) = body.split_at(length);
        let body = body.trim_start_matches([' ', '\t']).strip_prefix('=');
        if !is_variable(name) {
            return Err(fail("a line is NAME=value, the name of letters, digits and `_`"));
        }
        let body = body.ok_or_else(|| fail("there is no `=` behind the name"))?.trim_start_matches([' ', '\t']);
        let (value, behind) = value(body).ok_or_else(|| fail("a quote is not closed"))?;
        if value.contains('\0') {
            return Err(fail("a value cannot hold a NUL"));
        }
        let tail = behind.split('\n').next().unwrap_or_default().trim();
        if !tail.is_empty() && !tail.starts_with('#') {
            return Err(fail("something follows the closing quote"));
        }
        found.push((name.to_owned(), value));
        rest = behind_line(behind);
    }
}

/// A name that an environment variable may have.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn behind_line(text: &str) -> &str {
    text.find('\n').map_or("", |end| &text[end + 1..])
}

/// A value and what is behind it.
fn value(text: &str) -> Option<(String, &str)> {
    if let Some(text) = text.strip_prefix('\'') {
        let (value, behind) = text.split_once('\'')?;
        return Some((value.to_owned(), behind));
    }
    if let Some(text) = text.strip_prefix('"') {
        return quoted(text);
    }
    let line = text.split('\n').next().unwrap_or_default();
    let comment = if line.starts_with('#') { Some(0) } else { line.find(" #").or_else(|| line.find("\t#")) };
    let value = line[..comment.unwrap_or(line.len())].trim_end();
    Some((value.to_owned(), &text[line.len()..]))
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                c @ ('"' | '\\' | '$' | '`') => value.push(c),
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([A-Z=\"'\\\\# \nöé]|export ){0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_value_survives_double_quotes(value in "\\PC{0,20}") {
            let text = format!("A=\"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\""));
            prop_assert_eq!(parse(&text).unwrap(), [("A".to_owned(), value)]);
        }
    }

    #[test]
    fn quotes_keep_what_is_in_them_over_lines_too() {
        let text = "\u{feff}A='$x \\n # \"'\nexport\tB=\"l1\nl\\n\\\"2\\$\" # end\nC=\"\"\nD='é'";
        let pairs = [("A", "$x \\n # \""), ("B", "l1\nl\n\"2$"), ("C", ""), ("D", "é")];
        assert_eq!(parse(text).unwrap(), pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn lines_give_names_and_values_and_nothing_is_expanded() {
        let text =
            "# head\nA=1\n export B = two words # note\n\nC='x # $Y'\nD=\"a\\n\\\"b\\\"\nc\"\nE=\nF=a#b\r\nG=#c\n";
        let read: Vec<_> = parse(text).unwrap();
        let read: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected =
            [("A", "1"), ("B", "two words"), ("C", "x # $Y"), ("D", "a\n\"b\"\nc"), ("E", ""), ("F", "a#b"), ("G", "")];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_bad_line_is_named_by_number_and_never_shown() {
        for (text, line) in
            [("A=1\nsecret\n", 2), ("=x", 1), ("1A=x", 1), ("A='x\ny", 1), ("\n\nA=\"x\" y", 3), ("A B=c", 1)]
        {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}
