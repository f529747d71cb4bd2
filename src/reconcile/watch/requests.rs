//! What others ask of a resident reconcile.

use std::time::Duration;

use crate::plan::spawn::{Ask, Granted};
use crate::plan::status::Status;
use crate::reconcile::pass::Reconciler;
use crate::reconcile::spawn::{Credentials, SpawnError, Who};
use crate::spec::name::Name;

use super::{BREATH, Watch};

impl Watch<'_> {
    /// Gives the session that asks a new one, which the next pass launches.
    ///
    /// # Errors
    /// As [`Reconciler::spawn`].
    pub fn spawn(&mut self, who: &Credentials, ask: &Ask) -> Result<Granted, SpawnError> {
        let granted = Reconciler::new(self.host, &self.setup)?.spawn(&self.desired, who, ask)?;
        self.soon(Duration::ZERO);
        Ok(granted)
    }

    /// Says that children of the session that asks are no longer wanted; the next pass reaps them, where `watch` may.
    ///
    /// # Errors
    /// As [`Reconciler::dismiss`].
    pub fn dismiss(&mut self, who: &Credentials, names: &[Name]) -> Result<(), SpawnError> {
        Reconciler::new(self.host, &self.setup)?.dismiss(&self.desired, who, names)?;
        self.soon(Duration::ZERO);
        Ok(())
    }

    /// Who the session is.
    ///
    /// # Errors
    /// As [`Reconciler::who`].
    pub fn who(&self, who: &Credentials) -> Result<Who, SpawnError> {
        Reconciler::new(self.host, &self.setup)?.who(&self.desired, who)
    }

    /// A report is said to have come.
    pub fn poked(&mut self) {
        self.soon(BREATH);
    }

    /// Each session as the last pass found it.
    #[must_use]
    pub fn sessions(&self) -> &[Status] {
        &self.sessions
    }

    /// What keeps a session that an agent asked for from being as it is wanted, as the last pass found it.
    #[must_use]
    pub fn keeps(&self, name: &Name) -> Option<&str> {
        self.keeping.get(name).map(String::as_str)
    }

    /// The commit that the files in force were at.
    #[must_use]
    pub fn revision(&self) -> Option<&str> {
        self.setup.revision.as_deref()
    }

    /// What is wrong with the files, since they cannot be used.
    #[must_use]
    pub fn unfit(&self) -> Option<&str> {
        self.unfit.as_deref()
    }

    fn soon(&mut self, within: Duration) {
        let left = self.due.left(self.host.now());
        if left > within {
            self.due = super::Due { since: self.host.now(), after: within };
        }
    }
}
