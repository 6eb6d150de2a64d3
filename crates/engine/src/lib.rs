//! The operations of a palace: mine, cat, sync, import, export, migrate, verify, status, a change of model. Knows no backend, model or protocol by name.
//!
//! Nothing here prints, asks what time it is or reads the environment: requests come in, reports go out.

pub mod add;
pub mod cat;
pub mod changes;
pub mod delete;
pub mod diary;
pub mod duplicate;
pub mod embedder;
pub mod export;
pub mod facets;
pub mod ids;
pub mod import;
pub mod init;
pub mod invisible;
pub mod line;
pub mod list;
pub mod maintain;
pub mod mine;
pub mod moves;
pub mod nearest;
pub mod neighbours;
pub mod note;
pub mod overview;
pub mod paging;
pub mod palace;
pub mod pieces;
pub mod recall;
pub mod refile;
pub mod search;
pub mod show;
pub mod spool;
pub mod status;
pub mod switch;
pub mod sync;
pub mod timeline;
pub mod tokens;
pub mod update;
pub mod view;
pub mod wake_up;
pub mod walk;

pub use export::{ExportReport, export};
pub use ids::derive_id;
pub use import::{Committed, FailedLine, ImportReport, ImportRequest, Importer, OnBadLine, OnConflict};
pub use mine::{MineReport, MineRequest};
pub use palace::{AccessPolicy, EmbedderCatalog, FilingSession, Palace, PalaceAddress, PalaceSession};
pub use search::{Answer, SearchRequest, search, why_not};
pub use status::StatusReport;
pub use switch::{SwitchReport, agreement, switch};
pub use wake_up::{WakeUpReport, WakeUpRequest, wake_up};
pub use walk::{LeftOut, Walk};
