//! Codes are a projection: answers are the same before, while and after there are any.

use loci_core::{
    Collection, CollectionExt, DeleteSelection, DrawerHit, DrawerId, Filter, FilterComparison,
    MaintenanceKind, MetadataScalar, NewDrawer, QueryRequest, Write,
};
use loci_postgres::PostgresBackend;
use loci_testkit::{PostgresServer, SeededRandom};

use super::open;

fn file(collection: &dyn Collection, random: &mut SeededRandom, from: usize, to: usize) {
    let drawer = |n: usize, random: &mut SeededRandom| {
        // Ids descend: rows of equal codes lie in the opposite order of their ids.
        let n = 9999 - n;
        let mut drawer = NewDrawer::new(DrawerId::new(format!("d{n:04}")).unwrap(), format!("text {n}"));
        drawer.place.wing = Some(["east", "west"][n % 2].to_owned());
        // Near-duplicates, and some that are equal: their order is that of their ids.
        let mut vector = random.vector(24);
        if n.is_multiple_of(3) {
            vector = vec![1.0; 24];
            vector[0] += (n % 9) as f32 * 1e-6;
        } else if n % 3 == 1 {
            // They differ by less than codes tell: by codes, others than the nearest are nearest.
            vector.iter_mut().for_each(|value| *value = 1.0 + 0.004 * *value);
        }
        drawer.embedding = Some(vector);
        Write::Add(drawer)
    };
    let writes: Vec<Write> = (from..to).map(|n| drawer(n, random)).collect();
    collection.apply_batch(&writes).unwrap();
}

fn leaves_out(key: &str, value: &str) -> Filter {
    Filter::Compare(
        key.to_owned(),
        FilterComparison::Ne(MetadataScalar::Text(value.to_owned())),
    )
}

fn answers(collection: &dyn Collection) -> Vec<Vec<(String, u32)>> {
    let mut random = SeededRandom::new(7);
    let shown = |hits: Vec<DrawerHit>| {
        hits.into_iter()
            .map(|hit| (hit.drawer.id.to_string(), hit.score.to_bits()))
            .collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for (k, filter) in [
        (5, Filter::All),
        (40, Filter::text_equals("wing", "east")),
        (500, Filter::All),
        // Leaves nearly everything, half, and of the nearest too few, so that the filter has to come first.
        (20, leaves_out("kind", "tool_result")),
        (5, leaves_out("wing", "west")),
        (40, leaves_out("wing", "west")),
        (500, leaves_out("wing", "west")),
    ] {
        for vector in [random.vector(24), vec![1.0; 24]] {
            let mut request = QueryRequest::nearest_to(vector, k);
            request.filter = filter.clone();
            all.push(shown(collection.query(&request).unwrap().remove(0)));
        }
    }
    all
}

fn packed(collection: &dyn Collection) -> (u64, u64) {
    let coverage = collection.info().unwrap().coverage;
    (coverage.packed, coverage.nearest)
}

#[test]
fn codes_come_with_the_extension_and_change_no_answer() {
    let database = PostgresServer::shared().create_database();
    let url = database.url();
    let mut random = SeededRandom::new(3);
    let before = open(&PostgresBackend::new(), &url);
    file(before.as_ref(), &mut random, 0, 300);
    let expected = answers(before.as_ref());
    assert_eq!(packed(before.as_ref()), (0, 300), "no extension, no codes");
    database.run_sql("CREATE EXTENSION vector");
    let backend = PostgresBackend::new();
    let after = open(&backend, &url);
    assert_eq!(
        answers(after.as_ref()),
        expected,
        "the extension alone changes nothing"
    );
    let report = after.upkeep().unwrap().run(&MaintenanceKind::REINDEX).unwrap();
    assert_eq!(report.figures.get("codes_built"), Some(&300));
    assert_eq!(packed(after.as_ref()), (300, 300));
    assert_eq!(answers(after.as_ref()), expected);
    // A process from before the extension stores vectors without codes: then the exact vectors answer.
    file(before.as_ref(), &mut random, 300, 320);
    assert_eq!(packed(after.as_ref()), (300, 320));
    assert_eq!(answers(after.as_ref()), answers(before.as_ref()));
    let gone = DeleteSelection::Matching(Filter::text_equals("wing", "west").into());
    before.apply_batch(&[Write::Delete(gone)]).unwrap();
    assert_eq!(packed(after.as_ref()), (150, 160));
    assert_eq!(answers(after.as_ref()), answers(before.as_ref()));
    after.upkeep().unwrap().run(&MaintenanceKind::REINDEX).unwrap();
    assert_eq!(packed(after.as_ref()), (160, 160));
    assert_eq!(answers(after.as_ref()), answers(before.as_ref()));
}
