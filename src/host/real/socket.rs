//! A Unix socket for programs of this user: frames of one line each, bounded, from peers whose account is known.
//!
//! The kernel says who is at the other end (`SO_PEERCRED`); the path is reached through its directory's descriptor,
//! because a socket's address has room for 107 bytes only.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;

/// The longest line a peer may send, in bytes: a prompt of the largest size, escaped.
pub const MAX_REQUEST: usize = 1 << 20;
/// The longest line that is read of an answer, in bytes: the status of some thousand sessions.
pub const MAX_ANSWER: usize = 8 << 20;
/// Answers that wait for a peer that does not read; it is dropped when there are more, in bytes.
const MAX_WAITING: usize = 16 << 20;

/// A path as an address: short, however long the path is. The descriptor must stay open while it is used.
///
/// # Errors
/// When its directory cannot be opened.
pub fn address(path: &Path) -> io::Result<(File, PathBuf)> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no path of a socket"));
    };
    let dir = File::open(dir)?;
    let short = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name);
    Ok((dir, short))
}

/// The process at the other end, when it is this user's.
fn peer(stream: &UnixStream) -> io::Result<i32> {
    let peer = socket_peercred(stream)?;
    if peer.uid == rustix::process::geteuid() {
        Ok(peer.pid.as_raw_nonzero().get())
    } else {
        let words = format!("the process at the other end is user {}'s", peer.uid.as_raw());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, words))
    }
}

/// Takes the first line of what was read, when it is complete.
fn first_line(input: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    let rest = input.split_off(end + 1);
    let mut line = std::mem::replace(input, rest);
    line.pop();
    Some(line)
}

/// The listening end. Its path is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Listens at `path`, for this user alone. What is there is replaced: the caller knows that nobody listens to it.
    ///
    /// # Errors
    /// When there can be no socket.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let aside = path.with_extension(format!("sock.{}", std::process::id()));
        let (_dir, short) = address(&aside)?;
        let _ = std::fs::remove_file(&aside);
        let listener = UnixListener::bind(&short)?;
        listener.set_nonblocking(true)?;
        // Nobody can connect before it has its own rights and its own name.
        std::fs::set_permissions(&short, Permissions::from_mode(0o600))?;
        std::fs::rename(&aside, path)?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Those who called since, as many as `most` of them; the others wait. Strangers are turned away.
    #[must_use]
    pub fn accept(&self, most: usize) -> Vec<Peer> {
        let mut peers = Vec::new();
        for _ in 0..most {
            let Ok((stream, _)) = self.listener.accept() else { break };
            let known = peer(&stream).and_then(|pid| stream.set_nonblocking(true).map(|()| pid));
            peers.extend(known.ok().map(|pid| Peer { stream, pid, input: Vec::new(), output: Vec::new() }));
        }
        peers
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// One who called. Nothing here ever waits.
#[derive(Debug)]
pub struct Peer {
    stream: UnixStream,
    /// Its process.
    pub pid: i32,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// A peer that is no more, or that does not keep to what was agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Hangup {
    /// It is gone.
    #[error("it hung up")]
    Gone,
    /// It sent a line longer than [`MAX_REQUEST`].
    #[error("its request is longer than {MAX_REQUEST} bytes")]
    TooLong,
    /// It does not read its answers.
    #[error("it does not read its answers")]
    Deaf,
}

impl Peer {
    /// The next line it sent, if one is complete.
    ///
    /// # Errors
    /// [`Hangup`].
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, Hangup> {
        loop {
            if let Some(line) = first_line(&mut self.input) {
                return Ok(Some(line));
            }
            if self.input.len() > MAX_REQUEST {
                return Err(Hangup::TooLong);
            }
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(Hangup::Gone),
                Ok(read) => self.input.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(_) => return Err(Hangup::Gone),
            }
        }
    }

    /// Whether a complete line was read and not taken yet: nothing more need come for it to be heard.
    #[must_use]
    pub fn has_line(&self) -> bool {
        self.input.contains(&b'\n')
    }

    /// Answers with a line, as far as the peer reads; the rest waits for [`Self::flush`].
    ///
    /// # Errors
    /// [`Hangup`].
    pub fn say(&mut self, line: &[u8]) -> Result<(), Hangup> {
        if self.output.len() + line.len() > MAX_WAITING {
            return Err(Hangup::Deaf);
        }
        self.output.extend_from_slice(line);
        self.output.push(b'\n');
        self.flush()
    }

    /// Sends what waits, as far as the peer reads.
    ///
    /// # Errors
    /// [`Hangup`].
    pub fn flush(&mut self) -> Result<(), Hangup> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(0) => return Err(Hangup::Gone),
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Hangup::Gone),
            }
        }
        Ok(())
    }

    /// Whether something waits to be sent.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.output.is_empty()
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The calling end.
#[derive(Debug)]
pub struct Call {
    stream: UnixStream,
    input: Vec<u8>,
}

impl Call {
    /// Calls whoever listens at `path`, if it is a process of this user.
    ///
    /// # Errors
    /// When nobody listens, or a stranger does.
    pub fn to(path: &Path) -> io::Result<Self> {
        let (_dir, short) = address(path)?;
        let stream = UnixStream::connect(short)?;
        peer(&stream)?;
        Ok(Self { stream, input: Vec::new() })
    }

    /// Sends a line.
    ///
    /// # Errors
    /// When the other end is gone.
    pub fn say(&mut self, line: &[u8]) -> io::Result<()> {
        self.stream.write_all(&[line, b"\n"].concat())
    }

    /// The next line, waited for up to `patience`; none when that is over, or when a signal came.
    ///
    /// # Errors
    /// When the other end is gone, or sends more than [`MAX_ANSWER`] in one line.
    pub fn line(&mut self, patience: Duration) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = first_line(&mut self.input) {
                return Ok(Some(line));
            }
            if self.input.len() > MAX_ANSWER {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is too long"));
            }
            // A time of zero would mean none.
            self.stream.set_read_timeout(Some(patience.max(Duration::from_millis(1))))?;
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.input.extend_from_slice(&chunk[..read]),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                    ) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
