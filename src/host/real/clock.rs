//! Time, and the signals an operator stops farhelm with.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::time::{ClockId, clock_gettime};
use tokio::signal::unix::{SignalKind, signal};

use super::Machine;
use super::command::wait_on;
use crate::host::clock::{Clock, Interrupt, Moment};

impl Clock for Machine {
    fn now(&self) -> Moment {
        now()
    }

    fn sleep(&self, time: Duration) {
        self.signals.sleep(time);
    }

    fn interrupt(&self) -> Interrupt {
        self.signals.interrupt()
    }
}

/// What is said when the third signal ends farhelm.
const LEFT: &str = "interrupted three times: left at once; the next `farhelm apply` goes on from what is half done";

/// The exit code of an interrupted verb.
const INTERRUPTED: i32 = 130;

/// The present moment.
pub(in crate::host) fn now() -> Moment {
    let millis = |id| {
        let time = clock_gettime(id);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    };
    Moment { boot_ms: u64::try_from(millis(ClockId::Boottime)).unwrap_or(0), wall_ms: millis(ClockId::Realtime) }
}

/// SIGINT and SIGTERM, counted.
#[derive(Debug)]
pub(super) struct Signals {
    heard: Option<Arc<Heard>>,
    /// How many the rest of the program has been told of: a sleep ends for news, not for what is known.
    told: AtomicU8,
}

#[derive(Debug)]
struct Heard {
    count: AtomicU8,
    /// Readable for ever once the first, the second signal came.
    marks: [OwnedFd; 2],
}

impl Signals {
    /// Leaves both signals at what they do by themselves.
    pub(super) fn ignored() -> Self {
        Self { heard: None, told: AtomicU8::new(0) }
    }

    /// Takes both signals over, for the rest of this process's life. The third of them ends it.
    pub(super) fn listen() -> io::Result<Self> {
        let mark = || eventfd(0, EventfdFlags::CLOEXEC);
        let heard = Arc::new(Heard { count: AtomicU8::new(0), marks: [mark()?, mark()?] });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (mut interrupt, mut terminate) = {
            let _inside = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let shared = Arc::clone(&heard);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                for mark in &shared.marks {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                    shared.count.fetch_add(1, Ordering::SeqCst);
                    // An eventfd takes this unless it is closed; the count above is what decides.
                    let _ = rustix::io::write(mark, &1_u64.to_ne_bytes());
                }
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                let _ = writeln!(io::stderr(), "{LEFT}");
                // As good as a kill, which every pass is made for: nothing is unwound that could wait again.
                std::process::exit(INTERRUPTED);
            });
        })?;
        Ok(Self { heard: Some(heard), told: AtomicU8::new(0) })
    }

    pub(super) fn interrupt(&self) -> Interrupt {
        let count = self.heard.as_ref().map_or(0, |heard| heard.count.load(Ordering::SeqCst));
        self.told.fetch_max(count, Ordering::SeqCst);
        match count {
            0 => Interrupt::None,
            1 => Interrupt::Finish,
            _ => Interrupt::Abandon,
        }
    }

    /// What becomes readable at the second signal.
    pub(super) fn abandon_mark(&self) -> Option<&OwnedFd> {
        self.heard.as_ref().map(|heard| &heard.marks[1])
    }

    /// What becomes readable at the next signal that the rest of the program has not been told of.
    pub(super) fn next_mark(&self) -> Option<&OwnedFd> {
        self.heard.as_ref()?.marks.get(usize::from(self.told.load(Ordering::SeqCst)))
    }

    fn sleep(&self, time: Duration) {
        let end = Instant::now() + time;
        let Some(mark) = self.next_mark() else {
            return std::thread::sleep(time);
        };
        loop {
            let mut fds = [PollFd::new(mark, PollFlags::IN)];
            let left = end.saturating_duration_since(Instant::now());
            let _ = wait_on(&mut fds, left);
            if !fds[0].revents().is_empty() || left.is_zero() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signals are per process, and so a child process is what gets interrupted: this very test program again.
    const CHILD: &str = "FARHELM_TEST_INTERRUPTED_CHILD";

    #[test]
    fn the_clocks_advance_together() {
        let before = now();
        Signals::ignored().sleep(Duration::from_millis(20));
        let after = now();
        assert!(after.since(&before) >= Duration::from_millis(19));
        assert!(after.wall_ms > 1_700_000_000_000);
    }

    #[test]
    fn the_first_signal_finishes_the_second_abandons_and_the_third_ends_the_process() {
        if std::env::var_os(CHILD).is_some() {
            return interrupted_child();
        }
        let own = std::env::current_exe().unwrap();
        let name =
            "host::real::clock::tests::the_first_signal_finishes_the_second_abandons_and_the_third_ends_the_process";
        let output =
            std::process::Command::new(own).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{words}");
        assert!(words.contains(LEFT), "{words}");
    }

    fn interrupted_child() {
        let signals = Signals::listen().unwrap();
        let own = rustix::process::getpid();
        assert_eq!(signals.interrupt(), Interrupt::None);
        for (kind, expected) in
            [(rustix::process::Signal::INT, Interrupt::Finish), (rustix::process::Signal::TERM, Interrupt::Abandon)]
        {
            let begun = Instant::now();
            rustix::process::kill_process(own, kind).unwrap();
            signals.sleep(Duration::from_secs(60));
            assert!(begun.elapsed() < Duration::from_secs(30));
            assert_eq!(signals.interrupt(), expected);
        }
        let begun = Instant::now();
        signals.sleep(Duration::from_millis(30));
        assert!(begun.elapsed() >= Duration::from_millis(30), "a known interrupt must not make sleeping a busy loop");
        rustix::process::kill_process(own, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(Duration::from_secs(30));
        panic!("the third signal was not heard");
    }
}
