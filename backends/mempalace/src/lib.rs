//! Reads and examines the palaces that MemPalace's backends `sqlite_exact` and `rust_exact` write, without their code.
//!
//! Such a palace is one SQLite file, in which a row holds the text, the metadata and the vector of a record. Rows are the
//! truth; the full-text table beside them is never used. Nothing here writes to the file or beside it.

mod backend;
mod database;
mod drawer;
mod examine;
mod palace;
mod shelf;

pub use backend::ExactBackend;
