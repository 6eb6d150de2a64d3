//! The palace behind a server, found when it is first asked for and never before.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use loci_core::{
    Backend, Collection, CollectionName, CollectionReader, Comparison, Embedder, EmbedderIdentity, Error,
    ErrorKind, Filter, IdentityState, OpenOptions, PalaceRef, Result, Scalar, Timestamp,
};
use loci_engine::filing::{Embedders, Filing, Place};
use loci_engine::mine::spelled;

/// What a server shows and does of its palace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Nothing is changed.
    pub read_only: bool,
    /// Only these wings exist; all if empty.
    pub wings: Vec<String>,
}

impl Scope {
    /// Whether a wing exists for this server.
    pub fn holds(&self, wing: Option<&str>) -> bool {
        self.wings.is_empty() || wing.is_some_and(|wing| self.wings.iter().any(|own| own == wing))
    }

    /// The drawers that exist for this server; its wings are spelled as the collection spells them.
    fn visible(&self, collection: &dyn CollectionReader) -> Result<Filter> {
        if self.wings.is_empty() {
            return Ok(Filter::All);
        }
        let wings = self
            .wings
            .iter()
            .map(|wing| Ok(Scalar::Text(spelled(collection, wing)?)));
        let wings = Comparison::In(wings.collect::<Result<_>>()?);
        Ok(Filter::Compare("wing".into(), wings))
    }

    /// Refuses a wing that does not exist for this server.
    pub(crate) fn check_wing(&self, collection: &dyn CollectionReader, wing: Option<&str>) -> Result<()> {
        if self.wings.is_empty() {
            return Ok(());
        }
        for own in &self.wings {
            if wing == Some(spelled(collection, own)?.as_str()) {
                return Ok(());
            }
        }
        let message = match wing {
            Some(wing) => format!("there is no wing {wing:?} here"),
            None => "a wing must be named here".to_owned(),
        };
        let verb = if self.wings.len() == 1 { "is" } else { "are" };
        let hint = format!("nothing was changed; there {verb}: {}", self.wings.join(", "));
        Err(Error::new(ErrorKind::NotFound, message).hint(hint))
    }
}

/// A palace that was looked for: what holds it, and which collection is meant.
#[derive(Debug, Clone)]
pub struct Found {
    /// What holds it.
    pub backend: Arc<dyn Backend>,
    /// The palace.
    pub palace: PalaceRef,
    /// The collection that is meant in it.
    pub collection: CollectionName,
}

/// How a palace is looked for.
type Find = Box<dyn Fn() -> Result<Found> + Send + Sync>;

