//! What must hold of conversations that agents themselves report. The world knows whose each is and what became of it;
//! that none is given to another session, or lives twice, it checks by itself.

use std::collections::BTreeMap;

use farhelm::host::sim::{AgentRun, TalkSeen, Told, World};
use farhelm::state::record::Record;

use crate::invariants::History;

/// What farhelm could know of conversations when it began.
pub struct Heard {
    /// When it was.
    pub at: u64,
    /// What it was told, by session, and what was there of that.
    told: BTreeMap<String, (Told, TalkSeen)>,
    /// What it believed, by session.
    believed: BTreeMap<String, String>,
}

impl Heard {
    pub fn look(world: &World, records: &BTreeMap<String, Record>) -> Self {
        let told = records.keys().filter_map(|id| {
            let told = world.told(id)?;
            let seen = world.talk(&told.conversation)?;
            Some((id.clone(), (told, seen)))
        });
        let believed = records.iter().filter_map(|(id, r)| Some((id.clone(), r.identity.as_ref()?.reported.clone())));
        Self { at: world.age(), told: told.collect(), believed: believed.collect() }
    }

    /// What counts when launch `generation` of a session is decided. What came too late for the launch after that which
    /// told it, or was spoilt before it was believed, does not.
    pub fn counting(&self, id: &str, generation: u32) -> Option<(Told, TalkSeen)> {
        let (told, seen) = self.told.get(id)?;
        let believed = self.believed.get(id) == Some(&told.conversation);
        let fresh = told.generation + 1 == generation && !seen.maimed;
        (believed || fresh).then(|| (told.clone(), *seen))
    }
}

/// What is wrong with how the agent of `run` was started.
pub fn check(world: &World, history: &History, run: &AgentRun) -> Option<String> {
    let id = &run.origin.session;
    let launched = history.launched.get(id)?;
    // Of a lost record only the stamp is left, which says less.
    if history.unprompted.contains(id) || history.lost.contains(id) {
        return None;
    }
    let told = world.told(id);
    // What was told while farhelm ran, or before it ran, may have come too late.
    let heard = history
        .heard
        .get(&(id.clone(), run.origin.generation))
        .filter(|(heard, at)| told.as_ref().is_some_and(|told| *told == heard.0 && told.written < *at));
    let Some(((told, was), _)) = heard else {
        let only_assigned = !world.is_told(id) && run.resumed.is_some() && !launched.resume_assigned;
        return only_assigned.then(|| format!("{} resumes a conversation that was only assigned", run.origin));
    };
    let is = world.talk(&told.conversation)?;
    match &run.resumed {
        Some(resumed) if *resumed == told.conversation => {
            (!was.found && !is.found).then(|| format!("{} resumes {resumed}, whose evidence is gone", run.origin))
        }
        _ if !was.there || !is.there || history.afresh.contains(id) => None,
        Some(resumed) => Some(format!("{} goes back to {resumed}, and left {}", run.origin, told.conversation)),
        None if run.assigned.as_ref() == Some(&told.conversation) => None,
        None => Some(format!("{} begins anew, and dropped {}", run.origin, told.conversation)),
    }
}

/// Records that believe what nobody entitled to has said.
pub fn believed(world: &World, records: &BTreeMap<String, Record>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, record) in records {
        let identity = record.identity.as_ref();
        let known =
            identity.map(|identity| &identity.id).into_iter().chain(record.conversation.as_ref().map(|c| &c.id));
        for conversation in known.filter(|conversation| world.is_made_up(conversation)) {
            wrong.push(format!("{id} is believed to be in {conversation}, which was made up"));
        }
        let silent = |talk: &String| world.talk(talk).is_some_and(|talk| !talk.prompted);
        if let Some(identity) = identity.filter(|identity| identity.prompted && silent(&identity.id)) {
            wrong.push(format!("{id} is believed to be prompted in {}, and was not", identity.id));
        }
    }
    wrong
}

/// Prompts of the command line that reached a session's agent again without having changed.
pub fn prompts_received_twice(world: &World, history: &mut History) -> Vec<String> {
    let received = world.received();
    let mut twice = Vec::new();
    for one in received.iter().skip(history.received) {
        let session = &one.session;
        let before = history.prompts.insert(session.clone(), one.clone());
        let again = before.filter(|before| before.prompt == one.prompt);
        let excused = history.afresh.contains(session) || history.unprompted.contains(session);
        // Where the report of a prompt and all it led to were lost, nobody can know of it.
        let lost = |talk: &str| world.talk(talk).is_some_and(|talk| talk.maimed);
        if let Some(before) = again.filter(|before| !excused && !lost(&before.conversation)) {
            twice.push(format!("`{}` reached {session} again, in {}", one.prompt, before.conversation));
        }
    }
    history.received = received.len();
    twice
}
