//! The plan as an operator reads it: a line an item, its causes under it, the destructive ones again by name, totals.

mod line;
pub(super) mod reason;

use std::collections::BTreeMap;
use std::fmt::Write;

use super::action::{Action, ConversationFate, Item};
use super::units::count;
use super::{Counters, Header, Plan};
use crate::spec::visible::visible;

use line::Line;

/// The same cause on at least so many sessions is one group.
const GROUP: usize = 4;
/// Lists of names are wrapped here.
const WIDTH: usize = 100;
/// Where the second and further lines of an item begin.
const INDENT: &str = "         ";

/// How much to show.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// Unchanged sessions too (`--all`).
    pub all: bool,
    /// A line an item, no causes (`--brief`).
    pub brief: bool,
    /// Colour the signs; nothing needs it to be read.
    pub color: bool,
}

/// The plan in words, ending in a newline.
#[must_use]
pub fn render(plan: &Plan, style: Style) -> String {
    let mut text = header(&plan.header);
    let mut lines: Vec<Line<'_>> = plan
        .items
        .iter()
        .filter(|item| style.all || item.action != Action::Unchanged || !item.notes.is_empty())
        .map(|item| Line::of(item, &plan.header))
        .collect();
    lines.sort_by_key(|line| line.rank);
    if !lines.is_empty() {
        text.push('\n');
    }
    let widths = Widths::of(&lines);
    for group in groups(&lines) {
        match group.as_slice() {
            [] => {}
            [line] => single(&mut text, line, widths, style),
            [first, ..] => many(&mut text, first, &group, style),
        }
    }
    text.push('\n');
    let destroyed: Vec<String> = plan.items.iter().filter_map(destroys).collect();
    if !destroyed.is_empty() {
        wrapped(&mut text, "Destroys: ", "          ", &destroyed);
    }
    text.push_str(&totals(&plan.counters));
    text.push('\n');
    text
}

/// `fleet payments · fleet.yaml at a1b2c3d · 45 sessions · tmux -L farhelm`.
fn header(header: &Header) -> String {
    let mut parts = vec![format!("fleet {}", header.fleet.as_ref().map_or("?", |fleet| fleet.as_str()))];
    let at = header.revision.as_ref().map(|revision| format!(" at {revision}")).unwrap_or_default();
    parts.push(format!("{}{at}", line::files(header)));
    parts.push(count(header.sessions, "session"));
    parts.push(server(header));
    let mut text = visible(&parts.join(" · "));
    text.push('\n');
    if !header.from_environment.is_empty() {
        let names: Vec<String> = header.from_environment.iter().map(|name| visible(name)).collect();
        wrapped(&mut text, "from the environment: ", "  ", &names);
    }
    text
}

/// The server as one would name it to tmux.
fn server(header: &Header) -> String {
    let path = header.socket.path();
    let folder = path.parent().and_then(|folder| folder.file_name()).and_then(|name| name.to_str());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) if folder.starts_with("tmux-") => format!("tmux -L {}", name.display()),
        _ => format!("tmux -S {}", path.display()),
    }
}

/// Column widths, the gap behind each included.
#[derive(Debug, Clone, Copy)]
struct Widths {
    name: usize,
    kind: usize,
    dir: usize,
}

