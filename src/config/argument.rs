//! Words of commands that farhelm gives a meaning.

/// The slot of the directory.
pub const CWD: &str = "{cwd}";
/// The slot of the conversation.
pub const CONVERSATION: &str = "{conversation}";

/// A program's name without its directory.
#[must_use]
pub fn basename(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}
