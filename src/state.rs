//! farhelm's memory: records, tombstones, the lock, events, and the stamps from which a lost record is rebuilt.
//!
//! One directory holds it all ([`layout`]); every file is touched through the [`crate::host::disk::Disk`] port.
//! Reading needs no lock and changes nothing; whoever writes holds [`lock`] for the whole pass.

pub mod children;
pub mod digest;
pub mod error;
pub mod events;
pub mod extensions;
pub mod fields;
pub mod hold;
pub mod identity;
pub mod kept;
pub mod launch_files;
mod launches;
pub mod layout;
pub mod leaving;
pub mod lock;
pub mod memory;
pub mod owner;
pub mod rebuild;
pub mod record;
pub mod reports;
mod reserve;
pub mod stamp;
pub mod store;

#[cfg(test)]
pub(crate) mod tests;
