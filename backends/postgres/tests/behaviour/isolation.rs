//! Two namespaces, two roles: each sees its own drawers and nothing of the other's, through loci and through raw SQL.

use std::sync::Arc;

use loci_conformance::Reference;
use loci_core::{
    Backend, Collection, CollectionExt, CollectionName, CreateMode, DeleteSelection, DrawerFields, DrawerHit,
    DrawerId, ErrorKind, FacetRequest, Filter, GetRequest, LexicalRequest, NewDrawer, OpenOptions, PalaceRef,
    QueryRequest, Receipt, Write,
};
use loci_postgres::PostgresBackend;
use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};

use super::tenants::{Tenant, TenantDatabase};
use super::try_open;

/// A tenant's collection on the server, and the oracle that knows this tenant alone.
struct TenantPair {
    tenant: Tenant,
    stored: Arc<dyn Collection>,
    oracle: Arc<dyn Collection>,
}

impl TenantPair {
    fn open(world: &TenantDatabase, tenant: &Tenant) -> Self {
        let options = OpenOptions {
            carries_unknown: true,
            ..OpenOptions::for_writing()
        };
        let name = CollectionName::new(CollectionName::DEFAULT).unwrap();
        let oracle = Reference::new().create(
            &PalaceRef::from_id("oracle"),
            &name,
            CreateMode::OpenExisting,
            &options,
        );
        Self {
            tenant: tenant.clone(),
            stored: world.open(tenant).unwrap(),
            oracle: oracle.unwrap(),
        }
    }

    /// Writes the same to both, and compares what they say about it.
    fn write(&self, random: &mut SeededRandom) {
        let n = random.below(40);
        // Both tenants use the same ids: a leak shows as a drawer that was kept, replaced or deleted.
        let id = DrawerId::new(format!("d{n}")).unwrap();
        let mut drawer = NewDrawer::new(id.clone(), format!("{} ferry {n} harbour", self.tenant.secret));
        drawer.place.wing = Some(format!("{}-{}", self.tenant.secret, n % 3));
        drawer.embedding = Some(random.vector(8));
        let write = match random.below(5) {
            0 | 1 => Write::Add(drawer),
            2 => Write::Upsert(drawer),
            3 => Write::Delete(DeleteSelection::Ids(vec![id])),
            _ => Write::Delete(DeleteSelection::Matching(
                Filter::text_equals("room", "none").into(),
            )),
        };
        let receipts = [&self.stored, &self.oracle].map(|collection| {
            let receipt = collection.apply_batch(std::slice::from_ref(&write)).unwrap();
            Receipt {
                seq: Receipt::default().seq,
                ..receipt
            }
        });
        assert_eq!(receipts[0], receipts[1]);
    }

    /// Asks both the same, and compares the answers.
    fn ask(&self, random: &mut SeededRandom) {
        let (stored, oracle) = (self.stored.as_ref(), self.oracle.as_ref());
        match random.below(5) {
            0 => assert_eq!(list(stored), list(oracle)),
            1 => {
                let all = FacetRequest::by_room();
                assert_eq!(stored.facets(&all).unwrap(), oracle.facets(&all).unwrap());
            }
            2 => {
                // The score of a word depends on how many drawers hold it: those of the other tenant must not count.
                let words = LexicalRequest::for_words("ferry harbour betasecret alphasecret", 100);
                assert_same(stored.lexical(&words).unwrap(), oracle.lexical(&words).unwrap());
            }
            3 => {
                let nearest = QueryRequest::nearest_to(random.vector(8), 100);
                assert_same(
                    stored.query(&nearest).unwrap().remove(0),
                    oracle.query(&nearest).unwrap().remove(0),
                );
            }
            _ => {
                let wing = Filter::text_equals("wing", "betasecret-1").into();
                assert_eq!(stored.count(&wing).unwrap(), oracle.count(&wing).unwrap());
                let figures = |collection: &dyn Collection| {
                    let info = collection.info().unwrap();
                    (info.drawers, info.coverage.nearest)
                };
                assert_eq!(figures(stored), figures(oracle));
            }
        }
    }
}

