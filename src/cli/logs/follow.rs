//! What is new in a terminal between two looks. Pure.

/// The lines of `now` that `old` did not have: those after what is still there of it. Where lines changed in place (a
/// program that draws its screen), all from the first that did.
pub(super) fn fresh<'n>(old: &[String], now: &'n [String]) -> &'n [String] {
    let same = |from: usize| old[from..].iter().zip(now).take_while(|(old, now)| old == now).count();
    // Text moves up by as many lines as leave the most of it as it was.
    let most = (0..old.len()).map(same).max().unwrap_or(0);
    now.get(most..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[track_caller]
    fn check(old: &str, now: &str, new: &str) {
        assert_eq!(fresh(&lines(old), &lines(now)).concat(), new, "{old} -> {now}");
    }

    #[test]
    fn only_what_was_added_is_new() {
        check("", "abc", "abc");
        check("abc", "abc", "");
        check("abc", "abcde", "de");
        check("abc", "bcde", "de");
        check("abc", "cde", "de");
        check("abc", "xyz", "xyz");
        check("abc", "", "");
        check("aaa", "aaa", "");
    }

    #[test]
    fn what_changed_in_place_is_new_from_there_on() {
        check("abcd", "abXd", "Xd");
        check("abcd", "cdX", "X");
    }
}
