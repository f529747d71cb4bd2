//! One simple command as a shell reads it, and nothing that is more than that.

/// The words of `script` when it is one simple command: no operator, no substitution, no comment, no second line.
/// `None` for anything else, and for what a shell would wait to see the end of.
pub(super) fn simple_command(script: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = script.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => quoted(&mut rest, word.get_or_insert_default())?,
            '"' => double_quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(rest.next().filter(|next| *next != '\n')?),
            ';' | '&' | '|' | '(' | ')' | '<' | '>' | '$' | '!' | '#' | '`' | '\n' | '\r' => return None,
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

fn quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '\'' => return Some(()),
            other => word.push(other),
        }
    }
}

fn double_quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '$' | '`' => return None,
            '\\' => match rest.next()? {
                '$' | '`' => return None,
                '\n' => {}
                same @ ('"' | '\\') => word.push(same),
                other => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_taken_apart_as_a_shell_does() {
        for (script, words) in [
            ("a b  c\t", &["a", "b", "c"][..]),
            (r"'/opt/my dir/x' internal", &["/opt/my dir/x", "internal"]),
            (r"'o'\''p' ''", &["o'p", ""]),
            (r#""a b"c "\"\\\d""#, &["a bc", r#""\\d"#]),
            (r"a\ b", &["a b"]),
            ("'$x' '`' ';' '#'", &["$x", "`", ";", "#"]),
            ("", &[]),
        ] {
            assert_eq!(simple_command(script).unwrap(), words, "{script}");
        }
    }

    #[test]
    fn more_than_one_simple_command_is_none() {
        for script in [
            "a; b",
            "a&",
            "a | b",
            "(a)",
            "a <x",
            "a >x",
            "a $x",
            "a \"$x\"",
            "a \"`x`\"",
            "a `x`",
            "! a",
            "a # b",
            "a\nb",
            "a \\\n b",
            "a \"\\$x\"",
            "'a",
            "\"a",
            "a\\",
            "a\r",
        ] {
            assert_eq!(simple_command(script), None, "{script:?}");
        }
    }

    proptest! {
        #[test]
        fn any_words_that_are_quoted_come_back(words in proptest::collection::vec("\\PC{0,12}", 1..5)) {
            let script: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
            prop_assert_eq!(simple_command(&script.join(" ")), Some(words));
        }

        #[test]
        fn no_script_makes_it_panic(script in any::<String>()) {
            let _ = simple_command(&script);
        }
    }
}
