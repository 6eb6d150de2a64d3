//! The vocabulary and contracts of Loci: drawers, the requests that read and write them, and the promises of every
//! backend and embedder. No I/O, clock, threads or environment.

pub mod backend;
pub mod capability;
pub mod change;
pub mod collection;
pub mod count;
pub mod descriptor;
pub mod doctor;
pub mod drawer;
pub mod embedder;
pub mod erasure;
pub mod error;
pub mod filter;
pub mod fingerprint;
pub mod id;
pub mod info;
pub mod maintain;
pub mod metadata;
pub mod order;
pub mod palace;
pub mod provenance;
pub mod reach;
pub mod read;
pub mod remains;
mod schema;
pub mod snapshot;
pub mod source;
pub mod space;
pub mod time;
pub mod vector;
pub mod visibility;
pub mod write;

pub use backend::{Backend, BackendHealth, CreateMode, OpenOptions};
pub use capability::Capability;
pub use change::{ChangeFeed, ChangeKind, ChangePage, Cursor, DrawerChange};
pub use collection::{Collection, CollectionExt, CollectionReader, CollectionReaderExt};
pub use count::format_count;
pub use descriptor::{BackendDescriptor, SPEC_VERSION, SpecVersion};
pub use doctor::{
    CollectionDiagnosis, Doctor, FindingSeverity, FixInfo, FixMode, FixReport, FixRequest, PalaceDiagnosis,
    PalaceFinding, RenamedFolder, SegmentDiagnosis,
};
pub use drawer::{Drawer, DrawerContext, DrawerPlace, SourceSpan, VectorOrigin};
pub use embedder::{DeclaredEmbedder, Embedder, EmbedderIdentity, IdentityChange, IdentityState};
pub use erasure::{Erasure, ErasureExt, ErasureReport, PurgeReport, StoredTrace, UnreachedPart};
pub use error::{Error, ErrorKind, Result};
pub use filter::{DocumentFilter, DrawerCondition, Filter, FilterComparison, FilterOperand};
pub use id::{CollectionName, DrawerId, IdempotencyKey};
pub use info::{CollectionInfo, IndexCoverage, Metric};
pub use maintain::{
    Maintenance, MaintenanceFigure, MaintenanceKind, MaintenanceReport, MaintenanceState, MaintenanceStatus,
    QueryPrecision,
};
pub use metadata::{Metadata, MetadataScalar, MetadataValue};
pub use order::{DrawerOrder, DrawerPosition};
pub use palace::{PalaceId, PalaceRef};
pub use provenance::{FilingDoor, OriginKind, Provenance};
pub use reach::WingReach;
pub use read::{
    DrawerFields, DrawerHit, FacetCount, FacetKey, FacetRequest, ForeseenRead, GetRequest, LexicalRequest,
    QueryRequest,
};
pub use remains::{DoubtfulDrawer, LostDrawers, PalaceRemains};
pub use snapshot::{SnapshotReport, SnapshotStep, SnapshotStore};
pub use source::{
    RevisionOutcome, RevisionParts, SourceLedger, SourceRecord, SourceRecordQuery, SourceRevision,
};
pub use space::{
    EmbeddingSpace, EmbeddingSpaces, PendingRequest, SpaceState, SwitchStep, UnembeddedDrawer, VectorFill,
    VectorFillReport,
};
pub use time::Timestamp;
pub use visibility::Visibility;
pub use write::{ApplyRequest, DeleteSelection, DrawerPatch, DrawerTwin, NewDrawer, Receipt, Write};
