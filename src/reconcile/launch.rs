//! Starting terminals: batches of panes, paced, each followed until its program is proven to run.
//!
//! The proof is the process's own exec-time environment: only the shim's exec puts the session's marker there.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::host::Host;
use crate::host::clock::{Interrupt, Moment};
use crate::host::process::{MarkersRead, Pid, ProcessKey};
use crate::host::tmux::{OpenPane, Opened, PaneId, Socket};
use crate::spec::name::Name;
use crate::state::launch_files::{LaunchFiles, LaunchSpec};
use crate::state::record::{Record, SessionId};

use super::ledger::Ledger;

/// A login shell that has not reached the shim after this time is stuck.
pub const STUCK: Duration = Duration::from_secs(30);
/// A program that ends within this time of its start did not come up.
pub const SETTLE: Duration = Duration::from_secs(2);
/// How long launches may keep whoever stays from anything else.
pub const SLICE: Duration = Duration::from_secs(2);
/// Lines of a stuck terminal that are shown.
const LINES: u32 = 5;
/// Time between two looks at what is being started: each takes time from what starts.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two looks at those of whom the shim has left no word yet: they may have ended before they reached it.
const CALL: Duration = Duration::from_millis(200);

/// One terminal to start: a session's agent, or one of its tabs.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The session's name.
    pub session: Name,
    /// The session's id.
    pub id: SessionId,
    /// The tab's name and id; none for the agent.
    pub tab: Option<(Name, SessionId)>,
    /// What tmux is asked for.
    pub pane: OpenPane,
    /// The server.
    pub socket: Socket,
    /// The launch's files.
    pub files: LaunchFiles,
    /// What the spec says.
    pub spec: LaunchSpec,
    /// The session's record with this launch as its intent; none for a tab.
    pub intent: Option<Box<Record>>,
    /// Hash of a tab's definition.
    pub definition: String,
    /// It runs in a scope of its own.
    pub scoped: bool,
}

/// How far an opening came.
#[derive(Debug, Clone)]
pub enum Progress {
    /// The pane is open.
    Opened(Seat),
    /// Its program runs, or ran: the exec is proven.
    Running,
    /// It did not come up, in words.
    Failed(String),
    /// It was not begun: the operator interrupted.
    NotBegun,
}

/// Where an opening came to be.
#[derive(Debug, Clone)]
pub struct Seat {
    /// What tmux made.
    pub opened: Opened,
    /// The pane's process; none when it is gone already, or was not looked for.
    pub process: Option<ProcessKey>,
    /// The tmux server.
    pub server: Option<ProcessKey>,
}

/// How many at once, and how far apart.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// In flight at once.
    pub parallel: usize,
    /// Between two of them.
    pub stagger: Duration,
    /// All of them are started, and each is followed until it is proven. Otherwise both for [`SLICE`] only: whoever stays
    /// goes on with the rest when it has looked at what else happened.
    pub attended: bool,
}

/// Starts all of `queue`, writing each batch's intent down before it is opened. Answers whether there was time for all.
pub fn start(host: &dyn Host, queue: Vec<Opening>, pace: Pace, ledger: &mut Ledger<'_>) -> bool {
    Launcher { host, pace, queue: queue.into(), flying: Vec::new(), last: None, called: None, ledger }.run()
}

struct Flying {
    opening: Opening,
    pane: PaneId,
    pid: Pid,
    process: Option<ProcessKey>,
    /// The process table could be read since the pane was opened.
    looked: bool,
    since: Moment,
}

struct Launcher<'a, 'b> {
    host: &'a dyn Host,
    pace: Pace,
    queue: std::collections::VecDeque<Opening>,
    flying: Vec<Flying>,
    last: Option<Moment>,
    /// When all that fly were last looked at one by one.
    called: Option<Moment>,
    ledger: &'a mut Ledger<'b>,
}

