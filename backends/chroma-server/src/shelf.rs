//! One collection on its server, and the collection beside it.

use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{CollectionName, Result};
use serde_json::json;

use crate::address::encode_percent;
use crate::client::{ChromaClient, ClientOutcome};
use crate::deadline::ChromaDeadline;
use crate::failure::missing_collection;
use crate::gate::CollectionGate;
use crate::listing::IdListing;
use crate::names::{server_name, side_name};
use crate::wire::{CollectionAnswer, DeleteQuestion, GetAnswer, GetQuestion, RecordAnswer, UpsertQuestion};

/// The key that ties the collection beside another one to it: one that was dropped and made again is another one.
const MAIN: &str = "loci:main";

/// A collection that was found on a server.
#[derive(Debug)]
pub(crate) struct ChromaShelf {
    pub(crate) client: Arc<ChromaClient>,
    /// The path of its database.
    database: String,
    pub(crate) name: CollectionName,
    /// The id that the server gave it; never that of a later collection of the same name.
    id: String,
    side: Mutex<Option<String>>,
    pub(crate) gate: Arc<CollectionGate>,
    pub(crate) listing: Mutex<Option<IdListing>>,
}

/// Which of the two collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShelfPart {
    /// The collection itself: drawers with vectors, and the records of other programs.
    Main,
    /// The collection beside it: drawers without vectors, and facts.
    Side,
}

/// Returns the path of a collection by name.
pub(crate) fn named_path(database: &str, name: &str) -> String {
    format!("{database}/collections/{}", encode_percent(name))
}

impl ChromaShelf {
    /// Finds an existing collection.
    pub(crate) fn find(client: Arc<ChromaClient>, database: String, name: &CollectionName) -> Result<Self> {
        let path = named_path(&database, &server_name(name.as_str()));
        let found = client.get::<CollectionAnswer>(&path, ChromaDeadline::default());
        let found = found.map_err(|refusal| {
            if refusal.is_missing() {
                missing_collection(name)
            } else {
                refusal.error
            }
        })?;
        let gate = CollectionGate::find(&client.url.base(), &found.id);
        Ok(Self {
            client,
            database,
            name: name.clone(),
            id: found.id,
            side: Mutex::default(),
            gate,
            listing: Mutex::default(),
        })
    }

    /// Describes it; `NotFound` if it was dropped, even if another one has its name now.
    pub(crate) fn describe(&self, deadline: ChromaDeadline) -> Result<CollectionAnswer> {
        let path = named_path(&self.database, &server_name(self.name.as_str()));
        match self.client.get::<CollectionAnswer>(&path, deadline) {
            Ok(found) if found.id == self.id => Ok(found),
            Ok(_) => Err(missing_collection(&self.name)),
            Err(refusal) => Err(self.name_missing(refusal)),
        }
    }

    fn name_missing(&self, refusal: crate::failure::RequestRefusal) -> loci_core::Error {
        if refusal.is_missing() {
            missing_collection(&self.name)
        } else {
            refusal.error
        }
    }

