//! What settings name beside themselves: env files and prompt files are read, and relative paths anchored, while it
//! is known which file says so.

use std::collections::BTreeMap;

use super::context::Context;
use super::dotenv;
use super::layers::{Layer, Layers};
use super::source;
use super::tree::Step;
use crate::spec::settings::{Format, OnChange, Settings};
use crate::spec::words::{Text, prompt_fault};

/// Settings with their files read; none where something is wrong, which is reported.
pub fn intake(context: &Context<'_>, layer: &Layer, settings: Settings) -> Option<Settings> {
    if settings.env.is_none()
        && settings.env_file.is_none()
        && settings.env_from.is_none()
        && settings.prompt.is_none()
        && settings.prompt_file.is_none()
        && settings.tabs.is_none()
    {
        return Some(settings);
    }
    let layers = Layers { own: vec![layer.clone()], ..Layers::default() };
    let mut intake = Intake { context, layer, layers, good: true };
    let mut settings = settings;
    intake.prompt(&mut settings);
    intake.references(&mut settings);
    intake.env_files(&mut settings);
    intake.environment(&settings);
    intake.good.then_some(settings)
}

struct Intake<'a, 'c> {
    context: &'a Context<'c>,
    layer: &'a Layer,
    layers: Layers,
    good: bool,
}

impl Intake<'_, '_> {
    fn wrong(&mut self, path: &[Step], message: impl Into<String>) {
        self.good = false;
        self.context.error(&self.layers, path, message, None);
    }

    fn prompt(&mut self, settings: &mut Settings) {
        if let Some(file) = settings.prompt_file.take() {
            let at = ["prompt_file".into()];
            if settings.prompt.is_some() {
                return self.wrong(&at, "`prompt` and `prompt_file` exclude each other");
            }
            let path = self.context.path(&self.context.files[self.layer.file].dir, &file);
            self.context.trail.borrow_mut().insert(path.clone());
            match source::read_text(&path) {
                Ok(text) => settings.prompt = Some(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)),
                Err(words) => return self.wrong(&at, format!("prompt file {} {words}", path.display())),
            }
        }
        let Some(prompt) = &settings.prompt else { return };
        if let Some(fault) = prompt_fault(prompt) {
            self.wrong(&["prompt".into()], fault);
        }
    }

    fn references(&mut self, settings: &mut Settings) {
        let dir = self.context.files[self.layer.file].dir.clone();
        for (name, from) in settings.env_from.iter_mut().flatten() {
            let at = [Step::from("env_from"), Step::Key(name.clone())];
            match (&from.file, &from.command) {
                (Some(file), None) => from.file = Some(self.context.path(&dir, file).display().to_string()),
                (None, Some(_)) => {}
                (Some(_), Some(_)) => self.wrong(&at, "`file` and `command` exclude each other"),
                (None, None) => self.wrong(&at, "says neither `file` nor `command`"),
            }
            if from.file.is_some() && from.format == Some(Format::Dotenv) {
                self.wrong(&at, "`format: dotenv` is for commands; a file of variables is an `env_file`");
            }
            if from.command.is_some() && from.on_change == Some(OnChange::Restart) {
                self.wrong(&at, "`on_change: restart` is for files; a command's output is not watched");
            }
        }
    }

    fn env_files(&mut self, settings: &mut Settings) {
        let Some(files) = settings.env_file.take() else { return };
        let mut found: BTreeMap<String, Text> = BTreeMap::new();
        for (index, file) in files.0.iter().enumerate() {
            let at = match files.0.len() {
                1 => vec![Step::from("env_file")],
                _ => vec![Step::from("env_file"), Step::Item(index)],
            };
            let path = self.context.path(&self.context.files[self.layer.file].dir, file);
            self.context.trail.borrow_mut().insert(path.clone());
            let lines = source::read_text(&path)
                .and_then(|text| dotenv::parse(&text).map_err(|error| format!("is wrong: {error}")));
            match lines {
                Ok(lines) => found.extend(lines.into_iter().map(|(name, value)| (name, Text(value)))),
                Err(words) => self.wrong(&at, format!("env file {} {words}", path.display())),
            }
        }
        // A variable that is also referred to has that source; literals beat files.
        found.retain(|name, _| settings.env_from.as_ref().is_none_or(|from| !from.contains_key(name)));
        let env = settings.env.get_or_insert_default();
        for (name, value) in found {
            env.entry(name).or_insert(value);
        }
    }

    fn environment(&mut self, settings: &Settings) {
        let literals = settings.env.iter().flatten().map(|(name, value)| ("env", name, Some(value)));
        let references = settings.env_from.iter().flatten().map(|(name, _)| ("env_from", name, None));
        for (map, name, value) in literals.chain(references) {
            self.variable(&[Step::from(map), Step::Key(name.clone())], name, value);
        }
        for name in settings.env.iter().flatten().map(|(name, _)| name) {
            if settings.env_from.as_ref().is_some_and(|from| from.contains_key(name)) {
                let at = [Step::from("env_from"), Step::Key(name.clone())];
                self.wrong(&at, format!("`{name}` is in `env` and in `env_from`; it can have one source"));
            }
        }
        for (tab, settings) in settings.tabs.iter().flatten() {
            for (name, value) in settings.env.iter().flatten() {
                let at = ["tabs".into(), tab.as_str().into(), "env".into(), Step::Key(name.clone())];
                self.variable(&at, name, Some(value));
            }
        }
    }

    fn variable(&mut self, at: &[Step], name: &str, value: Option<&Text>) {
        if name.starts_with("FARHELM_") {
            self.wrong(
                at,
                format!("`{name}` is farhelm's own; variables that begin with FARHELM_ are set by it alone"),
            );
        } else if value.is_some_and(|value| value.0.contains('\0')) {
            self.wrong(at, format!("the value of `{name}` holds a NUL, which no variable can"));
        }
    }
}
