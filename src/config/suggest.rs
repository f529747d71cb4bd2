//! "Did you mean": the nearest of the words that would have been right.

/// The candidate nearest to `word`, when it is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let close = |length: usize| (length / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= close(candidate.len().max(word.len())))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean …?", when something is near enough.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// Words as a sentence lists them: "`a`, `b` or `c`".
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>, last: &str) -> String {
    let mut quoted: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match quoted.pop() {
        Some(only) if quoted.is_empty() => only,
        Some(end) => format!("{} {last} {end}", quoted.join(", ")),
        None => String::new(),
    }
}

/// Edits from one word to another; two neighbours swapped are one. Words longer than 40 bytes are never near.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() > 40 || b.len() > 40 {
        return usize::MAX;
    }
    let mut rows: [Vec<usize>; 3] = [vec![0; b.len() + 1], (0..=b.len()).collect(), vec![0; b.len() + 1]];
    for (i, x) in a.iter().enumerate() {
        rows[2][0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let mut best = (rows[1][j] + usize::from(x != y)).min(rows[1][j + 1] + 1).min(rows[2][j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(rows[0][j - 1] + 1);
            }
            rows[2][j + 1] = best;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_neighbour_and_a_strange_one_finds_none() {
        let words = ["never", "on-failure", "always", "dir", "prompt"];
        for (typed, meant) in [("alwasy", "always"), ("on_failure", "on-failure"), ("promt", "prompt"), ("Dir", "dir")]
        {
            assert_eq!(nearest(typed, words), Some(meant));
        }
        for strange in ["", "xyz", "environment", "a"] {
            assert_eq!(nearest(strange, words), None, "{strange}");
        }
        assert_eq!(listed(["a", "b", "c"], "or"), "`a`, `b` or `c`");
    }
}
