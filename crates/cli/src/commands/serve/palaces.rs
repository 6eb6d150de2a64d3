//! The palaces of a server: found by their references, opened when they are first needed, kept while they are served.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{CollectionName, Error, Result};
use loci_engine::Palace;
use loci_engine::keys::KeyFolder;
use loci_serve::team::{ServedPalace, TeamSettings};
use loci_team::TokenIssuers;

use super::config::{PalaceEntry, check_palace_name};
use super::host::ServingMachine;
use super::plan::TeamServerPlan;
use crate::commands::web::name_palace;
use crate::embedders::InstalledEmbedders;
use crate::environment::{ProcessEnvironment, now};
use crate::palace::locate_palace;
use crate::registry::BackendRegistry;
use crate::session::{CommandSession, find_address};

/// Finds the palaces of a server.
pub(super) struct ServedCatalog {
    environment: ProcessEnvironment,
    embedders: Arc<InstalledEmbedders>,
    collection: Option<CollectionName>,
    /// The palaces that were found before: one that stays in the settings stays open when they are read again.
    kept: Mutex<HashMap<PalaceEntry, ServedPalace>>,
}

impl ServedCatalog {
    pub(super) fn new(session: &CommandSession) -> Self {
        Self {
            environment: session.environment().clone(),
            embedders: session.embedders.clone(),
            collection: session.globals.collection.clone(),
            kept: Mutex::default(),
        }
    }

    /// The settings that a plan means.
    pub(super) fn build_settings(&self, plan: &TeamServerPlan) -> Result<TeamSettings> {
        let issuers = TokenIssuers::new(plan.issuers.clone())?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: HashMap<PalaceEntry, ServedPalace> = HashMap::new();
        let mut palaces: Vec<ServedPalace> = Vec::new();
        for entry in &plan.palaces {
            let known = kept.get(entry).cloned();
            let served = known.map_or_else(|| self.find_palace(entry), Ok)?;
            if palaces.iter().any(|other| other.name == served.name) {
                let message = format!("two palaces would be served as {:?}", served.name);
                return Err(Error::invalid(message)
                    .with_hint("nothing was changed; give each a name of its own: --palace NAME=REF"));
            }
            found.insert(entry.clone(), served.clone());
            palaces.push(served);
        }
        *kept = found;
        Ok(TeamSettings {
            palaces,
            issuers,
            public_url: plan.public_url.clone(),
            proxies: plan.proxies.clone(),
        })
    }

    fn find_palace(&self, entry: &PalaceEntry) -> Result<ServedPalace> {
        let registry = build_registry(&self.environment);
        let location = locate_palace(entry.reference.as_deref(), &self.environment, &registry)?;
        let name = entry.name.clone().unwrap_or_else(|| name_palace(&location));
        check_palace_name(&name)?;
        let host = ServingMachine {
            palace_name: name.clone(),
            environment: self.environment.clone(),
            embedders: self.embedders.clone(),
        };
        Ok(ServedPalace {
            palace: self.build_palace(entry),
            host: Arc::new(host),
            name,
        })
    }

    /// The palace, located at its first use: a server may start before its palaces exist.
    fn build_palace(&self, entry: &PalaceEntry) -> Palace {
        let (reference, environment) = (entry.reference.clone(), self.environment.clone());
        let find = move || {
            let registry = build_registry(&environment);
            find_address(reference.as_deref(), None, &environment, &registry)
        };
        let palace =
            Palace::with_locator(find, self.embedders.clone(), now).in_collection(self.collection.clone());
        match &self.environment.keys {
            Some(folder) => palace.with_keys(KeyFolder::new(folder)),
            None => palace,
        }
    }
}

/// The backends of a server: writers that come at the same time share a commit.
fn build_registry(environment: &ProcessEnvironment) -> BackendRegistry {
    BackendRegistry::standard(&environment.mempalace)
        .with_plugins(&environment.plugins)
        .grouping_writes()
}
