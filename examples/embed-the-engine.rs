//! Uses Loci as a library: opens a palace, files two notes, and finds one of them by a question in other words.
//!
//! Run it with `cargo run -p loci-engine --example embed-the-engine`. Its temporary folder is removed at the end.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use loci_core::{Embedder, EmbedderIdentity, Error, PalaceRef, Result, Timestamp};
use loci_embed::CheckedEmbedder;
use loci_embed::builtin::BuiltinEmbedder;
use loci_engine::note::NoteRequest;
use loci_engine::view::address::format_drawer_address;
use loci_engine::{EmbedderCatalog, Palace, PalaceAddress, SearchRequest};
use loci_store::EmbeddedBackend;

/// The models this program has: the built-in one, which needs no download and no server.
#[derive(Debug)]
struct BuiltinOnly(Arc<dyn Embedder>);

impl EmbedderCatalog for BuiltinOnly {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(self.0.clone()))
    }

    // A collection records its model. Vectors of another one cannot be compared, so any other is refused.
    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if self.0.identity() == identity {
            return Ok(self.0.clone());
        }
        Err(Error::invalid(format!("this program does not have {identity}")))
    }
}

/// The engine never reads the system clock itself: its caller brings one.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(since.as_micros() as i64).expect("the clock shows a year that times can have")
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // A palace is a folder, and the backend decides what is in it. Nothing is created before the first note.
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("palace");
    let address = PalaceAddress {
        backend: Arc::new(EmbeddedBackend::new()),
        reference: PalaceRef::local(&path),
    };
    let embedder = CheckedEmbedder::new(BuiltinEmbedder::new()?);
    let palace = Palace::new(address, Arc::new(BuiltinOnly(Arc::new(embedder))), now);

    // Each call returns once the note is durable. The wing says what it is about, the source where it comes from.
    for (text, source) in [
        ("Ana is allergic to peanuts.", "family.md"),
        ("The session timeout is 45 minutes.", "decisions.md"),
    ] {
        palace.file_note(&NoteRequest {
            text: text.to_owned(),
            wing: Some("notes".to_owned()),
            source: Some(source.to_owned()),
            ..NoteRequest::default()
        })?;
    }

    // The words need not be those of the note: it is found by words and by meaning at once.
    let found = palace.search(&SearchRequest::new("Which nuts must Ana not eat?", now()))?;
    let best = &found.hits.first().ok_or("nothing was found")?.drawer;
    println!("found: {}", best.text.as_deref().unwrap_or_default());
    println!("cited: {}", format_drawer_address(best));
    println!("from:  {}", best.source.as_deref().unwrap_or("no source"));
    println!("The palace was in {}.", path.display());
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
