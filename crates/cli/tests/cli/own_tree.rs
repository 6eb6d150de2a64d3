//! The law of mining on a real tree: whatever of this project is mined comes back byte for byte.

use std::path::Path;
use std::process::Command;

use loci_core::{Backend, CollectionName, FacetKey, FacetRequest, OpenOptions, PalaceRef};
use loci_engine::cat::{SourcePart, cat_source};
use loci_store::EmbeddedBackend;
use serde_json::Value as Json;

fn root() -> std::path::PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().canonicalize().unwrap()
}

/// `LOCI_TREE` names another tree to try it on.
#[test]
fn what_is_mined_of_a_real_tree_comes_back_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let palace = folder.path().join("palace");
    let tree = std::env::var_os("LOCI_TREE").map_or_else(root, Into::into);
    let output = Command::new(env!("CARGO_BIN_EXE_loci"))
        .args(["--json", "mine"])
        .arg(&tree)
        .env("LOCI_PALACE", &palace)
        .env("LOCI_KEYS", folder.path().join("keys"))
        .output()
        .unwrap();
    let report: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["sources_failed"], serde_json::json!([]), "{output:?}");
    for skipped in report["skipped"].as_array().unwrap() {
        assert!(!skipped["reason"].as_str().unwrap().is_empty());
    }
    let backend = EmbeddedBackend::new();
    let name = CollectionName::new(CollectionName::DEFAULT).unwrap();
    let collection = backend
        .open(&PalaceRef::local(&palace), &name, &OpenOptions::default())
        .unwrap();
    let by = FacetRequest {
        by: vec![FacetKey::Source, FacetKey::Kind],
        ..FacetRequest::by_room()
    };
    let (mut files, mut bytes) = (0, 0);
    for facet in collection.facets(&by).unwrap() {
        let [Some(source), Some(kind)] = facet.values.as_slice() else {
            panic!("{facet:?}");
        };
        if kind != "file" {
            continue;
        }
        let mut back = Vec::new();
        let printed = cat_source(collection.as_ref(), source, &mut |part| {
            match part {
                SourcePart::Piece { bytes, .. } => back.extend(bytes),
                SourcePart::Message(said) => panic!("{said:?}"),
            }
            Ok(())
        });
        printed.unwrap();
        // The tests of this tree hold things that look like secrets, which come back when asked for.
        if back != std::fs::read(source).unwrap() {
            let unsealed = Command::new(env!("CARGO_BIN_EXE_loci"))
                .args(["cat", source, "--unseal"])
                .env("LOCI_PALACE", &palace)
                .env("LOCI_KEYS", folder.path().join("keys"))
                .output()
                .unwrap();
            back = unsealed.stdout;
        }
        assert!(back == std::fs::read(source).unwrap(), "{source}");
        files += 1;
        bytes += back.len();
    }
    println!("{files} files of {bytes} bytes came back");
    assert!(files > 100, "the tree was mined: {report}");
}
