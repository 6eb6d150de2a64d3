//! Drawers as records and back.

use loci_core::{FilingDoor, OriginKind};
use serde_json::json;

use super::*;

fn id(text: &str) -> DrawerId {
    DrawerId::new(text).unwrap()
}

/// Returns the record as the server would return it.
fn stored_record(drawer: &Drawer, metric: Metric) -> RecordAnswer {
    RecordAnswer {
        id: drawer.id.as_str().to_owned(),
        embedding: drawer.embedding.clone(),
        document: Some(drawer.document.clone().unwrap_or_default()),
        metadata: encode_metadata(drawer, metric, 7),
    }
}

fn full_drawer() -> Drawer {
    let metadata = json!({"wing": "w", "n": 3, "whole": 3.0, "part": 0.1, "zero": -0.0, "yes": true, "tags": ["a", 1],
        "none": [], "odd key": "x", "loci:record": "mine", "$op": "y", "room": 7, "source_file": "f", "role": "user"});
    Drawer {
        document: Some("text".into()),
        metadata: Some(Metadata::from_json(&metadata).unwrap()),
        place: DrawerPlace {
            wing: Some("w".into()),
            room: Some("r".into()),
            speaker: Some("s".into()),
            span: Some(SourceSpan {
                start: 1,
                end: 5,
                line_start: 1,
                line_end: 2,
            }),
            said_at: Some(Timestamp::from_micros(1_234_567).unwrap()),
            ..DrawerPlace::default()
        },
        filed_at: Some(Timestamp::from_micros(-1).unwrap()),
        provenance: Some(Provenance::new(FilingDoor::Agent, OriginKind::Note).filed_by("me")),
        uses: 4,
        context: Some(DrawerContext {
            before: "b".into(),
            after: "a".into(),
        }),
        embedding: Some(vec![0.1, -0.2]),
        ..Drawer::with_id_only(id("a"))
    }
}

#[test]
fn a_drawer_comes_back_with_every_field() {
    for metric in Metric::ALL {
        let mut drawer = full_drawer();
        for document in [Some("text".to_owned()), Some(String::new()), None] {
            drawer.document = document;
            let stored = decode_record(stored_record(&drawer, metric), false).unwrap();
            assert_eq!(stored.drawer, drawer);
        }
    }
}

#[test]
fn other_programs_see_places_and_plain_metadata_as_keys() {
    let record = encode_metadata(&full_drawer(), Metric::Cosine, 7);
    for (key, value) in [
        ("wing", json!("w")),
        ("room", json!("r")),
        ("speaker", json!("s")),
        ("n", json!(3)),
        ("part", json!(0.1)),
        ("yes", json!(true)),
        ("source_file", json!("f")),
    ] {
        assert_eq!(record.get(key), Some(&value), "{key}");
    }
    for key in ["tags", "none", "whole", "$op", "odd key"] {
        assert_eq!(record.get(key), None, "{key}");
    }
}

#[test]
fn a_record_of_another_program_is_read_as_the_folder_backend_reads_it() {
    let record = |metadata: Json| RecordAnswer {
        id: "x".into(),
        embedding: Some(vec![1.0]),
        document: Some("text".into()),
        metadata: metadata.as_object().unwrap().clone(),
    };
    let metadata = json!({"wing": "kansas", "room": "farm", "source_file": "/oz.txt", "role": "user",
        "timestamp": "2025-01-04T10:00:00", "filed_at": "2025-02-01T00:00:00", "list": ["a"], "gone": null});
    let drawer = decode_record(record(metadata), false).unwrap().drawer;
    assert_eq!(drawer.place.source.as_deref(), Some("/oz.txt"));
    assert_eq!(drawer.place.speaker.as_deref(), Some("user"));
    assert_eq!(drawer.place.said_at, parse_time("2025-01-04T10:00:00"));
    assert_eq!(drawer.filed_at, parse_time("2025-02-01T00:00:00"));
    assert_eq!(drawer.metadata.unwrap().len(), 7);
    let odd = decode_record(record(json!({NOTE: "{"})), false).unwrap().drawer;
    assert_eq!(odd.damage.len(), 1, "{:?}", odd.damage);
}

#[test]
fn a_vector_that_another_program_replaced_is_not_hidden_by_the_exact_one() {
    let drawer = full_drawer();
    let mut record = stored_record(&drawer, Metric::Cosine);
    let rounded: Vec<f32> = vec![0.1_f32.next_up(), -0.2];
    record.embedding = Some(rounded);
    assert_eq!(
        decode_record(record, false).unwrap().drawer.embedding,
        drawer.embedding
    );
    let mut record = stored_record(&drawer, Metric::Cosine);
    record.embedding = Some(vec![0.1, 0.2]);
    let replaced = decode_record(record, false).unwrap().drawer.embedding;
    assert_eq!(replaced, Some(vec![0.1, 0.2]));
}

#[test]
fn an_id_that_is_too_long_gets_a_substitute_and_is_named() {
    let record = RecordAnswer {
        id: "x".repeat(2000),
        embedding: None,
        document: None,
        metadata: Map::new(),
    };
    let stored = decode_record(record, false).unwrap();
    assert_eq!(stored.own_id.len(), 2000);
    assert!(stored.drawer.id.as_str().len() < 1024);
    assert_eq!(stored.drawer.damage.len(), 1);
}
