//! The words and contracts of Loci: what a drawer is, how it is asked for and written, and
//! what every backend and embedder promises. No I/O, clock, threads or environment.

pub mod backend;
pub mod change;
pub mod doctor;
pub mod drawer;
pub mod embedder;
pub mod error;
pub mod filter;
pub mod id;
pub mod info;
pub mod maintain;
pub mod metadata;
pub mod palace;
pub mod read;
pub mod snapshot;
pub mod source;
pub mod space;
pub mod time;
pub mod write;

pub use backend::{
    Backend, Capability, Collection, CollectionExt, Descriptor, Health, OpenOptions, SPEC_VERSION,
    SpecVersion,
};
pub use change::{Change, ChangeKind, Changes, Cursor};
pub use doctor::{
    CollectionDiagnosis, Diagnosis, Doctor, Finding, FixInfo, FixMode, FixReport, SegmentDiagnosis, Severity,
};
pub use drawer::{Context, Drawer, Place, Span, Whereabouts};
pub use embedder::{Declared, Embedder, EmbedderIdentity, IdentityChange, IdentityState};
pub use error::{Error, ErrorKind, Result};
pub use filter::{Comparison, DocumentFilter, Filter, Operand};
pub use id::{CollectionName, DrawerId};
pub use info::{CollectionInfo, Coverage, Metric};
pub use maintain::{MaintenanceKind, MaintenanceReport, MaintenanceState, MaintenanceStatus};
pub use metadata::{Metadata, Scalar, Value};
pub use palace::PalaceRef;
pub use read::{Facet, FacetKey, Facets, Get, Hit, Include, Lexical, Query};
pub use snapshot::{Snapshot, SnapshotReport};
pub use source::{Parts, Revised, Revision, SourceRecord, Sources};
pub use space::{Filled, Filling, Pending, Space, SpaceState, Switch, Unembedded};
pub use time::Timestamp;
pub use write::{NewDrawer, Patch, Receipt, Selection, Twin, Write};