/// The palace behind a server.
pub struct House {
    find: Find,
    found: OnceLock<Found>,
    embedders: Kept,
    filing: Mutex<Option<(Filing, IdentityState)>>,
    clock: fn() -> Timestamp,
    pub(crate) scope: Scope,
}

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("House")
            .field("found", &self.found)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl House {
    /// A palace that `find` finds when it is needed. Touches nothing yet.
    pub fn new(find: Find, embedders: Box<dyn Embedders>, clock: fn() -> Timestamp, scope: Scope) -> Self {
        Self {
            find,
            found: OnceLock::new(),
            embedders: Kept {
                inner: embedders,
                found: Mutex::default(),
            },
            filing: Mutex::default(),
            clock,
            scope,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub(crate) fn clock(&self) -> fn() -> Timestamp {
        self.clock
    }

    pub(crate) fn embedders(&self) -> &dyn Embedders {
        &self.embedders
    }

    /// The palace. One that is not there is looked for again the next time.
    pub(crate) fn found(&self) -> Result<Found> {
        if let Some(found) = self.found.get() {
            return Ok(found.clone());
        }
        let found = (self.find)()?;
        let opened = found
            .backend
            .open(&found.palace, &found.collection, &OpenOptions::default());
        match opened {
            Ok(_) => Ok(self.found.get_or_init(|| found).clone()),
            Err(_) => Ok(found),
        }
    }

    /// The collection as this server may see it. Makes nothing.
    pub(crate) fn read(&self) -> Result<Arc<dyn Collection>> {
        let found = self.found()?;
        let open = |options: &OpenOptions| found.backend.open(&found.palace, &found.collection, options);
        let whole = open(&OpenOptions::default()).map_err(|error| match error.kind() {
            ErrorKind::NotFound => nothing_there(&found),
            _ => error,
        })?;
        if self.scope.wings.is_empty() {
            return Ok(whole);
        }
        open(&OpenOptions {
            visible: self.scope.visible(whole.as_ref())?,
            ..OpenOptions::default()
        })
    }

    /// The drawers that exist for this server in a palace that may not be there yet.
    fn visible(&self, found: &Found) -> Result<Filter> {
        if self.scope.wings.is_empty() {
            return Ok(Filter::All);
        }
        match found
            .backend
            .open(&found.palace, &found.collection, &OpenOptions::default())
        {
            Ok(whole) => self.scope.visible(whole.as_ref()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let wings = self.scope.wings.iter().cloned().map(Scalar::Text).collect();
                Ok(Filter::Compare("wing".into(), Comparison::In(wings)))
            }
            Err(error) => Err(error),
        }
    }

    /// Writes with what files into the palace, which is made if it is missing. Where somebody moved the palace to another
    /// model, or an earlier commit failed, it is opened anew and tried once more.
    pub(crate) fn file<T>(&self, write: impl Fn(&Filing, &dyn Collection) -> Result<T>) -> Result<T> {
        let attempt = |filing: Filing| write(&filing, filing.collection().as_ref());
        match attempt(self.filing()?) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::IdentityMismatch | ErrorKind::Poisoned | ErrorKind::NotFound
                ) =>
            {
                self.forget();
                attempt(self.filing()?)
            }
            done => done,
        }
    }

    fn forget(&self) {
        *self.filing.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What files into the palace, opened anew where another model speaks for it by now.
    fn filing(&self) -> Result<Filing> {
        let kept = self.filing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((filing, identity)) = kept
            && filing
                .collection()
                .info()
                .is_ok_and(|info| info.identity == identity)
        {
            return Ok(filing);
        }
        let found = self.found()?;
        let visible = self.visible(&found)?;
        let filing = Filing::open(&self.place(&found, &visible), None)?;
        let identity = filing.collection().info()?.identity;
        *self.filing.lock().unwrap_or_else(PoisonError::into_inner) = Some((filing.clone(), identity));
        Ok(filing)
    }

    /// Where to file.
    pub(crate) fn place<'a>(&'a self, found: &'a Found, visible: &'a Filter) -> Place<'a> {
        Place {
            backend: found.backend.as_ref(),
            palace: &found.palace,
            collection: &found.collection,
            embedders: &self.embedders,
            visible,
        }
    }
}

fn nothing_there(found: &Found) -> Error {
    let message = format!("there is no palace at {} yet", found.palace.id);
    Error::new(ErrorKind::NotFound, message)
        .with("palace", &found.palace.id)
        .hint("`add` or `mine` makes it; so does `loci init`")
}

/// Embedders that were found before are not looked for again: a model is loaded once for each server.
#[derive(Debug)]
struct Kept {
    inner: Box<dyn Embedders>,
    found: Mutex<HashMap<EmbedderIdentity, Arc<dyn Embedder>>>,
}

impl Embedders for Kept {
    fn usual(&self) -> Result<Option<Arc<dyn Embedder>>> {
        self.inner.usual()
    }

    fn find(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        let kept = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(embedder) = kept().get(identity) {
            return Ok(embedder.clone());
        }
        let embedder = self.inner.find(identity)?;
        kept().insert(identity.clone(), embedder.clone());
        Ok(embedder)
    }
}