impl Launcher<'_, '_> {
    fn run(&mut self) -> bool {
        let begun = self.host.now();
        loop {
            if !self.pace.attended && self.host.now().since(&begun) >= SLICE {
                self.ledger.left_flying(self.flying.iter().map(|flying| &flying.opening));
                self.ledger.flush(false);
                return false;
            }
            if self.host.interrupt() != Interrupt::None {
                let rest: Vec<Opening> = self.queue.drain(..).collect();
                self.tell(&rest.iter().map(|opening| (opening, Progress::NotBegun)).collect::<Vec<_>>());
            }
            let batch = self.due();
            if !batch.is_empty() {
                self.open(batch);
            }
            self.look();
            self.ledger.flush(!self.flying.is_empty());
            if self.flying.is_empty() && self.queue.is_empty() {
                return true;
            }
            self.host.sleep(self.nap());
        }
    }

    fn nap(&self) -> Duration {
        match (self.flying.is_empty(), self.last) {
            (true, Some(last)) => self.pace.stagger.saturating_sub(self.host.now().since(&last)).max(LOOK),
            _ => LOOK,
        }
    }

    /// Those whose turn it is. Without a stagger a batch fills all free places.
    fn due(&mut self) -> Vec<Opening> {
        let free = self.pace.parallel.max(1).saturating_sub(self.flying.len());
        let wait = self.last.is_some_and(|last| self.host.now().since(&last) < self.pace.stagger);
        let many = if self.pace.stagger.is_zero() { free } else { free.min(1) };
        let many = if wait { 0 } else { many.min(self.queue.len()) };
        // One call goes to one server.
        let socket = self.queue.front().map(|opening| opening.socket.clone());
        let same = self.queue.iter().take(many).take_while(|o| Some(&o.socket) == socket.as_ref()).count();
        self.queue.drain(..same).collect()
    }

    fn open(&mut self, batch: Vec<Opening>) {
        self.last = Some(self.host.now());
        if let Err(words) = self.prepare(&batch) {
            return self
                .tell(&batch.iter().map(|opening| (opening, Progress::Failed(words.clone()))).collect::<Vec<_>>());
        }
        let requests: Vec<OpenPane> = batch.iter().map(|opening| opening.pane.clone()).collect();
        let socket = batch[0].socket.clone();
        let results = match self.host.open(&socket, &requests) {
            Ok(results) => results,
            // Nothing is known of any of them: their intents stand, and the next pass finds what came of them.
            Err(error) => {
                let words = error.to_string();
                return self
                    .tell(&batch.iter().map(|opening| (opening, Progress::Failed(words.clone()))).collect::<Vec<_>>());
            }
        };
        let table = self.host.table().ok();
        let since = self.host.now();
        self.called.get_or_insert(since);
        let mut steps = Vec::new();
        for (opening, result) in batch.into_iter().zip(results) {
            match result {
                Ok(opened) => {
                    let row = |pid| table.as_ref().and_then(|table| table.processes.get(pid)).map(|row| row.key);
                    let (process, server) = (row(&opened.pid), row(&opened.server));
                    let (pid, pane) = (opened.pid, opened.pane.clone());
                    steps.push((opening.clone(), Progress::Opened(Seat { opened, process, server })));
                    self.flying.push(Flying { opening, pane, pid, process, looked: table.is_some(), since });
                }
                Err(error) => {
                    let _ = opening.files.remove(self.host);
                    steps.push((opening, Progress::Failed(error.to_string())));
                }
            }
        }
        self.tell(&steps.iter().map(|(opening, step)| (opening, step.clone())).collect::<Vec<_>>());
    }

