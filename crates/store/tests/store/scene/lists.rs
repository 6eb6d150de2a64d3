//! Drawers with lists, sources, spans and times of every kind.

use loci_core::*;

use super::truth;

pub(crate) const DIMENSION: usize = 4;

/// The writes to the fixture `version-4-lists`, in order; must never change once the fixture is kept.
pub(crate) fn version_4_lists() -> Vec<Vec<Write>> {
    let members = |n: usize| {
        let texts = [format!("tag{}", n % 4), format!("tag{}", n % 3), "x".repeat(300)];
        let texts = texts.into_iter().map(MetadataScalar::Text);
        let rest = [
            MetadataScalar::Int(n as i64 % 5),
            MetadataScalar::Float(1.0),
            MetadataScalar::Int(1),
            MetadataScalar::Bool(n.is_multiple_of(2)),
        ];
        MetadataValue::Many(texts.chain(rest).collect())
    };
    let source = |n: usize| match n % 4 {
        0 => None,
        1 => Some("notes/a.md".to_owned()),
        2 => Some("notes/b.md".to_owned()),
        _ => Some(format!("{}/{}", "long".repeat(80), n % 3)),
    };
    let span = |n: usize| SourceSpan {
        start: (n as u64 * 7) % 40,
        end: 200,
        line_start: 1,
        line_end: 2,
    };
    let drawer = |n: usize| {
        let metadata = Metadata::new()
            .with_entry("tags", members(n))
            .with_entry("n", n as i64);
        let metadata = match n % 6 {
            0 => metadata.with_entry(
                "room",
                MetadataValue::Many(vec![MetadataScalar::Text("den".into())]),
            ),
            1 => metadata.with_entry("said_at", 5_i64),
            2 => metadata.with_entry("said_at", "some day"),
            _ => metadata,
        };
        NewDrawer {
            metadata,
            place: DrawerPlace {
                wing: Some(format!("wing{}", n % 2)),
                source: source(n),
                span: (!n.is_multiple_of(5)).then(|| span(n)),
                said_at: (n % 6 > 2).then(|| {
                    Timestamp::from_micros(1_600_000_000_000_000 + (n as i64 % 7) * 1_000_000).unwrap()
                }),
                ..DrawerPlace::default()
            },
            filed_at: Some(Timestamp::from_micros(1_700_000_000_000_000 + (n as i64 % 9)).unwrap()),
            ..truth::drawer(n, 0, DIMENSION)
        }
    };
    vec![
        (0..60).map(|n| Write::Add(drawer(n))).collect(),
        vec![
            Write::Upsert(drawer(64)),
            Write::Delete(DeleteSelection::Ids(vec![truth::id(7)])),
        ],
    ]
}
