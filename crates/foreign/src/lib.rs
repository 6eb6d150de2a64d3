//! Opens the SQLite files of other programs, which may be writing to them, and changes nothing in them or beside
//! them.
//!
//! | files found | how the database is read |
//! |---|---|
//! | a database alone | in place and read-only, under SQLite's own read locks |
//! | one in log mode without a log | in place and immutable: any other mode would create files beside it |
//! | one with a log and the log's index | from a copy; in place where [`ForeignOpener::reads_live_logs`] allows it |
//! | one with a log alone, or with a journal of an unfinished transaction | from a copy, in which SQLite settles it |
//!
//! A copy is a consistent snapshot: if the file, its log or its journal changes while it is made, it is made again,
//! and after a few attempts opening fails with [`ForeignFailure::Changing`].

mod copy;
mod failure;
pub mod mempalace;
mod opener;
mod options;
pub mod scan;
mod stamp;

pub use copy::{PrivateCopy, private_folder};
pub use failure::ForeignFailure;
pub use opener::{ForeignDatabase, ForeignOpener, ForeignReading, connect};
pub use stamp::{ForeignStamp, path_beside};
