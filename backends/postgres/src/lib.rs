//! The `postgres` backend: palaces in a Postgres server. The only crate that knows Postgres.
//!
//! One schema, `loci`, holds every palace of a database. Rows are the truth and every index is a projection of them, as
//! in the embedded store; scores and order come from `loci_index` on exact values, so that both give the same answers.

pub mod address;
mod approximate;
mod attributes;
mod backend;
mod codes;
mod collection;
pub mod connect;
mod deadline;
mod doctor;
mod driver;
mod erase;
mod failure;
mod feed;
mod fill;
mod foresight;
mod keyset;
mod lexical;
mod maintain;
mod moment;
mod nearest;
mod palace;
mod pool;
mod read;
mod receipts;
mod rights;
mod roles;
mod row;
mod schema;
mod scope;
mod session;
mod shelf;
mod sources;
mod statement;
mod switch;
mod vectors;
mod words;
mod write;

pub use address::redact_url;
pub use backend::PostgresBackend;
pub use roles::NamespaceRole;