impl Widths {
    fn of(lines: &[Line<'_>]) -> Self {
        let widest = |of: &dyn Fn(&Line<'_>) -> usize| lines.iter().map(of).max().unwrap_or(0);
        Self {
            name: widest(&|line| line.name.chars().count()) + 3,
            kind: widest(&|line| line.kind.chars().count()) + 2,
            dir: widest(&|line| line.dir.chars().count()) + 5,
        }
    }
}

/// Lines with the same word, the same cause and the same kind of cost, in order of their first.
fn groups<'a, 'b>(lines: &'b [Line<'a>]) -> Vec<Vec<&'b Line<'a>>> {
    let mut sizes: BTreeMap<_, usize> = BTreeMap::new();
    for line in lines {
        *sizes.entry(line.group()).or_default() += 1;
    }
    let mut places: BTreeMap<_, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Line<'_>>> = Vec::new();
    for line in lines {
        let key = line.group();
        if let Some(place) = places.get(&key) {
            groups[*place].push(line);
            continue;
        }
        if line.notes.is_empty() && sizes.get(&key).is_some_and(|size| *size >= GROUP) {
            places.insert(key, groups.len());
        }
        groups.push(vec![line]);
    }
    groups
}

fn single(text: &mut String, line: &Line<'_>, widths: Widths, style: Style) {
    let Widths { name, kind, dir } = widths;
    let head = head(line, style);
    let mut row = format!("{head}{:name$}", line.name);
    if !line.kind.is_empty() {
        let _ = write!(row, "{:kind$}", line.kind);
    }
    if !line.dir.is_empty() {
        let _ = write!(row, "{:dir$}", line.dir);
    }
    row.push_str(&line.tail);
    text.push_str(row.trim_end());
    text.push('\n');
    if style.brief {
        return;
    }
    if !line.because.is_empty() {
        let _ = writeln!(text, "{INDENT}because {}", line.because);
    }
    for note in &line.notes {
        let _ = writeln!(text, "{INDENT}note: {note}");
    }
}

fn many(text: &mut String, first: &Line<'_>, lines: &[&Line<'_>], style: Style) {
    let head = head(first, style);
    let tail = line::together(lines);
    let what = if first.tab.is_some() { "tab" } else { "session" };
    let gap = if tail.is_empty() { "" } else { "   " };
    let _ = writeln!(text, "{head}{}{gap}{tail}", count(lines.len(), what));
    if !style.brief && !first.because.is_empty() {
        let _ = writeln!(text, "{INDENT}because {}", first.because);
    }
    let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    wrapped(text, INDENT, INDENT, &names);
    for line in lines.iter().filter(|_| !style.brief) {
        for note in &line.notes {
            let _ = writeln!(text, "{INDENT}note: {}: {note}", line.name);
        }
    }
}

/// The sign and the word, padded.
fn head(line: &Line<'_>, style: Style) -> String {
    let head = format!("  {:<5}{:<18}", line.sign, line.word);
    let head = if line.word.len() >= 18 { format!("{head} ") } else { head };
    if !style.color {
        return head;
    }
    let code = match line.sign {
        "+" | ">" => 32,
        "~" | "…" => 33,
        "-" | "-/+" => 31,
        "!" | "?" => 35,
        _ => return head,
    };
    format!("\u{1b}[{code}m{head}\u{1b}[0m")
}

/// `parts`, comma by comma, wrapped.
fn wrapped(text: &mut String, first: &str, further: &str, parts: &[String]) {
    let mut row = first.to_owned();
    let mut empty = true;
    for (index, part) in parts.iter().enumerate() {
        let comma = if index + 1 < parts.len() { "," } else { "" };
        if !empty && row.chars().count() + part.chars().count() + 2 > WIDTH {
            text.push_str(row.trim_end());
            text.push('\n');
            further.clone_into(&mut row);
            empty = true;
        }
        let _ = write!(row, "{}{part}{comma}", if empty { "" } else { " " });
        empty = false;
    }
    text.push_str(row.trim_end());
    text.push('\n');
}

/// What an item destroys, by name.
fn destroys(item: &Item) -> Option<String> {
    let session = &item.session;
    if !item.action.effective() || !item.cost.destructive {
        return None;
    }
    Some(match (&item.action, &item.cost.conversation) {
        (Action::CloseTab(tab), _) => format!("close tab {session}:{tab}"),
        (Action::Launch(_), ConversationFate::Lost(_)) => format!("conversation of {session} (launch, fresh)"),
        (Action::Restart(_), ConversationFate::Lost(_)) => format!("conversation of {session} (restart, fresh)"),
        _ => format!("{} {session}", line::word(&item.action)),
    })
}

fn totals(counters: &Counters) -> String {
    let Counters { waiting, blocked, unknown, unchanged, .. } = *counters;
    if counters.changes() + waiting + blocked + unknown == 0 {
        return format!("Plan: no changes; {unchanged} unchanged.");
    }
    let mut parts = vec![
        match counters.launch {
            0 => "0 to launch".to_owned(),
            launch => format!("{launch} to launch ({} resumes)", counters.launch_resume),
        },
        format!("{} to adjust", counters.adjust),
        match counters.restart {
            0 => "0 to restart".to_owned(),
            restart => {
                format!("{restart} to restart ({} resumes, {} fresh)", counters.restart_resume, counters.restart_fresh)
            }
        },
    ];
    parts.extend((counters.stop > 0).then(|| format!("{} to stop", counters.stop)));
    parts.push(format!("{} to reap", counters.reap));
    parts.extend((counters.close_tab > 0).then(|| format!("{} to close", count(counters.close_tab, "tab"))));
    parts.push(format!("{waiting} waiting, {blocked} blocked, {unknown} unknown"));
    format!("Plan: {}; {unchanged} unchanged.", parts.join(", "))
}
