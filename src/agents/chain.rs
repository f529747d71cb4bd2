//! Whether a report comes from the agent of a terminal: the processes between its hook and the terminal's own.
//!
//! Pure: the ancestry was read by the hook, while all of it was alive. An agent that is nested in another, or delegated
//! to, inherits the session's credentials; what tells it from the session's own agent is where it stands.

use std::fmt;

use crate::host::process::ProcessKey;
use crate::state::reports::{Link, WalkEnd};

use super::kind::base_name;
use super::kind::reports::ChainRule;

mod words;

/// Why an ancestry proves nothing, or proves a reporter to be somebody else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// The terminal's process is not in it.
    #[error("its process is not below the session's terminal{}", cut(*.0))]
    Elsewhere(WalkEnd),
    /// Two links do not follow one another.
    #[error("its ancestry has a gap above {0}: a process ended while it was read")]
    Gap(ProcessKey),
    /// The first link is no hook of ours.
    #[error("it does not begin with farhelm's hook")]
    NoHook,
    /// Only shells that run the hook: the agent is not there.
    #[error("no agent is between the hook and the terminal")]
    NoAgent,
    /// The reporter is neither the terminal's process nor its child.
    #[error("{0} reported, which is neither the terminal's process nor its direct child")]
    TooDeep(Named),
    /// The reporter runs the same program as the terminal, as its child.
    #[error("{0} reported, which was started by the terminal's own agent")]
    Nested(Named),
    /// No native program of the kind.
    #[error("no native `{0}` is between the hook and the terminal")]
    NoNative(String),
    /// More than one.
    #[error("{count} native `{program}` are between the hook and the terminal: one was started by another")]
    SeveralNatives {
        /// The kind's program.
        program: String,
        /// How many.
        count: usize,
    },
    /// A process that has no business there.
    #[error("{0} stands between the hook and the terminal")]
    Intermediary(Named),
}

/// A process as words name it: `node (pid 12)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named(String);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn named(link: &Link) -> Named {
    Named(format!("`{}` ({})", program(link).unwrap_or(&link.comm), link.process))
}

fn cut(ended: WalkEnd) -> &'static str {
    match ended {
        WalkEnd::Pane | WalkEnd::Top => "",
        WalkEnd::Limit => ", as far as its ancestry was followed",
        WalkEnd::Unreadable => ", as far as its ancestry could be read",
    }
}

impl ChainFault {
    /// Its code, for the hook log.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Elsewhere(WalkEnd::Pane | WalkEnd::Top) => "not-below-terminal",
            Self::Elsewhere(WalkEnd::Limit) => "ancestry-too-long",
            Self::Elsewhere(WalkEnd::Unreadable) => "ancestry-unreadable",
            Self::Gap(_) => "ancestry-gap",
            Self::NoHook => "no-hook",
            Self::NoAgent => "no-agent",
            Self::TooDeep(_) => "too-deep",
            Self::Nested(_) => "nested",
            Self::NoNative(_) => "no-native",
            Self::SeveralNatives { .. } => "several-natives",
            Self::Intermediary(_) => "intermediary",
        }
    }
}

/// Whether `argv` is farhelm's hook.
#[must_use]
pub fn is_hook<T: AsRef<str>>(argv: &[T]) -> bool {
    matches!(argv, [_, verb, hook, ..] if verb.as_ref() == "internal" && hook.as_ref() == "hook")
}

/// Whether `argv` is a shell that does nothing but run the hook: `sh -c '<farhelm> internal hook …'`. Not of zsh, which
/// reads files of its user even then.
#[must_use]
pub fn is_trampoline(argv: &[String]) -> bool {
    let [shell, flag, script] = argv else { return false };
    let known = matches!(base_name(shell), "sh" | "bash" | "dash");
    known && flag == "-c" && words::simple_command(script).is_some_and(|words| is_hook(&words))
}

/// The nearest process above the hook that is no trampoline: the one that reports.
#[must_use]
pub fn reporter(ancestry: &[Link]) -> Option<&Link> {
    ancestry.iter().skip(1).find(|link| !passes(link))
}

fn passes(link: &Link) -> bool {
    link.argv.as_deref().is_some_and(is_trampoline)
}

/// The part of an ancestry from the hook to the terminal's process `pane`, both included.
///
/// # Errors
/// [`ChainFault`] when it is not below that process, or was not read in one piece.
pub fn below(ancestry: &[Link], ended: WalkEnd, pane: ProcessKey) -> Result<&[Link], ChainFault> {
    let at = ancestry.iter().position(|link| link.process == pane).ok_or(ChainFault::Elsewhere(ended))?;
    let chain = &ancestry[..=at];
    match chain.windows(2).find(|pair| pair[0].parent != pair[1].process.pid) {
        Some(pair) => Err(ChainFault::Gap(pair[0].process)),
        None => Ok(chain),
    }
}

/// Whether `chain`, as [`below`] gives it, is one of the kind's own agent. `programs` are the kind's executables.
///
/// # Errors
/// [`ChainFault`].
pub fn check(rule: ChainRule, programs: &[String], chain: &[Link]) -> Result<(), ChainFault> {
    let Some((hook, above)) = chain.split_first() else { return Err(ChainFault::NoHook) };
    if !hook.argv.as_deref().is_some_and(is_hook) {
        return Err(ChainFault::NoHook);
    }
    match rule {
        ChainRule::NearTerminal => near(above).map(|_| ()),
        ChainRule::NearTerminalOutermost => outermost(above),
        ChainRule::OneNative => one_native(programs, above),
    }
}

/// The reporter, when it is the terminal's process (the last link) or its direct child.
fn near(above: &[Link]) -> Result<&Link, ChainFault> {
    let at = above.iter().position(|link| !passes(link)).ok_or(ChainFault::NoAgent)?;
    let reporter = &above[at];
    if at + 2 >= above.len() { Ok(reporter) } else { Err(ChainFault::TooDeep(named(reporter))) }
}

fn outermost(above: &[Link]) -> Result<(), ChainFault> {
    let reporter = near(above)?;
    let Some(pane) = above.last() else { return Err(ChainFault::NoAgent) };
    let same = pane.process != reporter.process && pane.exe.is_some() && pane.exe == reporter.exe;
    if same { Err(ChainFault::Nested(named(reporter))) } else { Ok(()) }
}

fn one_native(programs: &[String], above: &[Link]) -> Result<(), ChainFault> {
    let is_native = |link: &Link| program(link).is_some_and(|name| programs.iter().any(|known| known == name));
    let usual = || programs.first().cloned().unwrap_or_default();
    match above.iter().filter(|link| is_native(link)).count() {
        0 => return Err(ChainFault::NoNative(usual())),
        1 => {}
        count => return Err(ChainFault::SeveralNatives { program: usual(), count }),
    }
    // The terminal's own process, the last, may be anything: a wrapper, or Node under an older version of it.
    let between = above.split_last().map_or(&[][..], |(_, between)| between);
    match between.iter().find(|link| !is_native(link) && !passes(link)) {
        Some(link) => Err(ChainFault::Intermediary(named(link))),
        None => Ok(()),
    }
}

/// The base name of a process's program. The kernel marks one that was replaced while it runs, by an upgrade say.
fn program(link: &Link) -> Option<&str> {
    let exe = link.exe.as_deref()?;
    Some(base_name(exe.strip_suffix(" (deleted)").unwrap_or(exe)))
}

#[cfg(test)]
mod tests;
