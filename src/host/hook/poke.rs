//! Telling a supervisor, if there is one, that there is a report to judge.

use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with};

use super::credentials::Credentials;
use crate::host::real::socket::address;

/// Says `report <session>` on the supervisor's socket, without ever waiting. Nobody listens more often than not.
pub(super) fn poke(credentials: &Credentials) {
    let say = || -> std::io::Result<()> {
        let (_dir, path) = address(&credentials.socket)?;
        let address = SocketAddrUnix::new(&path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &address)?;
        let line = format!("report {}\n", credentials.session);
        send(&socket, line.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        Ok(())
    };
    let _ = say();
}
