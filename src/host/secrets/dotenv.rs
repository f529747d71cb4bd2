//! The dotenv format: `NAME=value` lines.
//!
//! `export` before a name, blank lines and `#` comments are allowed. A value stands as it is, without the spaces around
//! it and without a ` # comment`; or in single quotes, literally; or in double quotes, where `\n`, `\t`, `\r`, `\"`,
//! `\\` and `\$` are escapes. Quoted values may span lines. Nothing is expanded.

/// A line that is not of the format. Says nothing of what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no dotenv: {what}")]
pub struct DotenvError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: Fault,
}

/// What can be wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No `=`.
    #[error("it has no `=`")]
    NoEquals,
    /// No name before it.
    #[error("what stands before `=` is no variable name")]
    BadName,
    /// A quote is open at the end of the text.
    #[error("its quote is never closed")]
    OpenQuote,
    /// Something follows a closing quote.
    #[error("something follows the closing quote")]
    AfterQuote,
}

/// The variables of `text`, in order. A later one of the same name is meant to win.
///
/// # Errors
/// The first [`DotenvError`].
pub fn parse(text: &str) -> Result<Vec<(String, String)>, DotenvError> {
    let mut variables = Vec::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 1;
    while !rest.is_empty() {
        let (first, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let bare = first.trim();
        if bare.is_empty() || bare.starts_with('#') {
            rest = after;
            line += 1;
            continue;
        }
        let fail = |what| DotenvError { line, what };
        let (name, _) = first.split_once('=').ok_or(fail(Fault::NoEquals))?;
        let value = rest[name.len() + 1..].trim_start_matches([' ', '\t']);
        let name = variable(name).ok_or(fail(Fault::BadName))?;
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(&value[1..], quote).map_err(fail)?,
            _ => unquoted(value),
        };
        variables.push((name.to_owned(), value));
        line += rest[..rest.len() - after.len()].matches('\n').count();
        rest = after;
    }
    Ok(variables)
}

fn variable(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = text.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t'])).map_or(text, str::trim);
    let good =
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.starts_with(|c: char| c.is_ascii_digit());
    (good && !name.is_empty()).then_some(name)
}

/// The value up to the end of the line, and what follows that.
fn unquoted(text: &str) -> (String, &str) {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let comment = line.char_indices().zip(std::iter::once(' ').chain(line.chars()));
    let end = comment
        .into_iter()
        .find(|((_, c), before)| *c == '#' && before.is_whitespace())
        .map_or(line.len(), |((at, _), _)| at);
    (line[..end].trim_end().to_owned(), after)
}

/// The value up to the closing quote, and what follows its line.
fn quoted(text: &str, quote: char) -> Result<(String, &str), Fault> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            let (tail, after) = text[at + 1..].split_once('\n').unwrap_or((&text[at + 1..], ""));
            let tail = tail.trim();
            return if tail.is_empty() || tail.starts_with('#') { Ok((value, after)) } else { Err(Fault::AfterQuote) };
        }
        if c != '\\' || quote == '\'' {
            value.push(c);
            continue;
        }
        match chars.next().ok_or(Fault::OpenQuote)?.1 {
            'n' => value.push('\n'),
            't' => value.push('\t'),
            'r' => value.push('\r'),
            c @ ('"' | '\\' | '$') => value.push(c),
            other => value.extend(['\\', other]),
        }
    }
    Err(Fault::OpenQuote)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn reads(text: &str, expected: &[(&str, &str)]) {
        let found = parse(text).unwrap();
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn plain_values_lose_the_spaces_and_the_comment_around_them() {
        reads(
            "A=1\n\n# no\n export B = two words  # yes\r\nC=\nD=a#b\nE= # none",
            &[("A", "1"), ("B", "two words"), ("C", ""), ("D", "a#b"), ("E", "")],
        );
    }

    #[test]
    fn quotes_keep_what_is_in_them_over_lines_too() {
        reads(
            "A='$x \\n # \"'\nB=\"l1\nl\\n\\\"2\\$\" # end\nC=\"\"\nD='é'",
            &[("A", "$x \\n # \""), ("B", "l1\nl\n\"2$"), ("C", ""), ("D", "é")],
        );
    }

    #[test]
    fn a_bad_line_is_named_by_number_only() {
        let cases = [
            ("A='1\n2'\nhunter2", 3, Fault::NoEquals),
            ("1A=x", 1, Fault::BadName),
            ("=x", 1, Fault::BadName),
            ("\nA=\"x", 2, Fault::OpenQuote),
            ("A=\"x\\", 1, Fault::OpenQuote),
            ("A='x' y", 1, Fault::AfterQuote),
        ];
        for (text, line, what) in cases {
            assert_eq!(parse(text), Err(DotenvError { line, what }), "{text}");
        }
    }

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
}
