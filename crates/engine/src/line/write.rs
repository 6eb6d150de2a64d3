//! Writes a drawer as a line that reads back as the same drawer.

use loci_core::{CollectionName, Context, Drawer, DrawerId, Metadata, Provenance, Span, Timestamp};
use serde::Serialize;

/// The line of `drawer`, without a line break; its vector only if `embeddings` and only if it is sound.
///
/// Equal drawers give equal lines, so that lines can be compared and hashed.
pub fn write(collection: &CollectionName, drawer: &Drawer, embeddings: bool) -> String {
    let empty = Metadata::new();
    let place = &drawer.place;
    let line = Fields {
        collection,
        id: &drawer.id,
        document: drawer.document.as_deref(),
        metadata: drawer.metadata.as_ref().unwrap_or(&empty),
        wing: place.wing.as_deref(),
        room: place.room.as_deref(),
        source: place.source.as_deref(),
        span: place.span,
        speaker: place.speaker.as_deref(),
        kind: place.kind.as_deref(),
        said_at: place.said_at,
        filed_at: drawer.filed_at,
        provenance: drawer.provenance.as_ref(),
        context: drawer
            .context
            .as_ref()
            .filter(|around| **around != Context::default()),
        uses: Some(drawer.uses).filter(|uses| *uses > 0),
        embedding: drawer
            .embedding
            .as_deref()
            .filter(|_| embeddings)
            .filter(|v| is_finite(v)),
    };
    serde_json::to_string(&line).expect("a drawer has only string keys and writable values")
}

/// The line by which palaces are hashed: equal for drawers that mean the same, whatever backend holds them.
pub(crate) fn canonical(collection: &CollectionName, drawer: &Drawer) -> String {
    // The same words in the same place are the same, whichever door they came through.
    let unattributed = Drawer {
        provenance: None,
        ..crate::canonical::canonical(drawer.clone())
    };
    write(collection, &unattributed, true)
}

/// Whether JSON can hold every value of the vector.
pub(crate) fn is_finite(vector: &[f32]) -> bool {
    vector.iter().all(|value| value.is_finite())
}

#[derive(Serialize)]
struct Fields<'a> {
    collection: &'a CollectionName,
    id: &'a DrawerId,
    document: Option<&'a str>,
    metadata: &'a Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    wing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    said_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<&'a Provenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a Context>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uses: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<&'a [f32]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::read;
    use loci_core::{NewDrawer, Place, Scalar, Value};

    fn collection() -> CollectionName {
        CollectionName::new("drawers").unwrap()
    }

    fn round_trip(drawer: &NewDrawer) {
        let filed = drawer.filed("2026-01-01".parse().unwrap()).unwrap();
        let line = write(&collection(), &filed, true);
        assert!(!line.contains('\n'), "{line}");
        let back = read(&line).unwrap();
        assert_eq!(back.collection, Some(collection()));
        let again = back.drawer.filed("2030-01-01".parse().unwrap()).unwrap();
        assert_eq!(again, filed);
        assert_eq!(write(&collection(), &again, true), line);
    }

    #[test]
    fn every_field_reads_back_as_it_was() {
        let metadata = Metadata::new()
            .with("float", 3.0)
            .with("int", 3_i64)
            .with("big", i64::MIN)
            .with("tiny", 5e-324)
            .with("minus", -0.0)
            .with("wing", "w")
            .with("said_at", "2026-01-02")
            .with(
                "list",
                Value::Many(vec![Scalar::Text("\"\n\u{202e}".into()), Scalar::Float(0.1)]),
            )
            .with("none", Value::Many(vec![]));
        round_trip(&NewDrawer {
            document: "line\nbreak\r\t\0 \u{202e} 抽屉 🗄️ \"quoted\" \\".into(),
            metadata,
            context: Some(Context {
                before: "b".into(),
                after: String::new(),
            }),
            place: Place {
                room: Some("r".into()),
                source: Some("s".into()),
                span: Some(Span {
                    start: 1,
                    end: 2,
                    line_start: 3,
                    line_end: 4,
                }),
                speaker: Some("me".into()),
                kind: Some("note".into()),
                ..Place::default()
            },
            filed_at: Some("1999-12-31T23:59:59.999999Z".parse().unwrap()),
            uses: 7,
            embedding: Some(vec![0.1, -0.0, 1e-45, f32::MAX]),
            ..NewDrawer::new(DrawerId::new("it's \"an\" id\n").unwrap(), "")
        });
        round_trip(&NewDrawer::new(DrawerId::new("plain").unwrap(), ""));
    }

    #[test]
    fn floats_read_back_bit_for_bit() {
        // Every exponent with mantissas that are hard to print shortly.
        let mut state = 0x9e37_79b9_u32;
        let mut values = vec![
            f32::MIN_POSITIVE,
            f32::MAX,
            f32::MIN,
            f32::EPSILON,
            -0.0,
            16_777_217.0,
        ];
        while values.len() < 20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            values.push(f32::from_bits(state));
        }
        values.retain(|value| value.is_finite());
        let drawer = Drawer {
            embedding: Some(values.clone()),
            document: Some(String::new()),
            ..Drawer::bare(DrawerId::new("a").unwrap())
        };
        let back = read(&write(&collection(), &drawer, true))
            .unwrap()
            .drawer
            .embedding
            .unwrap();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&values));
    }

    #[test]
    fn a_vector_is_written_only_when_asked_for_and_sound() {
        let mut drawer = Drawer::bare(DrawerId::new("a").unwrap());
        drawer.embedding = Some(vec![1.0]);
        assert!(!write(&collection(), &drawer, false).contains("embedding"));
        assert!(write(&collection(), &drawer, true).contains("\"embedding\":[1.0]"));
        drawer.embedding = Some(vec![f32::NAN]);
        assert!(!write(&collection(), &drawer, true).contains("embedding"));
    }
}
