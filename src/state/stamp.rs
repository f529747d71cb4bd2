//! Stamps: the tmux pane options that mark a pane as ours and suffice to rebuild its record.
//!
//! A stamp is always written whole, what it does not say as an empty text, so that setting it on a pane leaves
//! nothing of an earlier one. Text uses `A-Za-z0-9` and `-_.,:/=%+` alone: it passes tmux's command lines, formats
//! and listings unchanged.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::host::tmux::StampText;
use crate::spec::name::Name;

use super::fields::{self, Fields};
use super::record::{Conversation, OwnerId, Provenance, Record, SessionId};

/// The longest list of hashes or sources, and the longest directory, in encoded bytes: all of a stamp shares one option,
/// of which tmux keeps up to 16,000 (measured, tmux 3.3a).
const MAX_LIST: usize = 4608;

/// The longest option read, in bytes.
const MAX_OPTION: usize = 16 << 10;

/// The meaning of a pane's `@farhelm_*` options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// `id`.
    pub id: SessionId,
    /// `owner`.
    pub owner: OwnerId,
    /// `fleet`.
    pub fleet: Name,
    /// `session`.
    pub session: Name,
    /// `generation`.
    pub generation: u32,
    /// `tab`: the tab's name and its id, for a tab's pane.
    pub tab: Option<(Name, SessionId)>,
    /// `fields`: salt and hashes.
    pub salt: String,
    /// The hashes.
    pub fields: Fields,
    /// Version of the hashes' canonical form; 0 when they are not known (too many for a stamp, or unreadable).
    pub fields_version: u32,
    /// `dir`: the canonical directory.
    pub dir: Option<PathBuf>,
    /// `conversation`: the last accepted.
    pub conversation: Option<String>,
    /// How the conversation is known; `None` without one.
    pub provenance: Option<Provenance>,
    /// `protect`.
    pub protect: bool,
    /// `sources`; empty when they are not known.
    pub sources: Vec<PathBuf>,
}

impl Stamp {
    /// The stamp of `record`'s agent pane, for its latest launch.
    #[must_use]
    pub fn of(record: &Record, owner: &OwnerId) -> Self {
        let conversation = record.conversation.as_ref();
        Self {
            id: record.id,
            owner: owner.clone(),
            fleet: record.fleet.clone(),
            session: record.name.clone(),
            generation: record.generation(),
            tab: None,
            salt: record.salt.clone(),
            fields: record.fields.clone(),
            fields_version: record.fields_version,
            dir: Some(record.dir.canonical.clone()),
            conversation: conversation.map(|known| known.id.clone()),
            provenance: conversation.map(|Conversation { provenance, .. }| *provenance),
            protect: record.protect,
            sources: record.sources.clone(),
        }
    }

    /// The options that say this.
    #[must_use]
    pub fn write(&self) -> StampText {
        let id = |id: &SessionId| id.to_string();
        let conversation = self.conversation.as_ref().map(|conversation| {
            let known = if self.provenance == Some(Provenance::Assigned) { "assigned" } else { "reported" };
            format!("{known}:{}", encode(conversation.as_bytes()))
        });
        let sources: Vec<_> = self.sources.iter().map(|path| encode(path.as_os_str().as_bytes())).collect();
        let options = [
            ("id", id(&self.id)),
            ("owner", encode(self.owner.0.as_bytes())),
            ("fleet", self.fleet.to_string()),
            ("session", self.session.to_string()),
            ("generation", self.generation.to_string()),
            ("tab", self.tab.as_ref().map(|(name, tab)| format!("{name}:{}", id(tab))).unwrap_or_default()),
            ("fields", self.write_fields()),
            ("dir", self.dir.as_ref().map(|dir| encode(dir.as_os_str().as_bytes())).unwrap_or_default()),
            ("conversation", conversation.unwrap_or_default()),
            ("protect", if self.protect { "1" } else { "" }.to_owned()),
            ("sources", sources.join(",")),
        ];
        let bounded = |text: String| if text.len() > MAX_LIST { String::new() } else { text };
        options.into_iter().map(|(key, text)| (key.to_owned(), bounded(text))).collect()
    }

