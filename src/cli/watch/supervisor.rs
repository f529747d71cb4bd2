//! What systemd wants to hear of a service (`sd_notify`): that it is ready, how it is, that it lives, that it stops.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::Duration;

use crate::cli::context::Context;

/// The service manager, where there is one.
pub(super) struct Supervisor {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// It expects a sign of life within this time.
    patience: Option<Duration>,
    told: Option<String>,
}

impl Supervisor {
    /// The one that the environment names.
    pub(super) fn of(context: &Context) -> Self {
        let own = std::process::id().to_string();
        let meant = context.var("WATCHDOG_PID").is_none_or(|pid| pid == own);
        let limit = context.var("WATCHDOG_USEC").filter(|_| meant).and_then(|limit| limit.parse().ok());
        let socket = context.var("NOTIFY_SOCKET").and_then(address).zip(UnixDatagram::unbound().ok());
        Self {
            socket: socket.map(|(address, socket)| (socket, address)),
            patience: limit.map(|micros| Duration::from_micros(micros) / 2),
            told: None,
        }
    }

    /// How long may be waited before the next sign of life.
    pub(super) fn patience(&self, wanted: Duration) -> Duration {
        self.patience.filter(|_| self.socket.is_some()).map_or(wanted, |limit| limit.min(wanted))
    }

    /// A sign of life; the first one says that the fleet was looked at.
    pub(super) fn alive(&mut self, status: &str) {
        let mut words = String::new();
        if self.told.is_none() {
            words += "READY=1\n";
        }
        if self.told.as_deref() != Some(status) {
            words += &format!("STATUS={status}\n");
            self.told = Some(status.to_owned());
        }
        if self.patience.is_some() {
            words += "WATCHDOG=1\n";
        }
        self.send(&words);
    }

    /// It ends on purpose.
    pub(super) fn stopping(&self) {
        self.send("STOPPING=1\n");
    }

    fn send(&self, words: &str) {
        if let Some((socket, address)) = self.socket.as_ref().filter(|_| !words.is_empty()) {
            // A service manager that does not listen has other ways to find out.
            let _ = socket.send_to_addr(words.as_bytes(), address);
        }
    }
}

/// A socket's address: a path, or behind `@` an abstract name.
fn address(name: &str) -> Option<SocketAddr> {
    match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name.as_bytes()).ok(),
        None => SocketAddr::from_pathname(Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()))).ok(),
    }
}
