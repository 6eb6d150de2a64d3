//! A collection of another program behind the contract: exact answers from its current records, and no writes.

use std::cell::RefCell;
use std::sync::Arc;

use loci_core::{
    ApplyRequest, ChangeFeed, Collection, CollectionInfo, CollectionName, CollectionReader, Cursor, Drawer,
    DrawerCondition, DrawerHit, EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind, FacetCount,
    FacetRequest, GetRequest, IdentityChange, IdentityState, LexicalRequest, Maintenance, OpenOptions,
    QueryRequest, Receipt, Result, SourceLedger, Visibility,
};
use loci_index::tokenise;

use super::search;
use super::{ReadScope, ScanDeadline, ScannedPalace, ScannedRecords};

/// A handle to one collection of a palace of another program.
#[derive(Debug)]
pub struct ScannedCollection<P> {
    palace: Arc<P>,
    name: CollectionName,
    visible: Visibility,
    /// The model that was recorded when the handle was opened.
    model: IdentityState,
}

impl<P: ScannedPalace> ScannedCollection<P> {
    /// Opens an existing collection, unless the options contradict it or ask to write.
    pub fn open(palace: Arc<P>, name: &CollectionName, options: &OpenOptions) -> Result<Self> {
        // Existence is checked before writability, so that a misspelled name is reported as such.
        let info = palace.describe_collection(name)?;
        if options.writable {
            return Err(palace.refuse_write());
        }
        crate::options::check_open_options(&info, options)?;
        Ok(Self {
            palace,
            name: name.clone(),
            visible: Visibility::new(options.visible.clone()),
            model: info.identity,
        })
    }

    /// Runs `act` on the current records of the collection.
    fn read<T>(&self, act: impl Fn(&dyn ScannedRecords) -> Result<T>) -> Result<T> {
        // The palace may run it twice; only the last answer is of one state.
        let answer = RefCell::new(None);
        self.palace.with_records(&self.name, &|records| {
            let found = act(records)?;
            answer.replace(Some(found));
            Ok(())
        })?;
        answer
            .into_inner()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the records were not read"))
    }

    /// Describes the collection as if the invisible drawers did not exist.
    fn narrow_info(&self, mut info: CollectionInfo) -> Result<CollectionInfo> {
        let (drawers, vectors) = self.read(|records| super::count_visible(records, &self.visible))?;
        info.drawers = drawers;
        info.coverage.nearest = vectors;
        // A search for words reads every text, so it covers all drawers.
        info.coverage.lexical = drawers;
        // The newest write and the count of lost vectors concern
        // all records, so they would reveal hidden ones.
        info.seq = Cursor(0);
        info.warnings
            .retain(|finding| finding.code != "rows_without_vector");
        Ok(info)
    }
}

impl<P: ScannedPalace> CollectionReader for ScannedCollection<P> {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        let deadline = ScanDeadline::begin(request.budget)?;
        request.check_request()?;
        self.read(|records| super::get_drawers(records, request, &self.visible, deadline))
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        let deadline = ScanDeadline::begin(request.budget)?;
        let scope = ReadScope::narrow(&self.visible, &request.filter, &request.document);
        self.read(|records| {
            request.check_request(records.metric(), records.dimension())?;
            search::find_nearest(records, request, &scope, deadline)
        })
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        let deadline = ScanDeadline::begin(request.budget)?;
        request.check_request()?;
        let words = tokenise::query_tokens(&request.words);
        let scope = ReadScope::narrow(&self.visible, &request.filter, &request.document);
        self.read(|records| search::find_lexical(records, request, &words, &scope, deadline))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.read(|records| super::count_drawers(records, condition, &self.visible))
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        request.check_request()?;
        self.read(|records| super::count_facets(records, request, &self.visible))
    }

    fn info(&self) -> Result<CollectionInfo> {
        let info = self.palace.describe_collection(&self.name)?;
        if self.visible.is_restricted() {
            return self.narrow_info(info);
        }
        Ok(info)
    }
}

impl<P: ScannedPalace> Collection for ScannedCollection<P> {
    fn apply(&self, _request: &ApplyRequest<'_>) -> Result<Receipt> {
        // A closed palace reports that first, as every other call does.
        self.read(|_| Ok(()))?;
        Err(self.palace.refuse_write())
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, _identity: &EmbedderIdentity, _why: IdentityChange) -> Result<()> {
        self.read(|_| Ok(()))?;
        Err(self.palace.refuse_write())
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        // Rows are read from the live database one by one, so
        // two reads may see two states: no moment is offered.
        self.read(|_| Ok(()))?;
        Ok(None)
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        None
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        None
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        None
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        None
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        None
    }
}