    fn write_fields(&self) -> String {
        let hashes = self
            .fields
            .iter()
            .map(|(field, hash)| format!("{}={}", encode(field.to_string().as_bytes()), encode(hash.as_bytes())));
        let hashes: Vec<_> = hashes.collect();
        format!("v{}:{}:{}", self.fields_version, encode(self.salt.as_bytes()), hashes.join(","))
    }

    /// Reads a pane's options; `None` when they do not say whose the pane is. What else of them cannot be read is
    /// taken as not said.
    #[must_use]
    pub fn read(options: &StampText) -> Option<Self> {
        let option = |key: &str| options.get(key).filter(|text| !text.is_empty() && text.len() <= MAX_OPTION);
        let name = |key: &str| option(key).and_then(|text| Name::new(text.as_str()).ok());
        let owner = option("owner").and_then(|text| decode(text)).and_then(|bytes| String::from_utf8(bytes).ok())?;
        let (fields_version, salt, fields) =
            option("fields").and_then(|text| read_fields(text)).unwrap_or((0, String::new(), Fields::new()));
        let conversation = option("conversation").and_then(|text| read_conversation(text));
        let (conversation, provenance) = conversation.unzip();
        Some(Self {
            id: read_id(option("id")?)?,
            owner: OwnerId(owner),
            fleet: name("fleet")?,
            session: name("session")?,
            generation: option("generation").and_then(|text| text.parse().ok()).unwrap_or(0),
            tab: match option("tab") {
                None => None,
                // A tab's pane that does not say which must not pass for the agent's.
                Some(text) => Some(read_tab(text)?),
            },
            salt,
            fields,
            fields_version,
            dir: option("dir").and_then(|text| read_path(text)),
            conversation,
            provenance,
            protect: option("protect").is_some(),
            sources: option("sources").and_then(|text| text.split(',').map(read_path).collect()).unwrap_or_default(),
        })
    }
}

fn read_id(text: &str) -> Option<SessionId> {
    let id = SessionId(uuid::Uuid::try_parse(text).ok()?);
    (id.to_string() == text).then_some(id)
}

fn read_tab(text: &str) -> Option<(Name, SessionId)> {
    let (name, id) = text.split_once(':')?;
    Some((Name::new(name).ok()?, read_id(id)?))
}

fn read_path(text: &str) -> Option<PathBuf> {
    let path = PathBuf::from(OsString::from_vec(decode(text)?));
    path.is_absolute().then_some(path)
}

fn read_conversation(text: &str) -> Option<(String, Provenance)> {
    let (known, id) = text.split_once(':')?;
    let provenance = match known {
        "assigned" => Provenance::Assigned,
        "reported" => Provenance::Reported,
        _ => return None,
    };
    let id = decode(id).and_then(|bytes| String::from_utf8(bytes).ok()).filter(|id| !id.is_empty())?;
    Some((id, provenance))
}

fn read_fields(text: &str) -> Option<(u32, String, Fields)> {
    let text_of = |text: &str| decode(text).and_then(|bytes| String::from_utf8(bytes).ok());
    let (version, rest) = text.strip_prefix('v')?.split_once(':')?;
    let (salt, hashes) = rest.split_once(':')?;
    let hashes = hashes.split(',').filter(|pair| !pair.is_empty());
    let fields = hashes.map(|pair| {
        let (field, hash) = pair.split_once('=')?;
        Some((text_of(field)?.try_into().ok()?, text_of(hash)?))
    });
    let version = version.parse().ok().filter(|version| *version <= fields::VERSION)?;
    Some((version, text_of(salt)?, fields.collect::<Option<Fields>>()?))
}

/// Percent-encodes everything but letters, digits and `-_./+`; what is left of the alphabet separates.
fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' | b'+' => text.push(char::from(*byte)),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests;
