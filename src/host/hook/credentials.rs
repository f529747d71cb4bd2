//! What a launch hands down to its agent: whose hook this is, and where its reports go.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::state::layout::Layout;
use crate::state::owner;
use crate::state::record::SessionId;

/// The credentials in this process's environment.
#[derive(Debug)]
pub(super) struct Credentials {
    pub(super) session: SessionId,
    pub(super) socket: PathBuf,
    pub(super) layout: Layout,
    token: Option<String>,
}

impl Credentials {
    /// What the environment says, not yet held against the session's token; `None` where it names no session, or no state
    /// directory of this user.
    pub(super) fn unchecked() -> Option<Self> {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let id = text("FARHELM_SESSION_ID")?;
        let session = SessionId(uuid::Uuid::try_parse(&id).ok()?);
        let socket = PathBuf::from(std::env::var_os("FARHELM_SUPERVISOR_SOCK")?);
        let dir = socket.parent().filter(|dir| dir.is_absolute() && is_private(dir))?;
        let layout = Layout::new(dir);
        (session.to_string() == id).then_some(Self { session, socket, layout, token: text("FARHELM_SESSION_TOKEN") })
    }

    /// Whether the token is this session's. A tab has none: nothing in it speaks for the agent.
    pub(super) fn good(&self) -> bool {
        let (Some(token), Some(key)) = (&self.token, read_key(&self.layout.key())) else { return false };
        owner::is_key(key.trim_end()) && owner::token(key.trim_end(), self.session) == *token
    }

    /// Where the session's reports go.
    pub(super) fn dir(&self) -> PathBuf {
        self.layout.report_dir(self.session)
    }
}

/// Whether `dir` is a directory of this user that nobody else may write to. An operator may have made it with the usual
/// rights; what lies in it is closed to others by itself.
fn is_private(dir: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    std::fs::metadata(dir).is_ok_and(|meta| meta.is_dir() && meta.uid() == own && meta.mode() & 0o022 == 0)
}

fn read_key(path: &Path) -> Option<String> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let mut key = String::new();
    file.take(4096).read_to_string(&mut key).ok()?;
    Some(key)
}
