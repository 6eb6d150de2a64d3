//! The embedded backend: one SQLite file whose indexes cannot drift from its rows.

mod attributes;
mod backend;
mod clock;
mod collapse;
mod collection;
mod connection;
mod copies;
mod crash;
mod crosscheck;
mod days;
mod deadline;
mod disk;
mod erase;
mod failure;
mod feed;
mod fill;
mod holder;
mod lexical;
mod lost;
mod maintain;
mod mended;
mod moment;
mod nearest;
mod order;
mod palace;
mod peek;
mod places;
#[cfg(test)]
mod plans;
mod read;
mod read_only;
mod receipts;
mod rescue;
mod row;
mod schema;
mod scope;
mod segments;
mod shelf;
mod snapshot;
mod sources;
mod space;
mod switch;
mod tally;
#[cfg(feature = "crash-points")]
#[doc(hidden)]
pub mod testing;
mod ties;
mod upgrade;
mod vectors;
mod verify;
mod vfs;
mod view;
mod words;
mod write;

pub use backend::EmbeddedBackend;
