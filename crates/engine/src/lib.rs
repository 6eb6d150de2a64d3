//! The operations on one open palace: file, mine, search, export, sync, re-embed. Depends on no backend, model or
//! protocol by name.
//!
//! Nothing here prints, reads the system clock or reads the environment: each operation takes a request and returns a
//! report.

pub mod add;
pub mod cat;
pub mod changes;
mod citation;
pub mod delete;
pub mod deletions;
pub mod diary;
pub mod duplicate;
pub mod embedder;
pub mod export;
pub mod facets;
pub mod forget;
pub mod ids;
pub mod import;
pub mod init;
pub mod invisible;
pub mod keys;
mod ledger;
pub mod line;
pub mod list;
pub mod maintain;
pub mod migration_records;
pub mod mine;
pub mod neighbours;
pub mod note;
pub mod overview;
pub mod paging;
pub mod palace;
pub mod passage;
pub mod pieces;
pub mod recall;
pub mod refile;
mod repeats;
pub mod seal;
pub mod search;
pub mod show;
mod snippet;
pub mod spool;
pub mod status;
pub mod switch;
pub mod sync;
pub mod timeline;
pub mod tokens;
pub mod undo;
pub mod update;
pub mod view;
pub mod visit;
pub mod wake_up;
pub mod walk;

pub use export::{ExportReport, export_drawers};
pub use ids::derive_id;
pub use import::{
    CommittedBatch, FailedLine, ImportReport, ImportRequest, LineImporter, OnBadLine, OnConflict,
    OnProvenance,
};
pub use mine::{MineReport, MineRequest};
pub use palace::{AccessPolicy, EmbedderCatalog, FilingSession, Palace, PalaceAddress, PalaceSession};
pub use search::{SearchAnswer, SearchRequest, explain_absence, search_collection};
pub use status::StatusReport;
pub use switch::{SwitchReport, measure_agreement, switch_model};
pub use wake_up::{WakeUpReport, WakeUpRequest, write_wake_up};
pub use walk::{CollectionWalk, WalkOmission};
