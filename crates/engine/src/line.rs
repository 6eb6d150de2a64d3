//! One drawer as one line of JSON: read strictly, written exactly.

mod read;
mod write;

pub use read::{GivenLine, parse_metadata, parse_vector, read};
pub(crate) use write::is_finite;
pub use write::write;
