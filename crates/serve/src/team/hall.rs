//! The palaces of a server as its callers see them: each with the rights of the caller, its pages, and its MCP server.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{FilingDoor, Result};
use loci_engine::{AccessPolicy, Palace};
use loci_team::{PalaceRights, TeamActor, TeamCaller, TokenId};
use loci_web::{Site, Visit};

use super::settings::{ServedPalace, TeamSettings};

/// The most palaces with the rights of one caller that are kept open.
const MOST_OPENED: usize = 512;
/// The most visits of browsers that are remembered: one for each session and palace.
const MOST_VISITS: usize = 20_000;

/// The settings of the moment and what was opened under them.
pub(super) struct PalaceHall {
    pub(super) settings: TeamSettings,
    opened: Mutex<BoundedMap<OpenedKey, Arc<CallerPalace>>>,
    visits: Mutex<BoundedMap<(String, String), Arc<Visit>>>,
}

/// A palace with the rights of one caller.
pub(super) struct CallerPalace {
    /// Its name.
    pub(super) name: String,
    /// For agents and programs.
    pub(super) palace: Palace,
    /// Its pages.
    pub(super) site: Site,
}

/// The key of an opened palace: callers never share one, nor does a caller whose rights have changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct OpenedKey {
    palace: String,
    who: TeamActor,
    token: Option<TokenId>,
    rights: String,
}

impl PalaceHall {
    /// Opens the hall; no palace is touched yet.
    pub(super) fn new(settings: TeamSettings) -> Self {
        Self {
            settings,
            opened: Mutex::new(BoundedMap::new(MOST_OPENED)),
            visits: Mutex::new(BoundedMap::new(MOST_VISITS)),
        }
    }

    /// Returns the names of the palaces.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.settings.palaces.iter().map(|served| served.name.as_str())
    }

    /// Returns a palace as a caller sees it; `None` if it does not exist for that caller.
    pub(super) fn open(&self, name: &str, caller: &TeamCaller) -> Option<Arc<CallerPalace>> {
        let served = self.settings.palaces.iter().find(|served| served.name == name)?;
        let rights = caller.rights.on_palace(name)?;
        let key = OpenedKey {
            palace: name.to_owned(),
            who: caller.actor.clone(),
            token: caller.token.clone(),
            // The text of all of them, so that no two different rights are taken for the same.
            rights: format!("{rights:?}"),
        };
        let open = || Ok(Arc::new(CallerPalace::new(served, &rights)));
        lock(&self.opened).get_or_insert(key, open).ok()
    }

    /// Lists the palaces that exist for a caller, with its rights in each.
    pub(super) fn list(&self, caller: &TeamCaller) -> Vec<(String, PalaceRights)> {
        let palaces = self.settings.palaces.iter();
        palaces
            .filter_map(|served| Some((served.name.clone(), caller.rights.on_palace(&served.name)?)))
            .collect()
    }

    /// Returns the visit of a browser to a palace.
    pub(super) fn visit(&self, form_secret: &str, palace: &str) -> Result<Arc<Visit>> {
        let key = (form_secret.to_owned(), palace.to_owned());
        lock(&self.visits).get_or_insert(key, || Visit::begin().map(Arc::new))
    }

    /// Asks every long operation to stop.
    pub(super) fn stop_jobs(&self) {
        for opened in lock(&self.opened).values() {
            opened.site.stop_jobs();
        }
    }
}

impl CallerPalace {
    fn new(served: &ServedPalace, rights: &PalaceRights) -> Self {
        let access = AccessPolicy {
            palace_name: Some(served.name.clone()),
            ..access_of(rights)
        };
        let restricted = served.palace.clone().restricted_to(access);
        let page = restricted.clone().entering_through(FilingDoor::Page);
        Self {
            name: served.name.clone(),
            palace: restricted.entering_through(FilingDoor::Agent),
            site: Site::new(page, Arc::clone(&served.host)),
        }
    }
}

/// Returns what rights in a palace allow. Files of the server are read for no caller.
fn access_of(rights: &PalaceRights) -> AccessPolicy {
    AccessPolicy {
        reads: rights.reads.clone(),
        writes: rights.writes.clone(),
        deletes: rights.deletes.clone(),
        administers: rights.administers,
        reads_files: false,
        usual_wing: None,
        spells_wings: false,
        palace_name: None,
    }
}

/// Describes rights for people, such as `read, write in 2 wings`.
pub(super) fn describe_rights(rights: &PalaceRights) -> String {
    let reach = |verb: &str, reach: &loci_core::WingReach| match reach.named_wings() {
        _ if reach.is_everywhere() => Some(verb.to_owned()),
        [] => None,
        [wing] => Some(format!("{verb} in {wing}")),
        wings => Some(format!("{verb} in {} wings", wings.len())),
    };
    let verbs = [
        reach("read", &rights.reads),
        reach("write", &rights.writes),
        reach("delete", &rights.deletes),
        rights.administers.then(|| "admin".to_owned()),
    ];
    verbs.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A map that forgets what was put in first once it is full.
struct BoundedMap<K, V> {
    most: usize,
    entries: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V: Clone> BoundedMap<K, V> {
    fn new(most: usize) -> Self {
        Self {
            most,
            entries: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    fn get_or_insert(&mut self, key: K, make: impl FnOnce() -> Result<V>) -> Result<V> {
        if let Some(known) = self.entries.get(&key) {
            return Ok(known.clone());
        }
        let made = make()?;
        while self.entries.len() >= self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.entries.insert(key, made.clone());
        Ok(made)
    }

    fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_team::TeamRights;

    #[test]
    fn a_full_map_forgets_the_oldest() {
        let mut map = BoundedMap::new(2);
        for key in ["a", "b", "a", "c"] {
            map.get_or_insert(key, || Ok(key.to_owned())).unwrap();
        }
        let mut left: Vec<_> = map.values().cloned().collect();
        left.sort();
        assert_eq!(left, ["b", "c"]);
    }

    #[test]
    fn rights_are_described_in_a_few_words() {
        let rights = TeamRights::parse(["work:read", "work/garden:write", "work/a:delete", "work/b:delete"]);
        let rights = rights.unwrap().on_palace("work").unwrap();
        assert_eq!(
            describe_rights(&rights),
            "read, write in garden, delete in 2 wings"
        );
    }
}