    /// Returns the id of the collection beside it, if there is one.
    fn find_side(&self, deadline: ChromaDeadline) -> Result<Option<String>> {
        if let Some(id) = &*self.side.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Some(id.clone()));
        }
        let path = named_path(&self.database, &side_name(&server_name(self.name.as_str())));
        let found = match self.client.get::<CollectionAnswer>(&path, deadline) {
            Ok(found) => found,
            Err(refusal) if refusal.is_missing() => return Ok(None),
            Err(refusal) => return Err(refusal.into()),
        };
        if found.text(MAIN) != Some(self.id.as_str()) {
            return Ok(None);
        }
        *self.side.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.id.clone());
        Ok(Some(found.id))
    }

    /// Returns the id of the collection beside it, which is made if it is missing. Only writers call this.
    fn make_side(&self) -> Result<String> {
        if let Some(id) = self.find_side(ChromaDeadline::default())? {
            return Ok(id);
        }
        let name = side_name(&server_name(self.name.as_str()));
        // Left by a collection of this name that another program dropped.
        match self.client.delete(&named_path(&self.database, &name)) {
            Ok(()) => {}
            Err(refusal) if refusal.is_missing() => {}
            Err(refusal) => return Err(refusal.into()),
        }
        let question =
            json!({"name": name, "get_or_create": true, "metadata": {MAIN: self.id, "hnsw:space": "l2"}});
        let path = format!("{}/collections", self.database);
        let made: CollectionAnswer = self.client.post(&path, &question, ChromaDeadline::default())?;
        *self.side.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.id.clone());
        Ok(made.id)
    }

    /// Returns the path of an operation; `None` for the collection beside it where there is none.
    fn path(&self, part: ShelfPart, operation: &str, deadline: ChromaDeadline) -> Result<Option<String>> {
        let id = match part {
            ShelfPart::Main => Some(self.id.clone()),
            ShelfPart::Side => self.find_side(deadline)?,
        };
        Ok(id.map(|id| format!("{}/collections/{id}/{operation}", self.database)))
    }

    /// Fetches records.
    pub(crate) fn fetch(
        &self,
        part: ShelfPart,
        question: &GetQuestion<'_>,
        deadline: ChromaDeadline,
    ) -> Result<Vec<RecordAnswer>> {
        let Some(path) = self.path(part, "get", deadline)? else {
            return Ok(Vec::new());
        };
        let answer: GetAnswer = self
            .client
            .post(&path, question, deadline)
            .map_err(|refusal| self.name_missing(refusal))?;
        Ok(answer.into_records().collect())
    }

    /// Asks the server's own index.
    pub(crate) fn ask_nearest<T: serde::de::DeserializeOwned>(
        &self,
        question: &impl serde::Serialize,
        deadline: ChromaDeadline,
    ) -> Result<T> {
        let path = format!("{}/collections/{}/query", self.database, self.id);
        let answer = self.client.post(&path, question, deadline);
        answer.map_err(|refusal| self.name_missing(refusal))
    }

    /// Counts the records of the collection itself.
    pub(crate) fn count_main(&self, deadline: ChromaDeadline) -> Result<u64> {
        let path = format!("{}/collections/{}/count", self.database, self.id);
        let counted = self.client.get(&path, deadline);
        counted.map_err(|refusal| self.name_missing(refusal))
    }

    /// Writes records.
    pub(crate) fn upsert(&self, part: ShelfPart, question: &UpsertQuestion<'_>) -> Result<()> {
        if question.ids.is_empty() {
            return Ok(());
        }
        let id = match part {
            ShelfPart::Main => self.id.clone(),
            ShelfPart::Side => self.make_side()?,
        };
        let path = format!("{}/collections/{id}/upsert", self.database);
        let written = self.client.post_write(&path, question);
        written.map_err(|refusal| self.name_missing(refusal))
    }

    /// Removes records.
    pub(crate) fn remove(&self, part: ShelfPart, question: &DeleteQuestion) -> Result<()> {
        if question.ids.is_empty() {
            return Ok(());
        }
        let Some(path) = self.path(part, "delete", ChromaDeadline::default())? else {
            return Ok(());
        };
        let removed = self.client.post_write(&path, question);
        removed.map_err(|refusal| self.name_missing(refusal))
    }
}

/// Drops the collection called `name` on the server, and the one beside it.
pub(crate) fn drop_both(client: &ChromaClient, database: &str, name: &str) -> ClientOutcome<()> {
    // The collection itself first: without it, the other one is never read.
    client.delete(&named_path(database, name))?;
    match client.delete(&named_path(database, &side_name(name))) {
        Err(refusal) if !refusal.is_missing() => Err(refusal),
        _ => Ok(()),
    }
}
