//! The ids of a collection in order, kept for the pages after the first.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use loci_core::{DrawerId, Result};
use loci_foreign::scan::substitute_id;

use crate::deadline::ChromaDeadline;
use crate::shelf::{ChromaShelf, ShelfPart};
use crate::side::DRAWER;
use crate::wire::GetQuestion;

/// The time for which a listing serves further pages. Other programs may write meanwhile: their drawers are then seen by
/// the next listing.
const SERVES_FOR: Duration = Duration::from_secs(60);

/// The ids of all drawers, each with the id of its record.
pub(crate) type DrawerIds = BTreeMap<DrawerId, String>;

/// A listing, and the state in which it was made.
#[derive(Debug)]
pub(crate) struct IdListing {
    ids: Arc<DrawerIds>,
    made: Instant,
    writes: u64,
}

impl ChromaShelf {
    /// Lists the ids of all drawers; a further page may use the listing of the first if this process has written nothing
    /// since.
    pub(crate) fn list_ids(&self, is_further: bool, deadline: ChromaDeadline) -> Result<Arc<DrawerIds>> {
        let writes = self.gate.count_writes();
        let mut kept = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = &*kept
            && is_further
            && listing.writes == writes
            && listing.made.elapsed() < SERVES_FOR
        {
            return Ok(Arc::clone(&listing.ids));
        }
        let made = Instant::now();
        let ids = Arc::new(self.fetch_ids(deadline)?);
        *kept = Some(IdListing {
            ids: Arc::clone(&ids),
            made,
            writes,
        });
        Ok(ids)
    }

    fn fetch_ids(&self, deadline: ChromaDeadline) -> Result<DrawerIds> {
        let mut ids = DrawerIds::new();
        for record in self.fetch(ShelfPart::Main, &GetQuestion::default(), deadline)? {
            ids.insert(drawer_id(&record.id)?, record.id);
        }
        for record in self.fetch(ShelfPart::Side, &GetQuestion::default(), deadline)? {
            if let Some(id) = record.id.strip_prefix(DRAWER) {
                ids.insert(drawer_id(id)?, id.to_owned());
            }
        }
        Ok(ids)
    }
}

/// Returns the id of the drawer that a record is.
fn drawer_id(own: &str) -> Result<DrawerId> {
    DrawerId::new(own).or_else(|_| substitute_id(own))
}

/// Whether an id may stand for a record whose own is too long.
pub(crate) fn may_be_substitute(id: &DrawerId) -> bool {
    let mark = id.as_str().rsplit_once('…').map(|(_, mark)| mark);
    mark.is_some_and(|mark| mark.len() == 16 && mark.bytes().all(|digit| digit.is_ascii_hexdigit()))
}
