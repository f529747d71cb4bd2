//! Signals while the shim runs, and the agent's dispositions after it.
//!
//! An rc file may have left signals ignored (`trap '' HUP`, `nohup`), and ignored ones stay ignored across an exec: an
//! agent that cannot be hung up or interrupted. *Caught* ones go back to their default, so the shim catches them all;
//! the exec, and that of `before_launch`, then resets them. Catching also makes it immune to a stray hangup: tmux has
//! been seen to send one to a session that has only just begun.

use std::io::{self, IsTerminal};

use nix::sys::signal::Signal;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal as Caught, SignalKind, signal};

/// Never caught: two cannot be, the others report a fault of the instruction that is running.
const LEFT_ALONE: [Signal; 9] = [
    Signal::SIGKILL,
    Signal::SIGSTOP,
    Signal::SIGILL,
    Signal::SIGFPE,
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGTRAP,
    Signal::SIGSYS,
    Signal::SIGABRT,
];

/// Everything caught.
pub(super) struct Signals {
    pub(super) runtime: Runtime,
    pub(super) inbox: Inbox,
}

/// The signals that can end a launch.
pub(super) struct Inbox {
    terminate: Caught,
    interrupt: Caught,
    quit: Caught,
    hangup: Caught,
}

impl Signals {
    /// Catches everything that can be caught.
    pub(super) fn guard() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let inbox = runtime.block_on(async {
            for other in Signal::iterator().filter(|one| !LEFT_ALONE.contains(one)) {
                // Once caught, it stays so: the stream itself is not needed.
                drop(signal(SignalKind::from_raw(other as i32))?);
            }
            io::Result::Ok(Inbox {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                quit: signal(SignalKind::quit())?,
                hangup: signal(SignalKind::hangup())?,
            })
        })?;
        Ok(Self { runtime, inbox })
    }

    /// The signal that has asked for an end until now, if any.
    pub(super) fn ending(&mut self) -> Option<Signal> {
        let Self { runtime, inbox } = self;
        runtime.block_on(async {
            tokio::select! {
                biased;
                signal = inbox.ending() => Some(signal),
                // The runtime looks at what has arrived before it comes back to whoever yields.
                () = tokio::task::yield_now() => None,
            }
        })
    }
}

impl Inbox {
    /// Waits for a signal that asks for an end. A hangup does only where the terminal is really gone.
    pub(super) async fn ending(&mut self) -> Signal {
        loop {
            tokio::select! {
                Some(()) = self.terminate.recv() => return Signal::SIGTERM,
                Some(()) = self.interrupt.recv() => return Signal::SIGINT,
                Some(()) = self.quit.recv() => return Signal::SIGQUIT,
                Some(()) = self.hangup.recv() => if !io::stdin().is_terminal() { return Signal::SIGHUP },
                else => std::future::pending().await,
            }
        }
    }
}
