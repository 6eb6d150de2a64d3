//! The operations of a palace: mine, cat, sync, import, export, migrate, verify, status, a change of model. Knows no backend, model or protocol by name.
//!
//! Nothing here prints, asks what time it is or reads the environment: requests come in, reports go out.

mod canonical;
pub mod cat;
pub mod export;
pub mod filing;
pub mod ids;
pub mod import;
pub mod invisible;
pub mod line;
mod merge;
pub mod migrate;
pub mod mine;
pub mod neighbours;
pub mod refile;
pub mod search;
pub mod spool;
pub mod status;
pub mod switch;
pub mod sync;
pub mod timeline;
pub mod tokens;
pub mod verify;
pub mod wake_up;
pub mod walk;
pub mod when;

pub use export::{ExportReport, export};
pub use filing::{Embedders, Filing, embed_question, try_out};
pub use ids::derive_id;
pub use import::{Committed, FailedLine, ImportReport, ImportRequest, Importer, OnBadLine, OnConflict};
pub use migrate::{MigrateReport, MigrateRequest, migrate};
pub use mine::{MineReport, MineRequest, mine};
pub use search::{Answer, SearchRequest, search, why_not};
pub use status::{StatusReport, status};
pub use switch::{SwitchReport, agreement, switch};
pub use verify::{VerifyReport, VerifyRequest, compare, verify};
pub use wake_up::{WakeUpReport, WakeUpRequest, wake_up};
pub use walk::{LeftOut, Walk};