fn list(collection: &dyn Collection) -> Vec<(String, Option<String>, Option<String>)> {
    let all = GetRequest {
        include: DrawerFields {
            document: true,
            metadata: true,
            ..DrawerFields::NOTHING
        },
        ..GetRequest::default()
    };
    let drawers = collection.get(&all).unwrap().into_iter();
    drawers
        .map(|drawer| (drawer.id.to_string(), drawer.document, drawer.place.wing))
        .collect()
}

#[track_caller]
fn assert_same(stored: Vec<DrawerHit>, oracle: Vec<DrawerHit>) {
    let by_id = |mut hits: Vec<DrawerHit>| {
        hits.sort_by(|a, b| a.drawer.id.cmp(&b.drawer.id));
        hits
    };
    let (stored, oracle) = (by_id(stored), by_id(oracle));
    assert_eq!(stored.len(), oracle.len());
    for (one, other) in stored.iter().zip(&oracle) {
        assert_eq!(one.drawer.id, other.drawer.id);
        assert!((one.score - other.score).abs() < 1e-4, "{one:?} {other:?}");
    }
}

/// The tables with the condition that a row belongs to a namespace.
const OWNED: [(&str, &str); 8] = [
    ("palaces", "namespace = 'NAME'"),
    (
        "collections",
        "palace IN (SELECT palace FROM loci.palaces WHERE namespace = 'NAME')",
    ),
    ("spaces", "collection IN (COLLECTIONS)"),
    ("drawers", "collection IN (COLLECTIONS)"),
    ("bags", "collection IN (COLLECTIONS)"),
    ("tombstones", "collection IN (COLLECTIONS)"),
    (
        "vectors",
        "space IN (SELECT space FROM loci.spaces WHERE collection IN (COLLECTIONS))",
    ),
    (
        "near",
        "space IN (SELECT space FROM loci.spaces WHERE collection IN (COLLECTIONS))",
    ),
];

/// Compares the rows that a role sees and changes by raw SQL with those that are its own.
fn probe_rows(world: &TenantDatabase, tenant: &Tenant, other: &Tenant) {
    let collections =
        "SELECT collection FROM loci.collections JOIN loci.palaces USING (palace) WHERE namespace = 'NAME'";
    for (table, condition) in OWNED {
        let condition = condition
            .replace("COLLECTIONS", collections)
            .replace("NAME", tenant.namespace);
        let own = world.run(&format!("SELECT count(*) FROM loci.{table} WHERE {condition}"));
        let seen = world.run_as(tenant, &format!("SELECT count(*) FROM loci.{table}"));
        assert_eq!(seen, own, "{table}");
        let everything = world.run_as(tenant, &format!("SELECT t::text FROM loci.{table} t"));
        let hex: String = other.secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(
            !everything.contains(other.secret) && !everything.contains(&hex),
            "{table}"
        );
        assert!(!everything.contains(other.namespace), "{table}");
        if !["palaces", "collections", "spaces"].contains(&table) {
            let sql = format!(
                "BEGIN; WITH gone AS (DELETE FROM loci.{table} RETURNING 1) SELECT count(*) FROM gone; ROLLBACK"
            );
            assert_eq!(world.run_as(tenant, &sql), own, "{table}");
        }
    }
    // Neither the planner's statistics nor a function that tells what it is given.
    world.run("ANALYZE");
    assert_eq!(
        world.run_as(tenant, "SELECT count(*) FROM pg_stats WHERE schemaname = 'loci'"),
        "0"
    );
    let leak = world.try_as(
        tenant,
        "CREATE FUNCTION pg_temp.leak(bytea) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS
            $$ BEGIN RAISE NOTICE '%', encode($1, 'escape'); RETURN false; END $$;
         SELECT count(*) FROM loci.drawers WHERE pg_temp.leak(document);
         SELECT count(*) FROM loci.drawers WHERE pg_temp.leak(document) AND collection > 0;",
    );
    assert_eq!(leak.code, 0, "{}", leak.err);
    assert!(!leak.err.contains(other.secret), "{}", leak.err);
}

