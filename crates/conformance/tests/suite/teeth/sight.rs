//! Restricted handles that are wrong in one way: they know more than they may.

use std::sync::Arc;

use loci_core::{
    ApplyRequest, Collection, CollectionReaderExt, Error, ErrorKind, Filter, Get, Hit, Include, Lexical,
    Receipt, Result, Visibility, Write,
};

/// Everything there is, and what of it may be seen.
#[derive(Debug)]
pub(crate) struct Sight {
    pub(crate) whole: Arc<dyn Collection>,
    pub(crate) visible: Visibility,
}

impl Sight {
    /// Matches words over everything and leaves out what is out of sight afterwards.
    pub(crate) fn lexical_over_everything(&self, request: &Lexical) -> Result<Vec<Hit>> {
        let mut hits = self.whole.lexical(&Lexical {
            k: usize::MAX,
            filter: Filter::All,
            include: Include::default(),
            ..request.clone()
        })?;
        hits.retain(|hit| self.visible.sees(&hit.drawer) && request.filter.accepts(&hit.drawer));
        hits.truncate(request.k);
        Ok(hits)
    }

    /// Looks whether every drawer of the batch is in sight, and writes in a second step.
    pub(crate) fn apply_in_two_steps(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        for write in request.writes {
            if let Write::Add(drawer) | Write::Upsert(drawer) = write
                && let Some(there) = self.whole.find(&drawer.id)?
                && !self.visible.sees(&there)
            {
                return Err(Visibility::id_taken(&drawer.id));
            }
            if let Write::Update(patch) = write
                && let Some(there) = self.whole.find(&patch.id)?
                && !self.visible.sees(&there)
            {
                return Ok(Receipt {
                    missing: vec![patch.id.clone()],
                    ..Receipt::default()
                });
            }
        }
        std::thread::yield_now();
        self.whole.apply(request)
    }

    /// Names the drawer out of sight that has taken a piece.
    pub(crate) fn name_the_twin(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Conflict {
            return error;
        }
        let all = self.whole.get(&Get::default()).unwrap_or_default();
        let mut hidden = all.into_iter().filter(|drawer| !self.visible.sees(drawer));
        let twin = hidden.find(|drawer| drawer.place.span.is_some());
        twin.map_or(error, |twin| {
            Error::new(ErrorKind::Conflict, format!("that is {}", twin.id))
        })
    }
}
