//! The backend `sqlite_exact` shows the contract on files written as MemPalace writes them, filled through a twin that writes.

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

use loci_conformance::{BackendHarness, TestWorld, TwinWriter};
use loci_core::{Backend, PalaceRef};
use loci_mempalace::ExactBackend;
use tempfile::TempDir;

struct ExactHarness;

struct ExactFolders {
    root: TempDir,
    backend: Arc<ExactBackend>,
    writer: Arc<TwinWriter>,
}

impl ExactFolders {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

fn new_backend() -> ExactBackend {
    ExactBackend::with_installation(Default::default())
}

impl BackendHarness for ExactHarness {
    fn name(&self) -> String {
        "sqlite_exact".to_owned()
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Box::new(ExactFolders {
            root,
            backend: Arc::new(new_backend()),
            writer: Arc::new(TwinWriter::new(writer::write_exact)),
        }))
    }
}

impl TestWorld for ExactFolders {
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
        Ok(Arc::new(new_backend()))
    }
}

/// The fields that MemPalace's rows cannot hold.
const WAIVERS: [(&str, &str); 4] = [
    (
        "members::a_list_under_the_key_of_a_place_field_that_is_set_is_not_looked_at",
        "MemPalace keeps places as metadata, so a field and a list of one name are one value",
    ),
    (
        "orders::by_source_in_byte_order_within_a_source_by_where_the_piece_starts_pieces_without_a_start_after_those_with_one_drawers_without_a_source_last",
        "MemPalace keeps no spans",
    ),
    (
        "verbatim::a_drawer_without_any_text_is_kept_apart_from_one_with_an_empty_text",
        "MemPalace's rows always have a text",
    ),
    (
        "verbatim::a_place_is_kept_with_its_span_and_its_time_to_the_microsecond",
        "MemPalace keeps no spans",
    ),
];

fn main() {
    loci_conformance::main(ExactHarness, &WAIVERS);
}
