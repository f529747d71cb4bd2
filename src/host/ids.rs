//! New ids: the one source of chance.

use uuid::Uuid;

/// The port of chance.
pub trait Ids {
    /// A new random id (version 4).
    fn new_id(&self) -> Uuid {
        Uuid::new_v4()
    }
}
