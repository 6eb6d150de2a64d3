//! Versions are read and compared; tables of an earlier minor version are upgraded once, while others write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use loci_core::{
    Backend, Collection, CollectionExt, CollectionName, CreateMode, DrawerFields, DrawerId, GetRequest,
    NewDrawer, OpenOptions,
};
use loci_testkit::{FreshDatabase, PostgresServer};

use super::*;
use crate::PostgresBackend;

const FIRST: TableVersion = TableVersion { major: 1, minor: 0 };

fn open(backend: &PostgresBackend, url: &str) -> Result<Arc<dyn Collection>> {
    let palace = backend.adopt_url(url)?;
    let name = CollectionName::new(CollectionName::DEFAULT)?;
    backend.create(
        &palace,
        &name,
        CreateMode::OpenExisting,
        &OpenOptions::for_writing(),
    )
}

fn file(collection: &dyn Collection, id: String) {
    let drawer = NewDrawer::new(DrawerId::new(id).unwrap(), "text");
    assert_eq!(collection.add_drawer(drawer).unwrap().added.len(), 1);
}

fn count(collection: &dyn Collection) -> usize {
    let all = GetRequest {
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    collection.get(&all).unwrap().len()
}

fn version(database: &FreshDatabase) -> String {
    database.run_sql("SELECT value FROM loci.settings WHERE key = 'version'")
}

/// Returns everything the catalogue says about the schema, and its settings.
fn dump(database: &FreshDatabase) -> String {
    let mut command = database.server().program("pg_dump");
    command
        .args(["--schema", "loci", "--inserts", "--dbname"])
        .arg(database.url());
    let outcome = loci_testkit::run_command(command, b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    // The newest releases write a random word that guards against injected commands.
    let lines = outcome.out.lines();
    let kept = lines.filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn versions_are_read_and_other_majors_refused() {
    let version = parse_version("1.7").unwrap();
    assert_eq!(version, TableVersion { major: 1, minor: 7 });
    assert_eq!(version.to_string(), "1.7");
    assert!(check_version(version).is_ok(), "a minor version only adds");
    assert!(check_version(parse_version("2.0").unwrap()).is_err());
    for text in ["", "1", "x.y", "1.x"] {
        assert_eq!(
            parse_version(text).unwrap_err().kind(),
            ErrorKind::Format,
            "{text}"
        );
    }
}

#[test]
fn two_that_open_at_once_upgrade_once_while_a_writer_of_the_old_version_goes_on() {
    let database = PostgresServer::shared().create_database();
    let url = database.url();
    let old = open(&PostgresBackend::with_tables_of(FIRST), &url).unwrap();
    file(old.as_ref(), "first".to_owned());
    assert_eq!(version(&database), "1.0");
    let is_over = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = 0;
            // A few more after the upgrade.
            while !is_over.load(Ordering::SeqCst) || written % 5 != 0 {
                file(old.as_ref(), format!("old {written}"));
                written += 1;
            }
            written
        });
        let upgraders: Vec<_> = (0..2)
            .map(|number| {
                let url = &url;
                scope.spawn(move || {
                    let new = open(&PostgresBackend::new(), url).unwrap();
                    (0..10).for_each(|n| file(new.as_ref(), format!("new {number} {n}")));
                })
            })
            .collect();
        let ended: Vec<_> = upgraders.into_iter().map(|thread| thread.join()).collect();
        is_over.store(true, Ordering::SeqCst);
        ended.into_iter().for_each(|ended| ended.unwrap());
        writer.join().unwrap()
    });
    assert_eq!(version(&database), "1.1");
    assert_eq!(
        database.run_sql("SELECT count(*) FROM loci.settings WHERE key = 'upgraded to 1.1'"),
        "1"
    );
    assert_eq!(count(old.as_ref()), 1 + written + 20);
    // An upgraded database is the one that a new one would be.
    let fresh = PostgresServer::shared().create_database();
    drop(open(&PostgresBackend::new(), &fresh.url()).unwrap());
    let policies = "SELECT polrelid::regclass, polname, polcmd, pg_get_expr(polqual, polrelid),
        pg_get_expr(polwithcheck, polrelid) FROM pg_policy ORDER BY 1::text, 2";
    assert_eq!(database.run_sql(policies), fresh.run_sql(policies));
    // A build of the old minor version opens what the new one made.
    file(
        open(&PostgresBackend::with_tables_of(FIRST), &fresh.url())
            .unwrap()
            .as_ref(),
        "later".to_owned(),
    );
    assert_eq!(version(&fresh), "1.1");
}

#[test]
fn a_role_that_may_not_upgrade_writes_to_the_older_tables() {
    let database = PostgresServer::shared().create_database();
    drop(open(&PostgresBackend::with_tables_of(FIRST), &database.url()).unwrap());
    let role = format!("{}_writer", database.name());
    database.run_sql(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA loci TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA loci TO {role}"
    ));
    let url = database.url().replacen("postgres@", &format!("{role}@"), 1);
    let scoped = open(&PostgresBackend::new(), &url).unwrap();
    file(scoped.as_ref(), "one".to_owned());
    assert_eq!((version(&database).as_str(), count(scoped.as_ref())), ("1.0", 1));
    // Nor does an upgrade by another take anything from it.
    drop(open(&PostgresBackend::new(), &database.url()).unwrap());
    file(scoped.as_ref(), "two".to_owned());
    assert_eq!((version(&database).as_str(), count(scoped.as_ref())), ("1.1", 2));
    database.run_sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn busy_tables_are_upgraded_later() {
    let database = PostgresServer::shared().create_database();
    let url = database.url();
    let old = open(&PostgresBackend::with_tables_of(FIRST), &url).unwrap();
    // A reader's transaction keeps its lock on the tables for as long as it is open.
    let moment = old.moment().unwrap().unwrap();
    let new = open(&PostgresBackend::new(), &url).unwrap();
    file(new.as_ref(), "while busy".to_owned());
    assert_eq!(version(&database), "1.0");
    drop(moment);
    drop(open(&PostgresBackend::new(), &url).unwrap());
    assert_eq!(version(&database), "1.1");
}

#[test]
fn a_newer_major_version_is_refused_and_nothing_changes() {
    let database = PostgresServer::shared().create_database();
    let url = database.url();
    drop(open(&PostgresBackend::with_tables_of(FIRST), &url).unwrap());
    database.run_sql("UPDATE loci.settings SET value = '2.0' WHERE key = 'version'");
    let before = dump(&database);
    let other = format!("{url}&palace=other");
    for url in [url, other] {
        let error = open(&PostgresBackend::new(), &url).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Format, "{error}");
        assert!(error.hint_text().unwrap().contains("untouched"), "{error}");
        let backend = PostgresBackend::new();
        let palace = backend.adopt_url(&url).unwrap();
        assert_eq!(
            backend.collections(&palace).unwrap_err().kind(),
            ErrorKind::Format
        );
    }
    assert_eq!(dump(&database), before);
}
