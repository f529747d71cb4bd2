//! What can go wrong in a simulated world, and how often.

/// How the file system of the state directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiskMode {
    /// Well.
    #[default]
    Well,
    /// No space left; removing works.
    Full,
    /// Read-only.
    ReadOnly,
}

/// How often, in a thousand, each thing goes wrong. [`Faults::default`] is a quiet machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// A call to tmux runs into its deadline, before or after its effect.
    pub tmux_timeout: u32,
    /// tmux refuses a call.
    pub tmux_fails: u32,
    /// The server dies in the middle of a batch that opens panes.
    pub tmux_dies: u32,
    /// tmux loses the exit status of a pane's process.
    pub status_lost: u32,
    /// The process table cannot be listed.
    pub table_fails: u32,
    /// The boot id cannot be read.
    pub boot_fails: u32,
    /// The state directory's file system.
    pub disk: DiskMode,
    /// A single file operation fails.
    pub disk_fails: u32,
    /// The lock is somebody else's.
    pub lock_busy: u32,
    /// A login shell never reaches the shim.
    pub shell_stuck: u32,
    /// A login shell dies before the shim.
    pub shell_dies: u32,
    /// `before_launch` fails.
    pub before_launch_fails: u32,
    /// The systemd user manager does not answer.
    pub scope_fails: u32,
    /// Programs that are started do not end by themselves: a quiet machine can be brought to rest.
    pub programs_last: bool,
    /// Longest time between a pane and its shim, in milliseconds.
    pub shim_ms: u64,
}

impl Faults {
    /// A machine without faults whose login shells take a usual time.
    #[must_use]
    pub fn none() -> Self {
        Self { shim_ms: 120, ..Self::default() }
    }
}
