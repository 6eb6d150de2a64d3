//! Sealed words are a projection: answers are those of the embedded store, to the last bit, sealed, damaged or rebuilt.

use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionExt, CollectionName, CreateMode, DeleteSelection, DocumentFilter,
    DrawerContext, DrawerFields, DrawerId, DrawerPatch, Filter, LexicalRequest, MaintenanceKind, NewDrawer,
    OpenOptions, PalaceRef, Write,
};
use loci_postgres::PostgresBackend;
use loci_store::EmbeddedBackend;
use loci_testkit::{FreshDatabase, PostgresServer, SeededRandom, campaign_rounds, campaign_seed};
use tempfile::TempDir;

use super::open;

const WORDS: [&str; 12] = [
    "ferry", "harbour", "storm", "lantern", "ledger", "cook", "captain", "rope", "anchor", "tide", "the",
    "zq",
];
const WINGS: [&str; 3] = ["east", "west", "north"];

/// A collection of the embedded store, whose answers are the measure.
struct EmbeddedTwin {
    collection: Arc<dyn Collection>,
    _folder: TempDir,
}

impl EmbeddedTwin {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let palace = PalaceRef::local(folder.path().join("palace"));
        let name = CollectionName::new(CollectionName::DEFAULT).unwrap();
        let options = OpenOptions::for_writing();
        let made = EmbeddedBackend::new().create(&palace, &name, CreateMode::Exclusive, &options);
        Self {
            collection: made.unwrap(),
            _folder: folder,
        }
    }
}

fn some_text(random: &mut SeededRandom) -> String {
    let words = 1 + random.below(12);
    let mut text: Vec<String> = (0..words).map(|_| random.pick(&WORDS).to_owned()).collect();
    text.push(format!("word{}", random.below(40)));
    text.join(" ")
}

fn some_drawer(random: &mut SeededRandom, id: DrawerId) -> NewDrawer {
    let mut drawer = NewDrawer::new(id, some_text(random));
    drawer.place.wing = Some(random.pick(&WINGS).to_owned());
    drawer.context = random.toss_coin().then(|| DrawerContext {
        before: some_text(random),
        after: String::new(),
    });
    drawer
}

fn some_id(random: &mut SeededRandom) -> DrawerId {
    DrawerId::new(format!("d{}", random.below(90))).unwrap()
}

fn some_write(random: &mut SeededRandom) -> Write {
    let id = some_id(random);
    match random.below(10) {
        0..4 => Write::Add(some_drawer(random, id)),
        4..6 => Write::Upsert(some_drawer(random, id)),
        6 => Write::Update(DrawerPatch {
            document: Some(some_text(random)),
            ..DrawerPatch::new(id)
        }),
        7 => {
            let mut patch = DrawerPatch::new(id);
            patch.place.wing = Some(random.pick(&WINGS).to_owned());
            Write::Update(patch)
        }
        8 => Write::Delete(DeleteSelection::Ids(vec![id, some_id(random)])),
        _ if random.below(12) == 0 => {
            let wing = Filter::text_equals("wing", random.pick(&WINGS));
            Write::Delete(DeleteSelection::Matching(wing.into()))
        }
        _ => Write::Add(some_drawer(random, id)),
    }
}

fn some_request(random: &mut SeededRandom) -> LexicalRequest {
    let text = some_text(random);
    let mut request = LexicalRequest::for_words(text, random.pick(&[1, 4, 500]));
    if random.toss_coin() {
        request.filter = Filter::text_equals("wing", random.pick(&WINGS));
    }
    if random.below(4) == 0 {
        request.document = DocumentFilter::Contains(random.pick(&WORDS).to_owned());
    }
    request.include = DrawerFields::NOTHING;
    request
}

fn answer(collection: &dyn Collection, request: &LexicalRequest) -> Vec<(String, u32)> {
    let hits = collection.lexical(request).unwrap();
    hits.into_iter()
        .map(|hit| (hit.drawer.id.to_string(), hit.score.to_bits()))
        .collect()
}

#[test]
fn histories_give_the_scores_of_the_embedded_store_across_sealing() {
    let seed = campaign_seed();
    println!("LOCI_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    for _ in 0..campaign_rounds(3) {
        let database = PostgresServer::shared().create_database();
        let backend = PostgresBackend::new().sealing_words_at(7, 40);
        let palace = backend.adopt_url(&database.url()).unwrap();
        let (own, twin) = (open(&backend, &database.url()), EmbeddedTwin::new());
        for turn in 0..100 {
            let writes: Vec<Write> = (0..1 + random.below(9))
                .map(|_| some_write(&mut random))
                .collect();
            let (mine, theirs) = (own.apply_batch(&writes), twin.collection.apply_batch(&writes));
            match (mine, theirs) {
                (Ok(mine), Ok(theirs)) => assert_eq!(
                    (mine.added, mine.replaced, mine.updated, mine.deleted),
                    (theirs.added, theirs.replaced, theirs.updated, theirs.deleted),
                    "turn {turn}"
                ),
                // A batch that names a drawer twice is refused.
                (mine, theirs) => assert_eq!(mine.unwrap_err().kind(), theirs.unwrap_err().kind()),
            }
            for _ in 0..3 {
                let request = some_request(&mut random);
                let expected = answer(twin.collection.as_ref(), &request);
                assert_eq!(
                    answer(own.as_ref(), &request),
                    expected,
                    "turn {turn}: {request:?}"
                );
            }
        }
        // Reading every bag would give the same answers: the segments must have given these.
        assert_eq!(backend.list_damage(&palace), []);
        let sealed = database.run_sql("SELECT sealed > 0, merged > 0 FROM loci.collections");
        assert_eq!(sealed, "t|t", "segments were sealed and merged");
    }
}

