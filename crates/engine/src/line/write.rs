//! Writes a drawer as a line that reads back as the same drawer.

use crate::view::DrawerView;
use loci_core::{CollectionName, Context, Drawer};

/// The line of `drawer`, without a line break: its view, its collection and its context; its vector only if `embeddings`
/// and only if it is sound.
///
/// Equal drawers give equal lines, so that lines can be compared and hashed.
pub fn write(collection: &CollectionName, mut drawer: Drawer, embeddings: bool) -> String {
    // Damage belongs into the report of an export, not into the drawer that is read back from it.
    drawer.damage.clear();
    drawer.metadata.get_or_insert_default();
    let vector = drawer.embedding.take().filter(|vector| is_finite(vector));
    let context = drawer
        .context
        .take()
        .filter(|around| *around != Context::default());
    let line = DrawerView {
        collection: Some(collection.clone()),
        context,
        embedding: embeddings.then_some(vector),
        ..DrawerView::from(drawer)
    };
    serde_json::to_string(&line).expect("a drawer has only string keys and writable values")
}

/// Whether JSON can hold every value of the vector.
pub(crate) fn is_finite(vector: &[f32]) -> bool {
    vector.iter().all(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::read;
    use loci_core::{DrawerId, Metadata, NewDrawer, Place, Scalar, Span, Value};

    fn collection() -> CollectionName {
        CollectionName::new("drawers").unwrap()
    }

    fn round_trip(drawer: &NewDrawer) {
        let filed = drawer.filed("2026-01-01".parse().unwrap()).unwrap();
        let line = write(&collection(), filed.clone(), true);
        assert!(!line.contains('\n'), "{line}");
        let back = read(&line).unwrap();
        assert_eq!(back.collection, Some(collection()));
        let again = back.drawer.filed("2030-01-01".parse().unwrap()).unwrap();
        assert_eq!(again, filed);
        assert_eq!(write(&collection(), again, true), line);
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
        let back = read(&write(&collection(), drawer, true))
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
        assert!(!write(&collection(), drawer.clone(), false).contains("embedding"));
        assert!(write(&collection(), drawer.clone(), true).contains("\"embedding\":[1.0]"));
        drawer.embedding = Some(vec![f32::NAN]);
        assert!(write(&collection(), drawer, true).contains("\"embedding\":null"));
    }
}
