//! One drawer as one line of JSON: read strictly, written exactly.

mod header;
mod read;
mod write;

pub use header::ExportHeader;
pub use read::{GivenLine, parse_metadata, parse_vector, read_line};
pub(crate) use write::is_finite;
pub use write::write_line;
