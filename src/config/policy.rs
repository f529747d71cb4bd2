//! `policy`: of all files, and what agents may ask for by it.

use std::collections::BTreeMap;

use super::context::Context;
use super::desired::{Policy, Spawn};
use super::expand::Claim;
use super::layers::{Entry, Layer};
use super::resolve::Resolver;
use super::tree::Step;
use crate::spec::fleet;
use crate::spec::name::Name;
use crate::spec::settings::Settings;

/// What agents may ask for, as the files say it.
#[derive(Debug, Default)]
pub struct Allowed {
    profiles: Vec<Name>,
    limits: Spawn,
}

/// The policy that all `entries` make together; what an entry leaves out stays.
pub fn read(context: &Context<'_>, entries: &[Entry]) -> (Policy, Allowed) {
    let (mut policy, mut allowed) = (Policy::default(), Allowed::default());
    for entry in entries {
        let Some(fleet::Policy { prune, max_reap, max_running, max_unavailable, launch, watch, spawn }) =
            context.read(entry)
        else {
            continue;
        };
        let launch = launch.unwrap_or_default();
        policy.prune = prune.unwrap_or(policy.prune);
        policy.max_reap = max_reap.map_or(policy.max_reap, |limit| limit as usize);
        policy.max_running = max_running.map(|limit| limit as usize).or(policy.max_running);
        policy.max_unavailable = max_unavailable.map(|limit| limit as usize).or(policy.max_unavailable);
        policy.parallel = launch.parallel.map_or(policy.parallel, |limit| limit as usize);
        policy.stagger = launch.stagger.map_or(policy.stagger, |stagger| stagger.0);
        policy.watch_prune = watch.and_then(|watch| watch.prune).unwrap_or(policy.watch_prune);
        let spawn = spawn.unwrap_or_default();
        allowed.profiles = spawn.allow.unwrap_or(allowed.profiles);
        allowed.limits.max_children = spawn.max_children.map_or(allowed.limits.max_children, |limit| limit as usize);
        allowed.limits.max_depth = spawn.max_depth.unwrap_or(allowed.limits.max_depth);
    }
    (policy, allowed)
}

impl Allowed {
    /// Resolves what a session of each profile would be.
    pub fn resolve(self, resolver: &mut Resolver<'_, '_>, policy: &[Entry]) -> Spawn {
        let mut templates = BTreeMap::new();
        let layers = self.named_at(resolver.context, policy);
        for profile in self.profiles {
            // The directory and the name come with each request.
            let settings =
                Settings { profile: Some(profile.clone()), dir: Some("/".to_owned()), ..Settings::default() };
            let claim = Claim { layers: layers.clone(), settings: Some(settings), damaged: false };
            if let Some((template, _)) = resolver.session(&profile, claim) {
                templates.insert(profile, template);
            }
        }
        Spawn { templates, ..self.limits }
    }

    /// Where the files name the profiles: what is wrong with one is told there.
    fn named_at(&self, context: &Context<'_>, policy: &[Entry]) -> Vec<Layer> {
        let path: [Step; 2] = ["spawn".into(), "allow".into()];
        let layers = policy.iter().rev().map(|entry| &entry.layer);
        let named = layers.filter_map(|layer| {
            let found = context.files[layer.file].tree.find(layer.node, &path);
            let path = format!("{}.spawn.allow", layer.path);
            (found.steps == 2).then_some(Layer { node: found.node, key: found.key, path, file: layer.file })
        });
        named.take(1).collect()
    }
}
