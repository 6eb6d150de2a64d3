//! The ways to name a palace in Postgres, and the password that no way ever shows or keeps.

use loci_testkit::{CommandOutcome, FreshDatabase, PostgresServer};

use super::*;

/// A password that stands in a URL; the server of the tests asks for none and takes any.
const PASSWORD: &str = "hush-hush-canary";

/// Returns the URL of a palace with the password in it.
fn secret_url(database: &FreshDatabase, palace: &str) -> String {
    let url = database
        .url()
        .replacen("postgres@", &format!("postgres:{PASSWORD}@"), 1);
    format!("{url}&palace={palace}")
}

/// Runs with a palace in the environment.
fn run_in(home: &TempHome, palace: &str, args: &[&str]) -> CommandOutcome {
    let mut command = home.command(args);
    command.env("LOCI_PALACE", palace);
    run_command(command, b"")
}

#[test]
fn the_environment_a_config_and_both_schemes_name_the_same_palace() {
    let home = new_home();
    let database = PostgresServer::shared().create_database();
    let url = format!("{}&palace=team", database.url());
    let other_scheme = url.replacen("postgresql://", "postgres://", 1);
    assert_ne!(url, other_scheme);
    home.json(0, &["init", "--palace", &url, "--embedder", "none"]);
    let config = serde_json::json!({ "url": url }).to_string();
    home.write("data/loci/palaces/work/config.json", config);
    home.write("here/config.json", serde_json::json!({ "url": url }).to_string());
    for (number, palace) in [url.as_str(), &other_scheme, "work", "./here"]
        .into_iter()
        .enumerate()
    {
        let id = format!("d{number}");
        run_in(&home, palace, &["add", "--id", &id, "the ferry leaves"]).expect_code(0);
        let counted = run_in(&home, palace, &["count", "--json"]).expect_code(0).json();
        assert_eq!(counted["count"], number + 1, "{palace}");
        let named = home.json(0, &["count", "--palace", palace]);
        assert_eq!(named["count"], number + 1, "{palace}");
    }
    assert_eq!(database.run_sql("SELECT count(*) FROM loci.palaces"), "1");
}

#[test]
fn a_server_that_cannot_be_reached_is_named_and_nothing_is_made_instead() {
    let home = new_home();
    let folder = home.path("no-socket").to_str().unwrap().to_owned();
    let url = format!("postgres://ada:{PASSWORD}@/memory?host={folder}&palace=team");
    for args in [&["search", "ferry"][..], &["add", "text"], &["init"], &["doctor"]] {
        let told = run_in(&home, &url, args).expect_code(2);
        assert!(told.err.contains(&folder), "{args:?}: {}", told.err);
        assert!(!told.err.contains(PASSWORD), "{args:?}: {}", told.err);
    }
    assert!(!home.list_names().iter().any(|name| name.contains("palace")));
}

#[test]
fn backup_names_the_servers_own_tool() {
    let home = new_home();
    let database = PostgresServer::shared().create_database();
    let url = format!("{}&palace=team", database.url());
    home.json(0, &["init", "--palace", &url, "--embedder", "none"]);
    let to = home.path("copy").to_str().unwrap().to_owned();
    let told = home.run(&["backup", &to, "--palace", &url]).expect_code(2);
    assert!(told.err.contains("pg_dump -n loci"), "{}", told.err);
    assert!(!home.path("copy").exists());
}

/// Every command that says where its palace is, or fails on it.
fn commands<'a>(url: &'a str, missing: &'a str, back: &'a str) -> Vec<Vec<&'a str>> {
    let own = [
        &["init", "--embedder", "none"][..],
        &["init", "--role", "loci_nobody", "--print-sql"],
        &["add", "--id", "one", "the ferry leaves"],
        &["search", "ferry", "--explain"],
        &["status"],
        &["status", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["verify", "--json"],
        &["changes", "--json"],
        &["export", "--all"],
        &["backup", "copy"],
        &["maintain", "analyze"],
        &["mine", "notes.md"],
        &["connect", "cursor"],
        &["connect", "claude-code", "--print"],
        &["embedder", "show"],
        &["doctor", "--fix", "quarantine"],
        &["hook", "claude-code", "SessionStart", "{}"],
        &["forget", "one", "--yes"],
        &["delete", "one"],
    ];
    let with = |palace: &'a str| {
        own.iter().map(move |args| {
            args.iter()
                .copied()
                .chain(["--palace", palace])
                .collect::<Vec<_>>()
        })
    };
    let moves = [
        vec!["migrate", "--from", url, "--to", back, "--json"],
        vec!["verify", "--palace", back, "--against", url, "--json"],
        vec!["migrate", "--from", back, "--to", url],
        vec!["migrate", "--from", back, "--to", missing],
        vec!["status", "--palace", back, "--json"],
    ];
    with(url).chain(with(missing)).chain(moves).collect()
}

#[test]
fn no_command_shows_or_keeps_the_password_of_a_url() {
    let home = new_home();
    let database = PostgresServer::shared().create_database();
    let url = secret_url(&database, "team");
    // The same server, and a database that it does not have.
    let missing = url.replacen(database.name(), "loci_absent", 1);
    home.write("notes.md", "# Notes\n\nthe ferry leaves at noon\n");
    let back = home.path("back").to_str().unwrap().to_owned();
    let mut succeeded = 0;
    for args in commands(&url, &missing, &back) {
        let told = home.run(&args);
        succeeded += usize::from(told.code == 0);
        let text = format!("{}{}", told.out, told.err);
        assert!(!text.contains(PASSWORD), "{args:?}: {text}");
        assert!(!text.contains("Usage:"), "{args:?}: {text}");
    }
    assert!(succeeded > 12, "only {succeeded} commands did anything");
    assert_eq!(
        count_in_files(home.folder(), PASSWORD),
        0,
        "{:?}",
        home.list_names()
    );
    let mut dump = database.server().program("pg_dump");
    dump.arg("--inserts").arg("--dbname").arg(database.url());
    let dump = run_command(dump, b"").expect_code(0).out;
    let hex: String = PASSWORD.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(dump.contains("INSERT INTO loci.drawers"));
    assert!(!dump.contains(PASSWORD) && !dump.contains(&hex));
}
