//! Laws of migration: random drawers all arrive.

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

use super::*;

fn a_value() -> impl Strategy<Value = loci_core::MetadataValue> {
    let scalar = prop_oneof![
        any::<bool>().prop_map(MetadataScalar::Bool),
        any::<i64>().prop_map(MetadataScalar::Int),
        proptest::num::f64::NORMAL.prop_map(MetadataScalar::Float),
        ".{0,8}".prop_map(MetadataScalar::Text),
    ];
    prop_oneof![
        scalar.clone().prop_map(MetadataValue::One),
        vec(scalar, 0..3).prop_map(MetadataValue::Many),
    ]
}

fn a_vector() -> impl Strategy<Value = Vec<f32>> {
    vec(proptest::num::f32::NORMAL | proptest::num::f32::SUBNORMAL, 4)
}

prop_compose! {
    fn a_drawer()(
        document in ".{0,40}",
        metadata in btree_map("[a-z]{1,4}[0-9]", a_value(), 0..4),
        wing in of("[a-c]"),
        source in of("[a-b]"),
        start in of(0_u64..3),
        filed_at in of(-1_000_000_000_000_i64..2_000_000_000_000_000),
        uses in 0_u64..3,
        embedding in of(a_vector()),
    ) -> NewDrawer {
        NewDrawer {
            metadata: metadata.into_iter().collect(),
            place: DrawerPlace {
                wing,
                source,
                span: start.map(|start| SourceSpan { start, end: start + 1, line_start: 1, line_end: 1 }),
                ..DrawerPlace::default()
            },
            filed_at: filed_at.map(|micros| loci_core::Timestamp::from_micros(micros).unwrap()),
            uses,
            embedding,
            ..NewDrawer::new(id("a"), document)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn random_drawers_arrive_bit_for_bit_with_an_equal_hash(
        drawers in btree_map(".{1,12}", a_drawer(), 1..30),
        known in any::<bool>(),
    ) {
        let backend = reference();
        let there = palace();
        let from = address(&backend, &there);
        let how = OpenOptions {
            embedder: known.then(model),
            carries_unknown: true,
            ..OpenOptions::for_writing()
        };
        let source = backend.create(&there, &name("drawers"), CreateMode::OpenExisting, &how).unwrap();
        for (called, mut drawer) in drawers {
            drawer.id = id(&called);
            source.apply_batch(&[Write::Add(drawer)]).unwrap();
        }
        let home = Home::new();
        let place = home.local("new");
        let to = address(&home.embedded, &place);
        let report = Moving::new(from, to).go().unwrap();
        prop_assert!(report.lossless, "{report:?}");
        let (before, after) = (everything(from, "drawers"), everything(to, "drawers"));
        prop_assert_eq!(&before, &after);
        prop_assert_eq!(hash(from), hash(to));
        prop_assert_eq!(compare_palaces(to, from, None, &mut |_| {}).unwrap().findings, vec![]);
        prop_assert_eq!(source.info().unwrap().identity, opened(to, "drawers").info().unwrap().identity);
    }
}
