//! Profiles: the built-in ones, and chains of `extends`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::Context;
use super::intake::intake;
use super::layers::{Entry, Layer, Layers};
use super::merge::Over;
use super::suggest::did_you_mean;
use crate::agents::kind::Kind;
use crate::spec::name::Name;
use crate::spec::settings::Settings;
use crate::spec::words::Argv;

/// The longest chain of `extends`.
const MAX_CHAIN: usize = 32;

/// The kinds of a fleet: its own, then the catalogue's.
pub struct Kinds<'a> {
    /// Those of the files.
    pub own: BTreeMap<Name, Kind>,
    /// Those that farhelm knows.
    pub known: &'a BTreeMap<Name, Kind>,
}

impl Kinds<'_> {
    /// A kind by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Kind> {
        self.own.get(name).or_else(|| self.known.get(name))
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.own.keys().chain(self.known.keys()).map(Name::as_str)
    }

    /// The kind whose program this is.
    #[must_use]
    pub fn by_program(&self, program: &str) -> Option<&Name> {
        let of = |kinds: &'_ BTreeMap<Name, Kind>| -> Option<Name> {
            kinds.iter().find(|(_, kind)| kind.executables.iter().any(|it| it == program)).map(|(name, _)| name.clone())
        };
        let found = of(&self.own).or_else(|| of(self.known))?;
        self.own.get_key_value(&found).or_else(|| self.known.get_key_value(&found)).map(|(name, _)| name)
    }

    /// The profile that a kind gives: its first program, and it.
    fn profile(&self, name: &str) -> Option<Settings> {
        let kind = self.get(name)?;
        let invocation = Some(Argv(kind.invocation()?));
        Some(Settings { kind: Some(kind.name.clone()), invocation, ..Settings::default() })
    }
}

/// A profile with everything it builds on, down to the defaults.
#[derive(Debug)]
pub struct Base {
    /// The settings.
    pub settings: Settings,
    /// Where they were said.
    pub layers: Arc<Vec<Layer>>,
    /// The built-in profile at the bottom.
    pub built_in: Option<Name>,
    /// Some of it was wrong, which has been reported: what is missing may be that.
    pub damaged: bool,
}

/// The profiles of a fleet, resolved; `None` where one is wrong, which has been reported.
pub struct Profiles<'a> {
    bases: BTreeMap<String, Option<Arc<Base>>>,
    names: Vec<String>,
    /// What sessions without a profile build on.
    pub defaults: Arc<Base>,
    kinds: &'a Kinds<'a>,
}

/// What a name of a profile stands for.
pub enum Named {
    /// A profile.
    Base(Arc<Base>),
    /// One that is wrong, which has been reported.
    Broken,
    /// None.
    Unknown(Option<String>),
}

impl<'a> Profiles<'a> {
    /// Resolves all of `entries`. `defaults` are the settings below every chain.
    pub fn resolve(
        context: &Context<'_>,
        entries: &BTreeMap<String, Entry>,
        defaults: Base,
        kinds: &'a Kinds<'a>,
    ) -> Self {
        let names = entries.keys().cloned().collect();
        let mut profiles = Self { bases: BTreeMap::new(), names, defaults: Arc::new(defaults), kinds };
        for name in entries.keys() {
            profiles.chain(context, entries, name);
        }
        profiles
    }

    /// What `name` stands for.
    pub fn get(&mut self, name: &str) -> Named {
        match self.bases.get(name) {
            Some(Some(base)) => return Named::Base(base.clone()),
            Some(None) => return Named::Broken,
            None => {}
        }
        match self.built_in(name) {
            Some(base) => {
                self.bases.insert(name.to_owned(), Some(base.clone()));
                Named::Base(base)
            }
            None => Named::Unknown(self.near(name)),
        }
    }

    fn near(&self, name: &str) -> Option<String> {
        let built_in = self.kinds.names().filter(|name| self.kinds.profile(name).is_some());
        did_you_mean(name, self.names.iter().map(String::as_str).chain(built_in))
    }

