//! The Chroma backend shows the contract on folders written as Chroma writes them, filled through a twin that writes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: a panic is a red line"
)]

#[path = "conformance/writer.rs"]
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use loci_chroma::ChromaBackend;
use loci_conformance::{BackendHarness, TestWorld, TwinWriter};
use loci_core::{Backend, PalaceRef};
use tempfile::TempDir;

struct ChromaHarness;

struct Folders {
    root: TempDir,
    backend: Arc<ChromaBackend>,
    writer: Arc<TwinWriter>,
}

impl Folders {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

impl BackendHarness for ChromaHarness {
    fn name(&self) -> String {
        "chroma".to_owned()
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Box::new(Folders {
            root,
            backend: Arc::new(ChromaBackend::new()),
            writer: Arc::new(TwinWriter::new(writer::write_chroma)),
        }))
    }
}

impl TestWorld for Folders {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend) as _
    }

    fn writer(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.writer) as _
    }

    fn palace(&self) -> PalaceRef {
        PalaceRef::local(self.path("palace"))
    }

    fn another_palace(&self) -> PalaceRef {
        PalaceRef::local(self.path("another"))
    }

    fn reopen(&self) -> Result<Arc<dyn Backend>, String> {
        Ok(Arc::new(ChromaBackend::new()))
    }
}

/// The fields that Chroma's rows cannot hold.
const WAIVERS: [(&str, &str); 4] = [
    (
        "members::a_list_under_the_key_of_a_place_field_that_is_set_is_not_looked_at",
        "Chroma keeps places as metadata, so a field and a list of one name are one value",
    ),
    (
        "orders::by_source_in_byte_order_within_a_source_by_where_the_piece_starts_pieces_without_a_start_after_those_with_one_drawers_without_a_source_last",
        "Chroma keeps no spans",
    ),
    (
        "verbatim::a_place_is_kept_with_its_span_and_its_time_to_the_microsecond",
        "Chroma keeps no spans",
    ),
    (
        "verbatim::metadata_is_kept_exactly_arrays_in_their_order",
        "Chroma keeps no empty lists",
    ),
];

fn main() {
    loci_conformance::main(ChromaHarness, &WAIVERS);
}