/// A palace with sealed words, some of whose drawers are gone, and a tail.
struct SealedPalace {
    database: FreshDatabase,
    backend: PostgresBackend,
    palace: PalaceRef,
    collection: Arc<dyn Collection>,
}

impl SealedPalace {
    fn new() -> Self {
        let database = PostgresServer::shared().create_database();
        let backend = PostgresBackend::new().sealing_words_at(20, 100);
        let palace = backend.adopt_url(&database.url()).unwrap();
        let collection = open(&backend, &database.url());
        let mut random = SeededRandom::new(11);
        for n in 0..28 {
            let id = |at: usize| DrawerId::new(format!("d{:03}", n * 10 + at)).unwrap();
            let writes: Vec<Write> = (0..10)
                .map(|at| Write::Add(some_drawer(&mut random, id(at))))
                .collect();
            collection.apply_batch(&writes).unwrap();
        }
        let gone = ["d003", "d150", "d151", "d279"].map(|id| DrawerId::new(id).unwrap());
        let gone = DeleteSelection::Ids(gone.to_vec());
        collection.apply_batch(&[Write::Delete(gone)]).unwrap();
        let tail = ["t0", "t1", "t2"].map(|id| some_drawer(&mut random, DrawerId::new(id).unwrap()));
        collection.apply_batch(&tail.map(Write::Add)).unwrap();
        Self {
            database,
            backend,
            palace,
            collection,
        }
    }

    fn sql(&self, sql: &str) -> String {
        self.database.run_sql(sql)
    }

    fn answers(&self) -> Vec<Vec<(String, u32)>> {
        answers(self.collection.as_ref())
    }

    fn damage(&self) -> Vec<String> {
        let found = self.backend.list_damage(&self.palace);
        found.into_iter().map(|finding| finding.code).collect()
    }
}

fn answers(collection: &dyn Collection) -> Vec<Vec<(String, u32)>> {
    let mut random = SeededRandom::new(5);
    (0..12)
        .map(|_| answer(collection, &some_request(&mut random)))
        .collect()
}

#[test]
fn a_search_reads_segments_and_only_the_bags_of_the_tail() {
    let sealed = SealedPalace::new();
    let expected = sealed.answers();
    let kept = sealed.sql(
        "WITH gone AS (DELETE FROM loci.bags b USING loci.collections c WHERE b.\"row\" <= c.sealed RETURNING 1)
         SELECT count(*) > 200 FROM gone",
    );
    assert_eq!(kept, "t");
    assert_eq!(sealed.answers(), expected);
    assert_eq!(sealed.damage(), Vec::<String>::new());
}

#[test]
fn damage_to_the_word_index_changes_no_answer_and_is_reported() {
    let damages = [
        "DELETE FROM loci.word_segments WHERE segment = (SELECT min(segment) FROM loci.word_segments)",
        "DELETE FROM loci.word_segments WHERE segment = (SELECT max(segment) FROM loci.word_segments)",
        "DELETE FROM loci.word_blocks WHERE segment = (SELECT max(segment) FROM loci.word_blocks)",
        "DELETE FROM loci.word_gone WHERE \"row\" = (SELECT max(\"row\") FROM loci.word_gone)",
        "UPDATE loci.word_segments SET lengths = set_byte(lengths, 1, get_byte(lengths, 1) # 1)",
        "UPDATE loci.word_segments SET rows = set_byte(rows, 1, get_byte(rows, 1) # 1)",
        "UPDATE loci.word_blocks SET block = set_byte(block, length(block) - 1, get_byte(block, length(block) - 1) # 4)",
        "UPDATE loci.word_blocks SET beyond = 'a'",
        "DELETE FROM loci.bags WHERE \"row\" = (SELECT max(\"row\") FROM loci.bags)",
        "UPDATE loci.bags SET words = set_byte(words, 0, get_byte(words, 0) # 1)",
        "DELETE FROM loci.bags; DELETE FROM loci.word_segments",
    ];
    let sealed = SealedPalace::new();
    let expected = sealed.answers();
    assert_eq!(sealed.damage(), Vec::<String>::new());
    let tables = ["word_segments", "word_blocks", "word_gone", "bags"];
    for table in tables {
        sealed.sql(&format!(
            "CREATE TABLE public.{table} AS SELECT * FROM loci.{table}"
        ));
    }
    for damage in damages {
        for table in tables {
            sealed.sql(&format!(
                "TRUNCATE loci.{table}; INSERT INTO loci.{table} SELECT * FROM public.{table}"
            ));
        }
        sealed.sql(damage);
        // What one instance has met, another has not.
        let backend = PostgresBackend::new();
        let palace = backend.adopt_url(&sealed.database.url()).unwrap();
        let collection = open(&backend, &sealed.database.url());
        assert_eq!(answers(collection.as_ref()), expected, "{damage}");
        let found = backend.list_damage(&palace);
        assert!(!found.is_empty(), "{damage}");
        assert!(
            found.iter().all(|finding| finding.code == "full_text_damaged"),
            "{found:?}"
        );
    }
}

