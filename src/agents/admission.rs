//! Judging reports: which of them say what conversation a session has.
//!
//! A report is a claim by whoever inherited the session's credentials. It counts when it comes from the agent of the
//! session's latest launch, as that was recorded: by then the agent, the terminal and the server may all be gone. One
//! that is refused changes nothing.

use std::path::PathBuf;

use serde_json::Value;

use crate::host::clock::Moment;
use crate::host::disk::Disk;
use crate::state::identity::Identity;
use crate::state::record::Launch;
use crate::state::reports::{MAX_LINKS, MAX_PATH, MAX_WORD, Report, Slot};

use super::chain::{self, ChainFault};
use super::evidence::{self, Finding, Sought};
use super::kind::Kind;
use super::kind::reports::{Doing, EvidenceRule, NEW, Reports};
use super::slots;

/// The most files that are kept of one conversation.
const MAX_TRANSCRIPTS: usize = 3;

/// What is to be made of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// This is the session's conversation.
    Accepted(Identity),
    /// The former conversation was left; this one, in its place, is not written yet.
    Withdrawn(Identity),
    /// Judge it again: what it is judged by could not be looked at.
    NotYet(String),
    /// Judge it again: its conversation is not there, or is not whole; it may come. The session has left any other for it.
    Unproven(String),
    /// It counts for nothing.
    Refused(Refusal),
}

/// Why a report counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session's kind has no reports.
    #[error("kind `{0}` accepts no reports")]
    NoReports(String),
    /// Another kind's.
    #[error("it is of kind `{vendor}`, and the session's is `{kind}`")]
    OtherKind {
        /// The report's.
        vendor: String,
        /// The session's.
        kind: String,
    },
    /// A value longer than any agent's.
    #[error("its {0} is too long")]
    Oversized(&'static str),
    /// No id.
    #[error(transparent)]
    ImplausibleId(#[from] slots::ImplausibleId),
    /// Of an agent that the session's agent delegated to.
    #[error("it is of a delegated agent")]
    Delegated,
    /// Not to be understood.
    #[error("its agent id is no text")]
    MalformedAgentId,
    /// A source that the kind does not have.
    #[error("its source is {0:?}, which the kind does not have")]
    UnknownSource(Option<String>),
    /// The session was never launched.
    #[error("the session was never launched")]
    NeverLaunched,
    /// Of an earlier launch, or none.
    #[error("it is of launch {of}, and the latest is {latest}")]
    OtherLaunch {
        /// The report's.
        of: u32,
        /// The session's.
        latest: u32,
    },
    /// Of another boot than the launch.
    #[error("it is of another boot than the launch")]
    OtherBoot,
    /// Of some other process.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The record of the conversation contradicts it.
    #[error("its conversation is not what it says: {0}")]
    Contradicted(String),
    /// A newer one was accepted.
    #[error("a newer report was accepted already")]
    Older,
}

impl Refusal {
    /// Its code, for the hook log.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoReports(_) => "no-reports",
            Self::OtherKind { .. } => "other-kind",
            Self::Oversized(_) => "oversized",
            Self::ImplausibleId(_) => "implausible-id",
            Self::Delegated => "delegated",
            Self::MalformedAgentId => "malformed-agent-id",
            Self::UnknownSource(_) => "unknown-source",
            Self::NeverLaunched => "never-launched",
            Self::OtherLaunch { .. } => "other-launch",
            Self::OtherBoot => "other-boot",
            Self::Chain(fault) => fault.code(),
            Self::Contradicted(_) => "contradicted",
            Self::Older => "older",
        }
    }
}

/// Whether `report` comes from the agent of the session's latest launch `launch`, whatever it is of. `Ok(false)`: the
/// launch's process is not recorded yet.
///
/// # Errors
/// The first [`Refusal`], in the order of the checks.
pub fn comes_from(kind: &Kind, launch: Option<&Launch>, report: &Report) -> Result<bool, Refusal> {
    let Some(reports) = &kind.reports else { return Err(Refusal::NoReports(kind.name.to_string())) };
    if report.vendor != kind.name.as_str() {
        return Err(Refusal::OtherKind { vendor: report.vendor.clone(), kind: kind.name.to_string() });
    }
    bounded(report)?;
    of_the_agent_itself(report)?;
    if Slot::of(report.event.as_deref()) == Slot::Start && !reports.knows_source(report.source.as_deref()) {
        return Err(Refusal::UnknownSource(report.source.clone()));
    }
    let launch = launch.ok_or(Refusal::NeverLaunched)?;
    if report.generation != launch.generation {
        return Err(Refusal::OtherLaunch { of: report.generation, latest: launch.generation });
    }
    if report.boot != launch.boot {
        return Err(Refusal::OtherBoot);
    }
    let Some(pane) = launch.process else { return Ok(false) };
    let chain = chain::below(&report.ancestry, report.ended, pane)?;
    chain::check(reports.chain, &kind.executables, chain)?;
    Ok(true)
}

fn bounded(report: &Report) -> Result<(), Refusal> {
    let long = |text: &Option<String>, limit: usize| text.as_ref().is_some_and(|text| text.len() > limit);
    for (what, too_long) in [
        ("source", long(&report.source, MAX_WORD)),
        ("event", long(&report.event, MAX_WORD)),
        ("detail", long(&report.detail, MAX_WORD)),
        ("transcript", long(&report.transcript, MAX_PATH)),
        ("ancestry", report.ancestry.len() > MAX_LINKS),
    ] {
        if too_long {
            return Err(Refusal::Oversized(what));
        }
    }
    slots::plausible(&report.conversation)?;
    Ok(())
}

