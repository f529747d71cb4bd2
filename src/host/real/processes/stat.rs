//! `/proc/PID/stat`.

use std::fs::File;
use std::io::{self, Read};

use super::is_gone;
use crate::host::process::{Pid, Process, ProcessKey};

/// `PF_KTHREAD` of the flags field.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// More than the longest line, in bytes: 52 numbers of at most 20 digits, and a name of 64 bytes at most.
const LINE: usize = 2048;

/// The fields farhelm reads, as `proc_pid_stat(5)` numbers them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat {
    /// 1.
    pid: Pid,
    /// 2, without its parentheses.
    comm: String,
    /// 3.
    state: u8,
    /// 4.
    parent: Pid,
    /// 9.
    flags: u64,
    /// 20.
    threads: u64,
    /// 22, in clock ticks since boot.
    pub(super) start: u64,
    /// 24, in pages.
    resident: u64,
}

impl Stat {
    /// Reads a process's line; `None` when there is no such process.
    pub(super) fn read(pid: Pid) -> io::Result<Option<Self>> {
        // The kernel gives the whole line at once, and the table has one of every process: three calls each.
        let mut line = [0; LINE];
        let read = match File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)) {
            Ok(read) => read,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let parsed = Self::parse(&line[..read]).filter(|stat| stat.pid == pid);
        parsed.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a line of process status"))
    }

    /// Parses the line. The name may hold anything, `)` and newlines too; it ends at the last `)`.
    fn parse(line: &[u8]) -> Option<Self> {
        let open = line.iter().position(|b| *b == b'(')?;
        let close = line.iter().rposition(|b| *b == b')')?;
        let pid = std::str::from_utf8(line.get(..open)?).ok()?.trim().parse().ok()?;
        let comm = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
        let rest: Vec<&str> = std::str::from_utf8(line.get(close + 1..)?).ok()?.split_ascii_whitespace().collect();
        // The first of the rest is field 3.
        let field = |number: usize| rest.get(number - 3).copied();
        let count = |number| field(number)?.parse().ok();
        Some(Self {
            pid,
            comm,
            state: *field(3)?.as_bytes().first()?,
            parent: field(4)?.parse().ok()?,
            flags: count(9)?,
            threads: count(20)?,
            start: count(22)?,
            // Negative for a moment on some kernels.
            resident: count(24).unwrap_or(0),
        })
    }

    /// Whether it runs nothing any more. A leader whose other threads go on shows Z too, and is alive.
    pub(super) fn dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    /// Whether it is the kernel's own.
    pub(super) fn kernel_thread(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }

    /// The row of the table, with `page` bytes a page.
    pub(super) fn into_process(self, page: u64) -> Process {
        Process {
            key: ProcessKey { pid: self.pid, start: self.start },
            parent: self.parent,
            dead: self.dead(),
            memory: self.resident.saturating_mul(page),
            comm: self.comm,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(comm: &str, state: char, threads: u32) -> Vec<u8> {
        let tail = format!("0 0 20 0 {threads} 0 123456 1000 7 18446744073709551615 1 1 0");
        format!("4711 ({comm}) {state} 99 4711 4711 0 -1 4194304 1 0 0 0 5 6 {tail}").into_bytes()
    }

    #[test]
    fn the_fields_are_found() {
        let process = Stat::parse(&line("sleep", 'S', 1)).unwrap().into_process(4096);
        assert_eq!(process.key, ProcessKey { pid: 4711, start: 123_456 });
        assert_eq!((process.parent, process.dead, process.memory), (99, false, 7 * 4096));
        assert_eq!(process.comm, "sleep");
    }

    #[test]
    fn a_zombie_is_dead_but_a_leader_without_its_first_thread_is_not() {
        assert!(Stat::parse(&line("x", 'Z', 1)).unwrap().dead());
        assert!(!Stat::parse(&line("x", 'Z', 3)).unwrap().dead());
    }

    #[test]
    fn a_cut_line_is_refused() {
        let whole = line("x", 'S', 1);
        assert_eq!(Stat::parse(&whole[..40]), None);
        assert_eq!(Stat::parse(b""), None);
        assert_eq!(Stat::parse(b")("), None);
    }

    proptest! {
        #[test]
        fn any_name_is_taken_apart(comm in "[\\PC\n() ]{0,15}") {
            let stat = Stat::parse(&line(&comm, 'R', 1)).unwrap();
            prop_assert_eq!((stat.comm, stat.parent, stat.start), (comm, 99, 123_456));
        }

        #[test]
        fn no_input_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Stat::parse(&bytes);
        }
    }
}