#[test]
fn reindexing_makes_segments_again_from_bags_and_drawers() {
    let sealed = SealedPalace::new();
    let expected = sealed.answers();
    sealed.sql("DELETE FROM loci.word_segments; DELETE FROM loci.bags WHERE \"row\" % 3 = 0");
    let upkeep = sealed.collection.upkeep().unwrap();
    let report = upkeep.run(&MaintenanceKind::REINDEX).unwrap();
    assert_eq!(report.figures.get("words_sealed"), Some(&279));
    assert_eq!(sealed.answers(), expected);
    assert_eq!(sealed.damage(), Vec::<String>::new());
    let lacking = "SELECT count(*) FROM loci.drawers d LEFT JOIN loci.bags b USING (collection, \"row\") WHERE b.\"row\" IS NULL";
    assert_eq!(sealed.sql(lacking), "0");
}

#[test]
fn compacting_takes_removed_drawers_out_of_the_segments_when_they_are_many() {
    let sealed = SealedPalace::new();
    let upkeep = sealed.collection.upkeep().unwrap();
    let expected = sealed.answers();
    // As many as make it due, without filing that many: rows that no drawer ever had.
    let many = "INSERT INTO loci.word_gone SELECT collection, -g FROM loci.collections, generate_series(1, 1100) AS g";
    sealed.sql(many);
    let due = upkeep.state().unwrap().due;
    let is_compacting = |(kind, why): &(MaintenanceKind, String)| {
        *kind == MaintenanceKind::COMPACT && why.contains("removed drawers")
    };
    assert!(due.iter().any(is_compacting), "{due:?}");
    upkeep.run(&MaintenanceKind::COMPACT).unwrap();
    assert_eq!(sealed.sql("SELECT count(*) FROM loci.word_gone"), "0");
    assert!(!upkeep.state().unwrap().due.iter().any(is_compacting));
    assert_eq!(sealed.answers(), expected);
    assert_eq!(sealed.damage(), Vec::<String>::new());
}

#[test]
fn erasing_leaves_no_word_of_a_removed_drawer_in_the_index() {
    let sealed = SealedPalace::new();
    let secret = NewDrawer::new(DrawerId::new("secret").unwrap(), "xqsecretx");
    sealed.collection.add_drawer(secret).unwrap();
    let mut random = SeededRandom::new(1);
    let more: Vec<Write> = (0..60)
        .map(|n| Write::Add(some_drawer(&mut random, DrawerId::new(format!("m{n}")).unwrap())))
        .collect();
    sealed.collection.apply_batch(&more).unwrap();
    sealed
        .collection
        .apply_batch(&[Write::Add(some_drawer(
            &mut random,
            DrawerId::new("last").unwrap(),
        ))])
        .unwrap();
    let traces = "SELECT count(*) FROM loci.word_blocks WHERE position('secretx'::bytea IN block) > 0";
    assert_eq!(sealed.sql(traces), "1", "its words are sealed");
    let eraser = sealed.collection.eraser().unwrap();
    eraser.begin().unwrap();
    let gone = DeleteSelection::Ids(vec![DrawerId::new("secret").unwrap()]);
    sealed.collection.apply_batch(&[Write::Delete(gone)]).unwrap();
    let expected = sealed.answers();
    let report = eraser.purge(&mut |_, _| {}).unwrap();
    assert_eq!(sealed.sql(traces), "0");
    assert!(report.reached.contains(&"loci.word_blocks".to_owned()));
    assert_eq!(sealed.answers(), expected);
    assert_eq!(sealed.damage(), Vec::<String>::new());
}

#[test]
fn dropping_a_collection_removes_its_words() {
    let sealed = SealedPalace::new();
    let name = CollectionName::new(CollectionName::DEFAULT).unwrap();
    sealed.backend.drop_collection(&sealed.palace, &name).unwrap();
    for table in ["bags", "word_segments", "word_blocks", "word_gone"] {
        assert_eq!(
            sealed.sql(&format!("SELECT count(*) FROM loci.{table}")),
            "0",
            "{table}"
        );
    }
}
