//! Writes a drawer as a line that reads back as the same drawer.

use crate::seal::SealedSpan;
use crate::view::DrawerView;
use loci_core::{CollectionName, Drawer, DrawerContext};

/// Writes a drawer as a line without a line break: its view, its collection, its context and its sealed secrets; its vector only if
/// `embeddings` is set and every value is finite.
///
/// Equal drawers give equal lines, so lines can be compared and hashed.
pub fn write_line(
    collection: &CollectionName,
    mut drawer: Drawer,
    seals: Vec<SealedSpan>,
    embeddings: bool,
) -> String {
    // Damage belongs in the report of an export, not in the drawer that is read back from it.
    drawer.damage.clear();
    // A line always has an object here; null in a view means that the metadata was not read.
    drawer.metadata.get_or_insert_default();
    // JSON has no NaN or infinity; such a vector is written as null and made again by the importer's model.
    let vector = drawer.embedding.take().filter(|vector| is_finite(vector));
    let context = drawer
        .context
        .take()
        .filter(|around| *around != DrawerContext::default());
    let line = DrawerView {
        collection: Some(collection.clone()),
        context,
        seals,
        embedding: embeddings.then_some(vector),
        ..DrawerView::from(drawer)
    };
    serde_json::to_string(&line).expect("a drawer has only string keys and writable values")
}

/// Returns whether JSON can represent every value of the vector.
pub(crate) fn is_finite(vector: &[f32]) -> bool {
    vector.iter().all(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::read_line;
    use loci_core::{DrawerId, DrawerPlace, Metadata, MetadataScalar, MetadataValue, NewDrawer, SourceSpan};

    fn collection() -> CollectionName {
        CollectionName::new("drawers").unwrap()
    }

    fn round_trip(drawer: &NewDrawer) {
        let filed = drawer.to_filed_drawer("2026-01-01".parse().unwrap()).unwrap();
        let line = write_line(&collection(), filed.clone(), Vec::new(), true);
        assert!(!line.contains('\n'), "{line}");
        let back = read_line(&line).unwrap();
        assert_eq!(back.collection, Some(collection()));
        let again = back
            .drawer
            .to_filed_drawer("2030-01-01".parse().unwrap())
            .unwrap();
        assert_eq!(again, filed);
        assert_eq!(write_line(&collection(), again, Vec::new(), true), line);
    }

    #[test]
    fn every_field_reads_back_as_it_was() {
        let metadata = Metadata::new()
            .with_entry("float", 3.0)
            .with_entry("int", 3_i64)
            .with_entry("big", i64::MIN)
            .with_entry("tiny", 5e-324)
            .with_entry("minus", -0.0)
            .with_entry("wing", "w")
            .with_entry("said_at", "2026-01-02")
            .with_entry(
                "list",
                MetadataValue::Many(vec![
                    MetadataScalar::Text("\"\n\u{202e}".into()),
                    MetadataScalar::Float(0.1),
                ]),
            )
            .with_entry("none", MetadataValue::Many(vec![]));
        round_trip(&NewDrawer {
            document: "line\nbreak\r\t\0 \u{202e} 抽屉 🗄️ \"quoted\" \\".into(),
            metadata,
            context: Some(DrawerContext {
                before: "b".into(),
                after: String::new(),
            }),
            place: DrawerPlace {
                room: Some("r".into()),
                source: Some("s".into()),
                span: Some(SourceSpan {
                    start: 1,
                    end: 2,
                    line_start: 3,
                    line_end: 4,
                }),
                speaker: Some("me".into()),
                kind: Some("note".into()),
                ..DrawerPlace::default()
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
            ..Drawer::with_id_only(DrawerId::new("a").unwrap())
        };
        let back = read_line(&write_line(&collection(), drawer, Vec::new(), true))
            .unwrap()
            .drawer
            .embedding
            .unwrap();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&values));
    }

    #[test]
    fn a_vector_is_written_only_when_asked_for_and_sound() {
        let mut drawer = Drawer::with_id_only(DrawerId::new("a").unwrap());
        drawer.embedding = Some(vec![1.0]);
        assert!(!write_line(&collection(), drawer.clone(), Vec::new(), false).contains("embedding"));
        assert!(write_line(&collection(), drawer.clone(), Vec::new(), true).contains("\"embedding\":[1.0]"));
        drawer.embedding = Some(vec![f32::NAN]);
        assert!(write_line(&collection(), drawer, Vec::new(), true).contains("\"embedding\":null"));
    }
}
