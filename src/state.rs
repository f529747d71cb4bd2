//! farhelm's memory: records, tombstones, the lock, events, and the stamps from which a lost record is rebuilt.

pub mod fields;
pub mod launch_files;
pub mod record;
pub mod stamp;
