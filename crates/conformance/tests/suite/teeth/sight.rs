//! Restricted handles with one flaw: they reveal more than they may.

use std::sync::Arc;

use loci_core::{
    ApplyRequest, Collection, CollectionReaderExt, DrawerFields, DrawerHit, Error, ErrorKind, Filter,
    GetRequest, LexicalRequest, Receipt, Result, Visibility, Write,
};

/// The whole collection, and the filter that a restricted handle should apply.
#[derive(Debug)]
pub(crate) struct HandleSight {
    pub(crate) whole: Arc<dyn Collection>,
    pub(crate) visible: Visibility,
}

impl HandleSight {
    /// Matches words over everything and leaves out what is out of sight afterwards.
    pub(crate) fn lexical_over_everything(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        let mut hits = self.whole.lexical(&LexicalRequest {
            k: usize::MAX,
            filter: Filter::All,
            include: DrawerFields::default(),
            ..request.clone()
        })?;
        hits.retain(|hit| self.visible.sees_drawer(&hit.drawer) && request.filter.accepts(&hit.drawer));
        hits.truncate(request.k);
        Ok(hits)
    }

    /// Checks whether every drawer of the batch is in sight, and writes in a second step.
    pub(crate) fn apply_in_two_steps(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        for write in request.writes {
            if let Write::Add(drawer) | Write::Upsert(drawer) = write
                && let Some(there) = self.whole.find_drawer(&drawer.id)?
                && !self.visible.sees_drawer(&there)
            {
                return Err(Visibility::id_taken_error(&drawer.id));
            }
            if let Write::Update(patch) = write
                && let Some(there) = self.whole.find_drawer(&patch.id)?
                && !self.visible.sees_drawer(&there)
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
        let all = self.whole.get(&GetRequest::default()).unwrap_or_default();
        let mut hidden = all.into_iter().filter(|drawer| !self.visible.sees_drawer(drawer));
        let twin = hidden.find(|drawer| drawer.place.span.is_some());
        twin.map_or(error, |twin| {
            Error::new(ErrorKind::Conflict, format!("that is {}", twin.id))
        })
    }
}
