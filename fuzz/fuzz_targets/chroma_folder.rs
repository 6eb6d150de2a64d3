//! Any bytes as the files of a Chroma folder: it is opened, read and examined, or refused, and never changed.

#![no_main]

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use loci_chroma::ChromaBackend;
use loci_core::{Backend, Doctor, DrawerFields, GetRequest, LexicalRequest, OpenOptions, PalaceRef, QueryRequest};

const SEGMENT: &str = "0f579090-6c91-45c4-9815-035e2a1e6d42";

#[derive(Debug, Arbitrary)]
struct Folder {
    header: Header,
    level0: Vec<u8>,
    pickle: Vec<u8>,
    database: Vec<(u32, Vec<u8>)>,
    cut: Option<u32>,
}

#[derive(Debug, Arbitrary)]
enum Header {
    Bytes(Vec<u8>),
    Fields { version: i32, fields: [u64; 6] },
    Sound { elements: u8 },
}

impl Header {
    fn bytes(&self) -> Vec<u8> {
        let (version, fields) = match self {
            Self::Bytes(bytes) => return bytes.clone(),
            Self::Fields { version, fields } => (*version, *fields),
            Self::Sound { elements } => (1, [0, 255, u64::from(*elements), 152, 144, 132]),
        };
        let mut bytes = version.to_le_bytes().to_vec();
        bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        bytes.resize(100, 0);
        bytes
    }
}

/// A sound database with a collection of three records.
fn database() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("chroma.sqlite3");
        let made = rusqlite::Connection::open(&path).expect("a database");
        made.execute_batch(include_str!("chroma.sql")).expect("its tables");
        drop(made);
        fs::read(path).expect("its bytes")
    })
}

fn lay_out(folder: &Folder, place: &Path) {
    let mut bytes = database().to_vec();
    for (at, patch) in &folder.database {
        let at = *at as usize % bytes.len();
        for (byte, with) in bytes.iter_mut().skip(at).zip(patch) {
            *byte = *with;
        }
    }
    if let Some(cut) = folder.cut {
        bytes.truncate(cut as usize % (bytes.len() + 1));
    }
    let segment = place.join(SEGMENT);
    fs::create_dir(&segment).expect("a segment");
    for (path, bytes) in [
        (place.join("chroma.sqlite3"), bytes),
        (segment.join("header.bin"), folder.header.bytes()),
        (segment.join("data_level0.bin"), folder.level0.clone()),
        (segment.join("index_metadata.pickle"), folder.pickle.clone()),
    ] {
        fs::write(path, bytes).expect("a file");
    }
}

fuzz_target!(|folder: Folder| {
    let place = tempfile::tempdir().expect("a folder");
    lay_out(&folder, place.path());
    let before = fs::read(place.path().join("chroma.sqlite3")).expect("bytes");
    let chroma = ChromaBackend::new();
    let palace = PalaceRef::local(place.path());
    let _ = chroma.examine(place.path());
    for info in chroma.collections(&palace).unwrap_or_default() {
        let Ok(collection) = chroma.open(&palace, &info.name, &OpenOptions::default()) else { continue };
        let everything = GetRequest {
            include: DrawerFields::EVERYTHING,
            ..GetRequest::default()
        };
        let _ = collection.get(&everything);
        let _ = collection.lexical(&LexicalRequest::for_words("text", 3));
        let _ = collection.query(&QueryRequest::nearest_to(vec![1.0; info.dimension.unwrap_or(3)], 3));
    }
    assert_eq!(before, fs::read(place.path().join("chroma.sqlite3")).expect("bytes"));
});