    fn built_in(&self, name: &str) -> Option<Arc<Base>> {
        let settings = self.kinds.profile(name)?.over(&self.defaults.settings);
        let built_in = Name::new(name).ok();
        Some(Arc::new(Base {
            settings,
            layers: self.defaults.layers.clone(),
            built_in,
            damaged: self.defaults.damaged,
        }))
    }

    /// Resolves one profile and all it builds on.
    fn chain(&mut self, context: &Context<'_>, entries: &BTreeMap<String, Entry>, name: &str) {
        // From the profile asked for down to one whose base is known.
        let mut open: Vec<(String, Layer, Option<Settings>)> = Vec::new();
        let mut next = name.to_owned();
        let mut base = loop {
            if let Some(known) = self.bases.get(&next) {
                break known.clone();
            }
            let entry = &entries[&next];
            let settings = self.own(context, &next, entry);
            let extends = settings.as_ref().and_then(|settings| settings.extends.clone());
            let parent = extends.as_ref().map_or(next.as_str(), Name::as_str).to_owned();
            let circle = parent != next && open.iter().any(|(name, ..)| *name == parent);
            let good = settings.is_some();
            open.push((next.clone(), entry.layer.clone(), settings));
            if !good {
                break None;
            }
            if circle || open.len() > MAX_CHAIN {
                self.circle(context, &open, &parent);
                break None;
            }
            if parent != next && entries.contains_key(&parent) {
                next = parent;
                continue;
            }
            break self.bottom(context, entry, &parent, extends.is_some());
        };
        for (name, layer, settings) in open.into_iter().rev() {
            base = settings.zip(base).map(|(settings, below)| {
                let layers = std::iter::once(layer).chain(below.layers.iter().cloned()).collect();
                let settings = settings.over(&below.settings);
                let damaged = below.damaged || entries[&name].damaged;
                Arc::new(Base { settings, layers: Arc::new(layers), built_in: below.built_in.clone(), damaged })
            });
            self.bases.insert(name, base.clone());
        }
    }

    /// What the last of a chain builds on: the built-in profile `parent`, or the defaults.
    fn bottom(&self, context: &Context<'_>, entry: &Entry, parent: &str, asked: bool) -> Option<Arc<Base>> {
        match self.built_in(parent) {
            None if asked => {
                let layers = Layers { own: vec![entry.layer.clone()], ..Layers::default() };
                let message = format!("there is no profile `{parent}`");
                context.error(&layers, &["extends".into()], message, self.near(parent));
                None
            }
            None => Some(self.defaults.clone()),
            base => base,
        }
    }

    /// What one profile says itself. One with a kind and no command of its own starts the kind's program.
    fn own(&self, context: &Context<'_>, name: &str, entry: &Entry) -> Option<Settings> {
        if let Err(error) = Name::new(name) {
            if !entry.broken {
                let site = entry.layer.key_site(&context.files, &[]);
                context.report(super::draft::Draft::error(site, &entry.layer.path, error.to_string()));
            }
            return None;
        }
        let settings: Settings = context.read(entry)?;
        let mut settings = intake(context, &entry.layer, settings)?;
        if settings.extends.is_none()
            && settings.invocation.is_none()
            && let Some(kind) = &settings.kind
            && settings.resume.is_none()
        {
            settings.invocation = self.kinds.profile(kind.as_str()).and_then(|profile| profile.invocation);
        }
        Some(settings)
    }

    fn circle(&self, context: &Context<'_>, open: &[(String, Layer, Option<Settings>)], parent: &str) {
        let names: Vec<&str> = open.iter().map(|(name, ..)| name.as_str()).chain([parent]).collect();
        let message = match open.len() > MAX_CHAIN {
            true => format!("more than {MAX_CHAIN} profiles build on each other"),
            false => format!("profiles extend each other in a circle: {}", names.join(" -> ")),
        };
        if let Some((_, layer, _)) = open.last() {
            let layers = Layers { own: vec![layer.clone()], ..Layers::default() };
            context.error(&layers, &["extends".into()], message, None);
        }
    }
}
