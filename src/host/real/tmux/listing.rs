//! Reading `list-panes`.

use std::collections::BTreeSet;

use crate::host::tmux::{Pane, PaneEnd, PaneId, Panes, StampText, TmuxSession};
use crate::spec::visible::visible;

/// One line a pane. The stamps use an alphabet without `|`, and a session's name may hold anything and is last.
/// `pane_current_path` and its like would cost the server a look into `/proc` for each pane.
pub(super) const FORMAT: &str = "#{pid}|#{pane_id}|#{session_id}|#{pane_pid}|#{session_attached}|#{pane_dead}|\
    #{pane_dead_status}|#{pane_dead_signal}|#{pane_dead_time}|id=#{@farhelm_id}|#{@farhelm_stamp}|#{session_name}";

/// The parts of a stamp.
pub(super) const STAMPS: [&str; 11] =
    ["id", "owner", "fleet", "session", "generation", "fields", "dir", "conversation", "protect", "sources", "tab"];

/// The options that hold `stamp`: its id, which finds a session's panes, and all else as `name=value;…`. Every option
/// that is set makes tmux look at all of its windows again (3.3a: 100 panes with 14 options took 160 ms, with two 40 ms).
pub(super) fn options(stamp: &StampText) -> [(&'static str, String); 2] {
    let said = stamp.iter().filter(|(name, value)| *name != "id" && !value.is_empty());
    let parts: Vec<_> = said.map(|(name, value)| format!("{name}={value}")).collect();
    [("@farhelm_id", stamp.get("id").cloned().unwrap_or_default()), ("@farhelm_stamp", parts.join(";"))]
}

/// The panes, each once; `None` when there is none. A line that is not understood fails the whole listing: a pane left
/// out could be launched a second time.
pub(super) fn parse(text: &str) -> Result<Option<Panes>, String> {
    let mut answer: Option<Panes> = None;
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        let (server, pane) = parse_line(line).ok_or_else(|| {
            let line: String = visible(line).chars().take(120).collect();
            format!(
                "it lists a pane in a way that is not understood: `{line}`; were its @farhelm_ options set by hand?"
            )
        })?;
        let panes = answer.get_or_insert_with(|| Panes { server, panes: Vec::new() });
        // A pane is listed once for every session that links its window.
        if seen.insert(pane.id.clone()) {
            panes.panes.push(pane);
        }
    }
    Ok(answer)
}

fn parse_line(line: &str) -> Option<(i32, Pane)> {
    let mut fields = line.splitn(12, '|');
    let mut next = || fields.next();
    let server = next()?.parse().ok()?;
    let id = PaneId(next().filter(|id| id.starts_with('%'))?.to_owned());
    let session = TmuxSession(next().filter(|id| id.starts_with('$'))?.to_owned());
    let pid = next()?.parse().ok()?;
    let clients = next()?.parse().ok()?;
    let dead = next()? == "1";
    let end = PaneEnd { status: number(next()?).ok()?, signal: number(next()?).ok()?, at: number(next()?).ok()? };
    let id_of_stamp = next()?.strip_prefix("id=")?;
    let mut stamp = StampText::new();
    for part in next()?.split(';').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=')?;
        // A part that only a newer farhelm knows is not ours to judge.
        if STAMPS.contains(&name) && !value.is_empty() {
            stamp.insert(name.to_owned(), value.to_owned());
        }
    }
    if !id_of_stamp.is_empty() {
        stamp.insert("id".to_owned(), id_of_stamp.to_owned());
    }
    let session_name = next()?.to_owned();
    Some((server, Pane { id, session, session_name, pid, end: dead.then_some(end), clients, stamp }))
}

/// A number that may be missing.
fn number<T: std::str::FromStr>(text: &str) -> Result<Option<T>, T::Err> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart() {
        let panes = parse("77|%3|$1|4711|2|1|7||1700000000|id=u-1|dir=/a=b;tab=|a|b c\n").unwrap().unwrap();
        let pane = &panes.panes[0];
        assert_eq!((panes.server, pane.pid, pane.clients, pane.session_name.as_str()), (77, 4711, 2, "a|b c"));
        assert_eq!(pane.end, Some(PaneEnd { status: Some(7), signal: None, at: Some(1_700_000_000) }));
        assert_eq!(pane.stamp, [("id", "u-1"), ("dir", "/a=b")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    }

    #[test]
    fn what_is_set_is_listed_again() {
        let stamp: StampText = STAMPS.map(|name| (name.to_owned(), format!("/{name}:=,%20"))).into();
        let [(_, id), (_, rest)] = options(&stamp);
        let panes = parse(&format!("77|%3|$1|4711|0|0||||id={id}|{rest}|x\n")).unwrap().unwrap();
        assert_eq!(panes.panes[0].stamp, stamp);
    }

    #[test]
    fn a_pane_in_two_sessions_is_listed_once() {
        let line = |session| format!("77|%3|{session}|4711|0|0||||id=||x\n");
        let panes = parse(&(line("$1") + &line("$2"))).unwrap().unwrap();
        assert_eq!(panes.panes.len(), 1);
        assert_eq!(panes.panes[0].session.0, "$1");
    }

    #[test]
    fn a_stamp_that_breaks_the_line_fails_the_listing() {
        for line in ["77|%3|$1|4711|0|0||||id=a|b|owner=c|x", "x"] {
            assert!(parse(line).is_err(), "{line}");
        }
        // The spoiled value shifts only what comes after the stamps.
        let panes = parse("77|%3|$1|4711|0|0||||id=|sources=/a|tab=x|x").unwrap().unwrap();
        assert_eq!(panes.panes[0].session_name, "tab=x|x");
    }

    #[test]
    fn nothing_listed_is_no_answer() {
        assert_eq!(parse(""), Ok(None));
    }
}