    fn prepare(&mut self, batch: &[Opening]) -> Result<(), String> {
        self.ledger.intend(batch)?;
        for opening in batch {
            let files = &opening.files;
            // Of an earlier try at this generation that was cut off before its pane was opened.
            files
                .remove(self.host)
                .and_then(|()| files.write_spec(self.host, &opening.spec))
                .map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// One look at everything in flight.
    fn look(&mut self) {
        self.find_processes();
        let due = self.due_for_a_look();
        let keys: BTreeSet<ProcessKey> =
            self.flying.iter().filter(|flying| due(flying)).filter_map(|flying| flying.process).collect();
        let alive = self.host.wait_gone(&keys, Duration::ZERO);
        let mut steps = Vec::new();
        let host = self.host;
        self.flying.retain(|flying| match due(flying).then(|| verdict(host, flying, &alive)).flatten() {
            Some(step) => {
                steps.push((flying.opening.clone(), step));
                false
            }
            None => true,
        });
        self.tell(&steps.iter().map(|(opening, step)| (opening, step.clone())).collect::<Vec<_>>());
    }

    /// Who is worth a look: those of whom the shim has left word, which one listing tells; now and then everybody.
    fn due_for_a_look(&mut self) -> impl Fn(&Flying) -> bool + use<> {
        let now = self.host.now();
        let all = self.called.is_none_or(|called| now.since(&called) >= CALL);
        if all {
            self.called = Some(now);
        }
        let dir = self.flying.first().and_then(|flying| flying.opening.files.spec.parent());
        // What cannot be listed tells nothing.
        let names = dir.filter(|_| !all).and_then(|dir| self.host.list(dir).ok());
        let names: Option<BTreeSet<String>> = names.map(|names| names.into_iter().collect());
        move |flying| names.as_ref().is_none_or(|names| flying.opening.files.has_word(names))
    }

    /// Looks again for processes of panes that were opened while the process table could not be read.
    fn find_processes(&mut self) {
        if self.flying.iter().all(|flying| flying.looked) {
            return;
        }
        let Ok(table) = self.host.table() else { return };
        for flying in self.flying.iter_mut().filter(|flying| !flying.looked) {
            flying.process = table.running(flying.pid).map(|process| process.key);
            flying.looked = true;
        }
    }

    fn tell(&mut self, steps: &[(&Opening, Progress)]) {
        if !steps.is_empty() {
            self.ledger.progress(steps);
        }
    }
}

/// What is known of one in flight; `None`: nothing yet.
fn verdict(host: &dyn Host, flying: &Flying, alive: &BTreeSet<ProcessKey>) -> Option<Progress> {
    let opening = &flying.opening;
    if !flying.looked {
        return stuck(host, flying);
    }
    if let Some(key) = flying.process
        && alive.contains(&key)
    {
        return match host.markers(key) {
            MarkersRead::Read(marks) if is_marked(opening, marks.agent.as_deref(), marks.tab.as_deref()) => {
                Some(Progress::Running)
            }
            // A program that hides its environment is told by the mark that the shim leaves right before its exec.
            MarkersRead::Unreadable if opening.files.exec_reached(host).unwrap_or(false) => Some(Progress::Running),
            _ => stuck(host, flying),
        };
    }
    Some(ended(host, opening))
}

fn is_marked(opening: &Opening, agent: Option<&str>, tab: Option<&str>) -> bool {
    match &opening.tab {
        None => agent == Some(opening.id.to_string().as_str()),
        Some((_, id)) => tab == Some(id.to_string().as_str()),
    }
}

fn stuck(host: &dyn Host, flying: &Flying) -> Option<Progress> {
    let opening = &flying.opening;
    let age = host.now().since(&flying.since);
    if age < STUCK {
        return None;
    }
    let reached = opening.files.spec_unread(host).is_ok_and(|unread| !unread);
    let patience = match &opening.spec.before_launch {
        Some(before) if reached => Duration::from_millis(before.timeout_ms) + STUCK,
        _ => STUCK,
    };
    (age >= patience).then(|| {
        let what = if reached { "its program did not start" } else { "the login shell did not reach the launch" };
        let within = patience.as_secs();
        let shown = last_lines(host, &opening.socket, &flying.pane);
        Progress::Failed(format!("launch stuck: {what} within {within}s; its terminal shows: {shown}"))
    })
}

/// The last lines of a pane that are not empty, in one.
fn last_lines(host: &dyn Host, socket: &Socket, pane: &PaneId) -> String {
    let text = host.capture(socket, pane, LINES).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join(" / ") }
}

/// The process is gone: its sentinel, or the mark the shim leaves before its exec, tells whether the program ran.
fn ended(host: &dyn Host, opening: &Opening) -> Progress {
    match (opening.files.failure(host), opening.files.exec_reached(host)) {
        (Ok(Some(sentinel)), _) => Progress::Failed(sentinel.words),
        (Err(error), _) | (_, Err(error)) => Progress::Failed(error.to_string()),
        (Ok(None), Ok(true)) => Progress::Running,
        (Ok(None), Ok(false)) => {
            let _ = opening.files.remove(host);
            Progress::Failed("its terminal ended before the launch began (the login shell, or systemd-run)".to_owned())
        }
    }
}
