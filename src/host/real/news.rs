//! News of this machine: inotify for directories, pidfds for processes, SIGHUP. Nothing is started and nothing looked at
//! while there are none.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::{ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use super::Machine;
use super::command::wait_on;
use super::processes::open;
use crate::host::news::{Interest, News};
use crate::host::process::ProcessKey;

mod listing;

use listing::Listing;

/// Between two looks at directories that the kernel will not watch for us.
const LOOK: Duration = Duration::from_secs(2);

/// Where news come in.
#[derive(Debug)]
pub struct Inbox {
    post: Arc<Post>,
    /// None where the kernel gives us no inotify at all.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, listing::Identity>,
    /// Directories that are looked at, since they cannot be watched.
    unwatched: BTreeMap<PathBuf, Listing>,
    processes: BTreeMap<ProcessKey, OwnedFd>,
    /// Ended before they could be watched.
    early: BTreeSet<ProcessKey>,
}

/// What came since the last look, and the sign that something has.
#[derive(Debug)]
struct Post {
    news: Mutex<News>,
    sign: OwnedFd,
}

impl Post {
    fn put(&self, add: impl FnOnce(&mut News)) {
        add(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner));
        // Full only after 2^64 signs; the news themselves are in the box.
        let _ = rustix::io::write(&self.sign, &1_u64.to_ne_bytes());
    }

    fn take(&self) -> News {
        let mut sign = [0; 8];
        // Empty when nothing came: it does not block.
        let _ = rustix::io::read(&self.sign, &mut sign);
        std::mem::take(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inbox {
    /// Starts to listen, to SIGHUP from now on.
    ///
    /// # Errors
    /// When not even signals can be listened to.
    pub fn open() -> io::Result<Self> {
        more_descriptors();
        let sign = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let post = Arc::new(Post { news: Mutex::default(), sign });
        listen_for_reload(Arc::clone(&post))?;
        let shared = Arc::clone(&post);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            match event {
                // Reading changes nothing, and farhelm itself reads here.
                Ok(Event { kind: EventKind::Access(_), .. }) => {}
                Ok(event) => shared.put(|news| sort(news, event)),
                Err(_) => shared.put(|news| news.lost = true),
            }
        });
        let (watched, unwatched) = (BTreeMap::new(), BTreeMap::new());
        let (processes, early) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { post, watcher: watcher.ok(), watched, unwatched, processes, early })
    }

    /// Waits for news of what `interest` names, up to `patience`, or until the operator interrupts.
    pub fn wait(&mut self, machine: &Machine, interest: &Interest, patience: Duration) -> News {
        self.wait_beside(machine, interest, patience, &[])
    }

    /// [`Self::wait`], until one of `others` can be read or, where that is asked for, written to.
    pub fn wait_beside(
        &mut self,
        machine: &Machine,
        interest: &Interest,
        patience: Duration,
        others: &[(BorrowedFd<'_>, bool)],
    ) -> News {
        let mut news = self.turn_to(interest);
        if !news.is_empty() {
            merge(&mut news, self.post.take());
            return news;
        }
        let patience = if self.unwatched.is_empty() { patience } else { patience.min(LOOK) };
        let mut fds = vec![PollFd::new(&self.post.sign, PollFlags::IN)];
        fds.extend(machine.signals.next_mark().map(|mark| PollFd::new(mark, PollFlags::IN)));
        fds.extend(others.iter().map(|(fd, writes)| {
            PollFd::from_borrowed_fd(*fd, if *writes { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN })
        }));
        let first = fds.len();
        fds.extend(self.processes.values().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
        // A failed wait is a short one: what is waited for is looked at all the same.
        let _ = wait_on(&mut fds, patience);
        let ready: Vec<bool> = fds[first..].iter().map(|fd| !fd.revents().is_empty()).collect();
        let keys: Vec<ProcessKey> = self.processes.keys().copied().collect();
        let ended = keys.into_iter().zip(ready).filter_map(|(key, ended)| ended.then_some(key));
        news.ended.extend(ended);
        for key in &news.ended {
            self.processes.remove(key);
        }
        merge(&mut news, self.post.take());
        for (dir, known) in &mut self.unwatched {
            known.renew(dir, &mut news);
        }
        news
    }

    /// Directories that are looked at from time to time, since the kernel has no watch left for them.
    #[must_use]
    pub fn unwatched(&self) -> Vec<&Path> {
        self.unwatched.keys().map(PathBuf::as_path).collect()
    }

    /// Watches what is of interest, and no more. What was not watched until now may have changed unseen.
    fn turn_to(&mut self, interest: &Interest) -> News {
        let mut news = News::default();
        self.watched.retain(|dir, _| {
            let wanted = interest.dirs.contains(dir);
            if let (false, Some(watcher)) = (wanted, &mut self.watcher) {
                // Gone with its directory, perhaps.
                let _ = watcher.unwatch(dir);
            }
            wanted
        });
        self.unwatched.retain(|dir, _| interest.dirs.contains(dir));
        for dir in &interest.dirs {
            let now = listing::identity(dir);
            if self.watched.get(dir) != now.as_ref() {
                self.watch(dir, now, &mut news);
            }
        }
        self.processes.retain(|key, _| interest.processes.contains(key));
        for key in &interest.processes {
            if self.processes.contains_key(key) {
                continue;
            }
            match open(*key) {
                Ok(Some(fd)) => drop(self.processes.insert(*key, fd)),
                Ok(None) => drop(self.early.insert(*key)),
                // Its end is seen by the next look, at the latest by the next resync.
                Err(_) => {}
            }
        }
        news.ended.append(&mut self.early);
        news
    }

    fn watch(&mut self, dir: &Path, now: Option<listing::Identity>, news: &mut News) {
        if self.watched.remove(dir).is_some() {
            if let Some(watcher) = &mut self.watcher {
                let _ = watcher.unwatch(dir);
            }
            news.lost = true;
        }
        let Some(identity) = now else { return };
        let watched = match &mut self.watcher {
            Some(watcher) => watcher.watch(dir, RecursiveMode::NonRecursive).is_ok(),
            None => false,
        };
        if watched {
            self.watched.insert(dir.to_owned(), identity);
            if self.unwatched.remove(dir).is_some() {
                news.lost = true;
            }
        } else {
            self.unwatched.entry(dir.to_owned()).or_insert_with(|| Listing::of(dir));
        }
    }
}

/// Puts a change where it belongs.
fn sort(news: &mut News, event: Event) {
    news.lost |= event.need_rescan();
    match event.kind {
        // Told of both names, after it was told of each. Reading changes nothing.
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {}
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
            news.removed.extend(event.paths);
        }
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Other => {
            news.changed.extend(event.paths);
        }
    }
}

fn merge(news: &mut News, more: News) {
    news.changed.extend(more.changed);
    news.removed.extend(more.removed);
    news.ended.extend(more.ended);
    news.lost |= more.lost;
    news.reload |= more.reload;
}

fn listen_for_reload(post: Arc<Post>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut asked = {
        let _inside = runtime.enter();
        signal(SignalKind::hangup())?
    };
    std::thread::Builder::new().name("reload".to_owned()).spawn(move || {
        runtime.block_on(async {
            while asked.recv().await.is_some() {
                post.put(|news| news.reload = true);
            }
        });
    })?;
    Ok(())
}

/// A descriptor a session is needed, and the usual limit is meant for `select`.
fn more_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, what has no descriptor is seen by the next look.
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests;
