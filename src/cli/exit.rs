//! Exit codes: the one place they are defined.

use std::process::ExitCode;

/// How farhelm ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, or nothing to do.
    Ok,
    /// 1: an error; nothing, or not all, was done.
    Error,
    /// 2, with `--detailed-exitcode`: changes.
    Changes,
    /// 3, with `--detailed-exitcode`: destructive changes.
    Destructive,
    /// 4, with `--detailed-exitcode`: something could not be observed.
    Unknown,
    /// 5: an apply finished, and some sessions failed.
    SomeFailed,
    /// 64: the command line was wrong.
    Usage,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::Changes => 2,
            Self::Destructive => 3,
            Self::Unknown => 4,
            Self::SomeFailed => 5,
            Self::Usage => 64,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
