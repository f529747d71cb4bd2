//! One item as columns and causes.

use crate::plan::Header;
use crate::plan::action::{Action, ConversationFate, Cost, Item, Mode};
use crate::plan::reason::Reason;
use crate::plan::units::{count, day, size, span};
use crate::spec::name::Name;
use crate::spec::visible::visible;

/// One item in words, foreign text made harmless.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub sign: &'static str,
    /// Lines are shown by what they do, then by session.
    pub rank: u8,
    pub word: String,
    pub name: String,
    pub tab: Option<&'a Name>,
    pub kind: String,
    pub dir: String,
    /// What it costs, or what stands in the way.
    pub tail: String,
    pub because: String,
    pub notes: Vec<String>,
    cost: &'a Cost,
    now_ms: i64,
}

impl<'a> Line<'a> {
    pub(super) fn of(item: &'a Item, header: &Header) -> Self {
        let held = matches!(item.action, Action::Blocked(_) | Action::Waiting(_) | Action::Unknown);
        let tab = tab(&item.action);
        let placed = matches!(item.action, Action::Launch(_) | Action::Restart(_) | Action::Unchanged);
        let now_ms = header.at.wall_ms;
        let mut line = Self {
            sign: sign(&item.action),
            rank: rank(&item.action),
            word: word(&item.action),
            name: tab.map_or_else(|| item.session.to_string(), |tab| format!("{}:{tab}", item.session)),
            tab,
            kind: item.kind.as_ref().filter(|_| !held && tab.is_none()).map(ToString::to_string).unwrap_or_default(),
            dir: item.dir.as_ref().filter(|_| placed).map(|dir| visible(dir)).unwrap_or_default(),
            tail: if held { hindrance(item) } else { costs(&item.cost, now_ms) },
            because: String::new(),
            notes: item.notes.iter().map(|note| visible(note)).collect(),
            cost: &item.cost,
            now_ms,
        };
        match item.action {
            Action::Unchanged => line.tail = join(item.reasons.iter().map(Reason::words)),
            _ if !held => line.because = because(item, header),
            _ => {}
        }
        line
    }

    /// What must be equal for lines to be one group. What stands in the way of one session alone is in its tail.
    pub(super) fn group(&self) -> (&'static str, &str, &str, Option<String>, u8) {
        let held = matches!(self.sign, "!" | "…" | "?" | "");
        let tail = held.then(|| self.tail.replace(&self.name, "NAME"));
        let fate = match self.cost.conversation {
            ConversationFate::NotTouched => 0,
            ConversationFate::Kept(_) => 1,
            ConversationFate::KeptUnconfirmed(_) => 2,
            ConversationFate::NothingToLose => 3,
            ConversationFate::Lost(_) => 4,
        };
        (self.sign, &self.word, &self.because, tail, fate)
    }
}

/// The files by a name short enough for a line.
pub(super) fn files(header: &Header) -> String {
    let file = |path: &std::path::Path| path.file_name().unwrap_or(path.as_os_str()).display().to_string();
    match header.sources.as_slice() {
        [] => "no files".to_owned(),
        [one] if one.as_os_str() == "-" => "standard input".to_owned(),
        [one] => file(one),
        [first, ..] => match first.parent() {
            Some(folder) => format!("{} ({})", file(folder), count(header.sources.len(), "file")),
            None => count(header.sources.len(), "file"),
        },
    }
}