/// Tries what a role must not do, and checks that it is told the same whether the other tenant has such a thing or not.
fn probe_refusals(world: &TenantDatabase, tenant: &Tenant, other: &Tenant) {
    let collection = world.run(&format!(
        "SELECT min(collection) FROM loci.collections JOIN loci.palaces USING (palace) WHERE namespace = '{}'",
        other.namespace
    ));
    let insert = |name: &str| {
        format!(
            "INSERT INTO loci.palaces(namespace, name, identity, created_at) VALUES ('{}', '{name}', '\\x00', 0)",
            other.namespace
        )
    };
    let refused = |sql: &str| {
        let outcome = world.try_as(tenant, sql);
        assert_ne!(outcome.code, 0, "{sql}");
        assert!(!outcome.err.contains(other.secret), "{}", outcome.err);
        outcome.err
    };
    assert_eq!(refused(&insert("team")), refused(&insert("nothing of this name")));
    let bag = |collection: &str| format!("INSERT INTO loci.bags VALUES ({collection}, 1, '\\x00')");
    assert_eq!(refused(&bag(&collection)), refused(&bag("987654321")));
    for sql in [
        "INSERT INTO loci.namespaces VALUES ('more', current_user)",
        "UPDATE loci.namespaces SET role = current_user",
        "UPDATE loci.settings SET value = '9.9'",
        "UPDATE loci.palaces SET namespace = 'else'",
        "DELETE FROM loci.palaces",
        "INSERT INTO loci.spaces(space, collection, state) OVERRIDING SYSTEM VALUE VALUES (1, 1, 'active')",
        "SELECT last_value FROM loci.palaces_palace_seq",
        "SELECT nextval('loci.spaces_space_seq')",
        "ALTER TABLE loci.drawers NO FORCE ROW LEVEL SECURITY",
        "SET row_security = off; SELECT count(*) FROM loci.drawers",
        "TRUNCATE loci.drawers",
        "CREATE TABLE loci.mine (n integer)",
    ] {
        refused(sql);
    }
    // Conditions that fail on a row of the other tenant are never tried on one.
    let sql = format!(
        "SELECT count(*) FROM loci.drawers WHERE convert_from(document, 'UTF8') LIKE '%{}%' AND 1 / (length(document) - length(document)) = 1",
        other.secret
    );
    assert_eq!(world.run_as(tenant, &sql), "0");
}

/// Opens the other tenant's palace under a role, by names that exist and names that do not.
fn probe_palaces(world: &TenantDatabase, tenant: &Tenant, other: &Tenant) {
    let errors = ["team", "absent"].map(|name| {
        let backend = PostgresBackend::new();
        let palace = backend
            .adopt_url(&world.url(&tenant.role, other.namespace, name))
            .unwrap();
        let missing = backend.collections(&palace).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
        let refused = try_open(&backend, &palace.id).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
        format!("{missing} {refused}").replace(name, "NAME")
    });
    assert_eq!(errors[0], errors[1]);
}

#[test]
fn random_operations_of_two_roles_never_show_a_trace_of_the_other() {
    let seed = campaign_seed();
    println!("seed {seed}");
    let mut random = SeededRandom::new(seed);
    let world = TenantDatabase::create(true);
    let pairs = [0, 1].map(|number| TenantPair::open(&world, &world.tenants[number]));
    let rounds = campaign_rounds(500);
    for round in 0..rounds {
        let turn = random.below(2);
        let pair = &pairs[turn];
        if random.below(3) == 0 {
            pair.ask(&mut random);
        } else {
            pair.write(&mut random);
        }
        if round % 100 == 99 || round + 1 == rounds {
            let (tenant, other) = (&pair.tenant, &pairs[1 - turn].tenant);
            probe_rows(&world, tenant, other);
            probe_refusals(&world, tenant, other);
            probe_palaces(&world, tenant, other);
        }
    }
}
