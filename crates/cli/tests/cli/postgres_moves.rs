//! Moves between folders and Postgres: lossless both ways, from a folder of Chroma's too, and after kill −9.

use std::process::Stdio;
use std::time::Duration;

use loci_testkit::{
    FreshDatabase, PostgresServer, SeededRandom, campaign_rounds, campaign_seed, chroma_folder,
};

use super::doctoring::copy_all;
use super::*;

fn url(database: &FreshDatabase, palace: &str) -> String {
    format!("{}&palace={palace}", database.url())
}

/// Moves a palace, and checks that both hold the same; returns the report.
fn move_palace(home: &TempHome, from: &str, to: &str) -> Json {
    let report = home.json(0, &["migrate", "--from", from, "--to", to]);
    assert_eq!(report["lossless"], true, "{from} to {to}: {report}");
    let verified = home.json(0, &["verify", "--palace", to, "--against", from]);
    assert_eq!(verified["ok"], true, "{from} to {to}: {verified}");
    assert_eq!(verified["hash"], verified["against"]["hash"], "{from} to {to}");
    report
}

fn export(home: &TempHome, palace: &str) -> String {
    let args = ["export", "--all", "--embeddings", "--format", "jsonl"];
    let args: Vec<&str> = args.into_iter().chain(["--palace", palace]).collect();
    home.run(&args).expect_code(0).out
}

#[test]
fn a_folder_of_chroma_moves_into_postgres_and_on_into_a_folder_without_loss() {
    let home = new_home();
    copy_all(&chroma_folder().join("1.5.9/flushed/db"), &home.path("chroma"));
    let chroma = format!("chroma:{}", home.path("chroma").display());
    for extended in [false, true] {
        let database = PostgresServer::shared().create_database();
        if extended {
            database.run_sql("CREATE EXTENSION vector");
        }
        let server = url(&database, "moved");
        let report = move_palace(&home, &chroma, &server);
        assert!(report["rows"].as_u64().unwrap() > 1000, "{report}");
        let back = home
            .path(&format!("back-{extended}"))
            .to_str()
            .unwrap()
            .to_owned();
        move_palace(&home, &server, &back);
        let against = home.json(0, &["verify", "--palace", &back, "--against", &chroma]);
        assert_eq!(against["hash"], against["against"]["hash"], "{against}");
        assert_eq!(export(&home, &back), export(&home, &server), "byte for byte");
    }
}

#[test]
fn an_export_imported_into_postgres_and_back_is_the_same() {
    let home = new_home();
    let line = |n: usize| {
        format!(
            "{{\"id\":\"d{n:02}\",\"document\":\"text \\u0000 {n}\",\"embedding\":[1,{n}.5],\"metadata\":{{\"f\":1.0,\"i\":{n}}}}}\n"
        )
    };
    let palace = home.palace().to_str().unwrap().to_owned();
    let lines: String = (0..40).map(line).collect();
    let args = ["--json", "add", "--jsonl", "-", "--palace", &palace];
    home.run_with(&args, lines.as_bytes()).expect_code(0);
    let database = PostgresServer::shared().create_database();
    let (server, back) = (
        url(&database, "imported"),
        home.path("back").to_str().unwrap().to_owned(),
    );
    let exported = export(&home, &palace);
    for to in [&server, &back] {
        let file = home.write("exported.jsonl", export(&home, &palace));
        home.json(0, &["import", &file, "--trusted", "--palace", to]);
        let hash = |palace: &str| home.json(0, &["verify", "--palace", palace])["hash"].clone();
        assert_eq!(hash(to), hash(&palace), "{to}");
        assert_eq!(export(&home, to), exported, "{to}");
    }
}

/// Starts a migration and kills it once some of the drawers have arrived; whether it was killed before its end.
fn kill_amid(
    home: &TempHome,
    from: &str,
    to: &str,
    database: &FreshDatabase,
    chance: &mut SeededRandom,
) -> bool {
    let mut command = home.command(&["--json", "migrate", "--from", from, "--to", to]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let arrived = "SELECT coalesce(max(c.drawers), 0) FROM loci.collections c";
    loop {
        let count = database.server().try_sql(database.name(), arrived);
        let count: u64 = count.out.trim().parse().unwrap_or(0);
        if count > 0 || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(chance.below(150) as u64));
    let _ = child.kill();
    !child.wait().unwrap().success()
}

#[test]
fn a_migration_into_postgres_that_is_killed_goes_on_where_it_was() {
    let (rounds, seed) = (campaign_rounds(2), campaign_seed());
    println!("seed {seed}");
    let mut chance = SeededRandom::new(seed);
    let (mut killed, mut resumed) = (0, 0);
    for round in 0..rounds {
        let home = new_home();
        let line = |n: usize| {
            format!("{{\"id\":\"d{n:05}\",\"document\":\"words {n}\",\"embedding\":[{n},-1,1]}}\n")
        };
        let lines: String = (0..6000).map(line).collect();
        let palace = home.path("old").to_str().unwrap().to_owned();
        let args = ["--json", "add", "--jsonl", "-", "--palace", &palace];
        home.run_with(&args, lines.as_bytes()).expect_code(0);
        let database = PostgresServer::shared().create_database();
        let to = url(&database, "new");
        let is_killed = kill_amid(&home, &palace, &to, &database, &mut chance);
        killed += u64::from(is_killed);
        if is_killed {
            let report = home.json(0, &["migrate", "--from", &palace, "--to", &to]);
            assert_eq!(report["lossless"], true, "round {round}, seed {seed}: {report}");
            resumed += u64::from(report["resumed"] == true);
        }
        let verified = home.json(0, &["verify", "--palace", &to, "--against", &palace]);
        assert_eq!(verified["ok"], true, "round {round}, seed {seed}: {verified}");
        assert_eq!(verified["drawers"], 6000, "round {round}, seed {seed}");
        assert_eq!(verified["hash"], verified["against"]["hash"], "seed {seed}");
    }
    println!("{killed} killed, {resumed} gone on with");
    assert_eq!(killed, resumed, "seed {seed}");
    assert!(killed > 0, "seed {seed}: the migrations were too fast");
}