/// What is said once for all lines of a group.
pub(super) fn together(lines: &[&Line<'_>]) -> String {
    let Some(first) = lines.first() else { return String::new() };
    if matches!(first.sign, "!" | "…" | "?" | "") {
        return first.tail.replace(&first.name, "NAME");
    }
    let mut sum = Cost::default();
    for line in lines {
        sum.clients += line.cost.clients;
        sum.processes += line.cost.processes;
        sum.memory = sum.memory.saturating_add(line.cost.memory);
        sum.restorable_until_ms = sum.restorable_until_ms.max(line.cost.restorable_until_ms);
    }
    let turns = lines.iter().filter(|line| line.cost.turn_lost).count();
    let fate = match first.cost.conversation {
        ConversationFate::Kept(_) => "conversations kept",
        ConversationFate::KeptUnconfirmed(_) => "conversations kept (assigned, unconfirmed)",
        ConversationFate::Lost(_) => "conversations lost",
        ConversationFate::NothingToLose | ConversationFate::NotTouched => "",
    };
    let turns = if turns > 0 { format!("{} lost", count(turns, "turn")) } else { String::new() };
    join([fate.to_owned(), turns, costs(&sum, first.now_ms)])
}

fn join(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

fn sign(action: &Action) -> &'static str {
    match action {
        Action::Launch(_) => "+",
        Action::Adjust | Action::OpenTab(_) => "~",
        Action::Restart(_) => "-/+",
        Action::Stop | Action::Reap | Action::CloseTab(_) => "-",
        Action::Adopt | Action::Move { .. } => ">",
        Action::Waiting(_) => "…",
        Action::Blocked(_) => "!",
        Action::Unknown => "?",
        Action::Unchanged => "",
    }
}

fn rank(action: &Action) -> u8 {
    match action {
        Action::Launch(mode) => u8::from(mode.resumes()),
        Action::Adopt | Action::Move { .. } => 2,
        Action::Adjust | Action::OpenTab(_) => 3,
        Action::Restart(_) => 4,
        Action::Waiting(_) => 5,
        Action::Stop | Action::Reap | Action::CloseTab(_) => 6,
        Action::Blocked(_) => 7,
        Action::Unknown => 8,
        Action::Unchanged => 9,
    }
}

/// The action in one or two words.
pub(super) fn word(action: &Action) -> String {
    let word = match action {
        Action::Launch(mode) if mode.resumes() => "launch, resume",
        Action::Launch(_) => "launch",
        Action::Adjust => "adjust",
        Action::OpenTab(_) => "open tab",
        Action::Restart(mode) if mode.resumes() => "restart, resume",
        Action::Restart(_) => "restart, fresh",
        Action::Stop => "stop",
        Action::Reap => "reap",
        Action::CloseTab(_) => "close tab",
        Action::Adopt => "adopt",
        Action::Move { .. } => "move",
        Action::Waiting(_) => "waiting",
        Action::Blocked(_) => "blocked",
        Action::Unknown => "unknown",
        Action::Unchanged => "unchanged",
    };
    word.to_owned()
}

fn tab(action: &Action) -> Option<&Name> {
    match action {
        Action::OpenTab(tab) | Action::CloseTab(tab) => Some(tab),
        Action::Blocked(inner) | Action::Waiting(inner) => tab(inner),
        _ => None,
    }
}

/// What an action costs.
fn costs(cost: &Cost, now_ms: i64) -> String {
    let with = |what: &str, words: &str| match words {
        "" => what.to_owned(),
        words => format!("{what} ({})", visible(words)),
    };
    let fate = match &cost.conversation {
        ConversationFate::NotTouched => String::new(),
        ConversationFate::NothingToLose => "nothing to lose".to_owned(),
        ConversationFate::Kept(words) => with("conversation kept", words),
        ConversationFate::KeptUnconfirmed(words) => with("conversation kept, unconfirmed", words),
        ConversationFate::Lost(words) => with("conversation lost", words),
    };
    let turn = if cost.turn_lost { "this turn is lost".to_owned() } else { String::new() };
    let processes = match cost.processes {
        0 => String::new(),
        number => format!("{}, {}", count(number, "process"), size(cost.memory)),
    };
    let clients = match cost.clients {
        0 => String::new(),
        number => format!("{} attached", count(number as usize, "client")),
    };
    let until = cost.restorable_until_ms.map(|ms| format!("restorable until {}", day(ms, now_ms)));
    join([fate, turn, processes, clients, until.unwrap_or_default()])
}

/// Why it is done.
fn because(item: &Item, header: &Header) -> String {
    let reasons = item.reasons.iter().map(|reason| match reason {
        Reason::Removed if header.sources.len() == 1 => {
            format!("it was removed from {}", visible(&files(header)))
        }
        reason => reason.words(),
    });
    let lost = matches!(item.cost.conversation, ConversationFate::Lost(_));
    let nothing = match &item.action {
        Action::Launch(Mode::SameId { .. }) | Action::Restart(Mode::SameId { .. }) => {
            "nothing was written of its conversation, whose id is used again"
        }
        Action::Launch(Mode::Fresh { .. }) if !lost => "nothing to resume",
        _ => "",
    };
    let (starts, others): (Vec<_>, Vec<_>) = reasons.partition(|words| !words.contains(" changed"));
    join([starts.join("; "), others.join("; "), nothing.to_owned()])
}

/// What stands in the way, what would be done, and the way out.
fn hindrance(item: &Item) -> String {
    let would = match &item.action {
        Action::Blocked(inner) => format!("would be {}", done(inner)),
        Action::Waiting(inner) => later(inner, item.reasons.first()),
        _ => "nothing will be done".to_owned(),
    };
    let nothing = matches!(&item.action, Action::Blocked(inner) if **inner == Action::Unchanged);
    let obstacles: Vec<&Reason> = item.reasons.iter().take_while(|reason| reason.hinders()).collect();
    let words = join(obstacles.iter().map(|reason| reason.words()));
    let reap = matches!(&item.action, Action::Waiting(inner) if **inner == Action::Reap);
    let ways = obstacles.iter().filter(|_| !reap).filter_map(|reason| reason.way_out(&item.session));
    let ways = ways.collect::<Vec<_>>().join("; ");
    let text = join([words, if nothing { String::new() } else { would }]);
    visible(&if ways.is_empty() { text } else { format!("{text} ({ways})") })
}

fn done(action: &Action) -> String {
    match action {
        Action::Launch(mode) if mode.resumes() => "launched, resumed".to_owned(),
        Action::Launch(_) => "launched".to_owned(),
        Action::Restart(mode) if mode.resumes() => "restarted, resumed".to_owned(),
        Action::Restart(_) => "restarted, fresh".to_owned(),
        Action::Stop => "stopped".to_owned(),
        Action::Reap => "reaped".to_owned(),
        Action::CloseTab(_) => "closed".to_owned(),
        other => format!("{} (nothing)", word(other)),
    }
}

/// When a waiting action happens.
fn later(action: &Action, reason: Option<&Reason>) -> String {
    let verb = match action {
        Action::Restart(_) => "restarts",
        Action::Reap => "is reaped",
        _ => "launches",
    };
    match reason {
        Some(Reason::Working | Reason::NeedsInput | Reason::ActivityUnknown) => format!("{verb} when idle"),
        Some(Reason::Backoff { left }) => format!("{verb} in {}", span(*left)),
        Some(Reason::MaxUnavailable { .. } | Reason::Canary { .. }) => format!("{verb} when others are up"),
        Some(Reason::MaxRunning { .. }) => format!("{verb} when another ends"),
        Some(Reason::ManualUpdate) => format!("{verb} when asked"),
        _ => String::new(),
    }
}