fn of_the_agent_itself(report: &Report) -> Result<(), Refusal> {
    match &report.agent_id {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(id)) if id.is_empty() => Ok(()),
        Some(Value::String(_)) => Err(Refusal::Delegated),
        Some(_) => Err(Refusal::MalformedAgentId),
    }
}

/// Judges a report of a conversation, changing nothing. `known` is what the record has so far.
#[must_use]
pub fn judge(
    kind: &Kind,
    launch: Option<&Launch>,
    known: Option<&Identity>,
    report: &Report,
    disk: &dyn Disk,
) -> Verdict {
    match comes_from(kind, launch, report) {
        Err(refusal) => return Verdict::Refused(refusal),
        Ok(false) => return Verdict::NotYet("the process of its launch is not recorded yet".to_owned()),
        Ok(true) => {}
    }
    // Its own boot is the launch's, so that both are on one clock.
    if known.is_some_and(|known| known.boot == report.boot && known.at.boot_ms > report.at.boot_ms) {
        return Verdict::Refused(Refusal::Older);
    }
    match &kind.reports {
        Some(reports) => weigh(reports, candidate(known, report), disk),
        None => Verdict::Refused(Refusal::NoReports(kind.name.to_string())),
    }
}

/// The identity that the report would make. Of the same conversation, what was known of it stays known.
fn candidate(known: Option<&Identity>, report: &Report) -> Identity {
    let known = known.filter(|known| known.reported == report.conversation);
    let mut identity = Identity {
        id: known.map_or_else(|| report.conversation.clone(), |known| known.id.clone()),
        reported: report.conversation.clone(),
        transcripts: known.map(|known| known.transcripts.clone()).unwrap_or_default(),
        source: report.source.clone(),
        generation: report.generation,
        boot: report.boot.clone(),
        at: report.at,
        reporter: report.reporter,
        seen: known.is_some_and(|known| known.seen),
        prompted: known.is_some_and(|known| known.prompted) || !is_new(report.source.as_deref()),
    };
    identity.names(report);
    identity
}

/// Whether the conversation begins with this report, so that nothing was said in it before.
fn is_new(source: Option<&str>) -> bool {
    source.is_some_and(|source| NEW.contains(&source))
}

/// Looks at the evidence, where the kind writes it before it reports.
fn weigh(reports: &Reports, mut identity: Identity, disk: &dyn Disk) -> Verdict {
    let finding = identity.verify(reports.evidence, None, disk);
    let pends = reports.may_pend(identity.source.as_deref());
    if let Finding::Verified { id, .. } = finding {
        (identity.id, identity.seen) = (id, true);
        return Verdict::Accepted(identity);
    }
    match (reports.evidence, finding) {
        // The user left the former one, whatever became of the new one's file.
        (EvidenceRule::CodexRollout, Finding::Changed(_)) if pends => Verdict::Withdrawn(identity),
        (EvidenceRule::CodexRollout | EvidenceRule::SessionFile, Finding::Changed(words)) => {
            Verdict::Refused(Refusal::Contradicted(words))
        }
        (EvidenceRule::CodexRollout | EvidenceRule::SessionFile, Finding::Unreadable(words)) => Verdict::NotYet(words),
        (EvidenceRule::CodexRollout | EvidenceRule::SessionFile, _) if pends => Verdict::Withdrawn(identity),
        (EvidenceRule::CodexRollout, Finding::Pending(words) | Finding::Missing(words)) => Verdict::Unproven(words),
        // The others report before they write.
        (..) => Verdict::Accepted(identity),
    }
}

impl Identity {
    /// Looks for its evidence. `root` as in [`Sought`].
    #[must_use]
    pub fn verify(&self, rule: EvidenceRule, root: Option<&std::path::Path>, disk: &dyn Disk) -> Finding {
        let sought = Sought {
            reported: &self.reported,
            bound: self.seen.then_some(self.id.as_str()),
            transcripts: &self.transcripts,
            root,
            prompted: self.prompted,
            seen: self.seen,
        };
        evidence::verify(rule, &sought, disk)
    }

    /// Takes note of a prompt's report. It changes nothing of another conversation.
    pub fn prompted_by(&mut self, report: &Report) {
        if report.conversation == self.reported {
            self.prompted = true;
            self.names(report);
        }
    }

    fn names(&mut self, report: &Report) {
        if let Some(transcript) = report.transcript.as_ref().map(PathBuf::from) {
            self.transcripts.retain(|known| *known != transcript);
            self.transcripts.insert(0, transcript);
            self.transcripts.truncate(MAX_TRANSCRIPTS);
        }
    }
}

/// What the agent does: the newest of `reports`, all of them its own, that says anything of it.
#[must_use]
pub fn doing<'a>(kind: &Kind, reports: impl Iterator<Item = &'a Report>) -> Option<(Doing, Moment)> {
    let rules = kind.reports.as_ref()?;
    let said = reports.filter_map(|report| {
        let event = report.event.as_deref()?;
        let detail = report.detail.as_deref().or(report.source.as_deref());
        rules.doing(event, detail).map(|doing| (doing, report.at))
    });
    said.max_by_key(|(_, at)| at.boot_ms)
}

#[cfg(test)]
mod tests;
