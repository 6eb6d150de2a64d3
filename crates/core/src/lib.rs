//! The words and contracts of Loci: what a drawer is, how it is asked for and written, and
//! what every backend and embedder promises. No I/O, clock, threads or environment.

pub mod backend;
pub mod capability;
pub mod change;
pub mod collection;
pub mod descriptor;
pub mod doctor;
pub mod drawer;
pub mod embedder;
pub mod erasure;
pub mod error;
pub mod filter;
pub mod id;
pub mod info;
pub mod maintain;
pub mod metadata;
pub mod order;
pub mod palace;
pub mod provenance;
pub mod read;
pub mod snapshot;
pub mod source;
pub mod space;
pub mod time;
pub mod visibility;
pub mod write;

pub use backend::{Backend, CreateMode, Health, OpenOptions};
pub use capability::Capability;
pub use change::{Change, ChangeFeed, ChangeKind, Changes, Cursor};
pub use collection::{Collection, CollectionExt, CollectionReader, CollectionReaderExt};
pub use descriptor::{Descriptor, SPEC_VERSION, SpecVersion};
pub use doctor::{
    CollectionDiagnosis, Diagnosis, Doctor, Finding, FixInfo, FixMode, FixReport, SegmentDiagnosis, Severity,
};
pub use drawer::{Context, Drawer, Place, Span, Whereabouts};
pub use embedder::{Declared, Embedder, EmbedderIdentity, IdentityChange, IdentityState};
pub use erasure::{Erasure, ErasureReport};
pub use error::{Error, ErrorKind, Result};
pub use filter::{Comparison, DocumentFilter, DrawerCondition, Filter, Operand};
pub use id::{CollectionName, DrawerId, IdempotencyKey};
pub use info::{CollectionInfo, Coverage, Metric};
pub use maintain::{Maintenance, MaintenanceKind, MaintenanceReport, MaintenanceState, MaintenanceStatus};
pub use metadata::{Metadata, Scalar, Value};
pub use order::{DrawerOrder, DrawerPosition};
pub use palace::PalaceRef;
pub use provenance::{FilingDoor, OriginKind, Provenance};
pub use read::{Facet, FacetKey, Facets, Get, Hit, Include, Lexical, Query};
pub use snapshot::{SnapshotReport, SnapshotStore};
pub use source::{Parts, Revised, Revision, SourceLedger, SourceRecord, Sources};
pub use space::{EmbeddingSpaces, Filled, Filling, Pending, Space, SpaceState, Switch, Unembedded};
pub use time::Timestamp;
pub use visibility::Visibility;
pub use write::{ApplyRequest, NewDrawer, Patch, Receipt, Selection, Twin, Write};
