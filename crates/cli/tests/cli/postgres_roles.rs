//! Roles of namespaces in Postgres: `loci init --role`, what each role gets to see, and `loci doctor` on a server.

use loci_testkit::{CommandOutcome, FreshDatabase, PostgresServer, TempHome};
use serde_json::Value as Json;

use super::new_home;

/// A database with the namespaces `acme` and `zeta`, each with a role that can log in; dropped with the value.
struct TwoNamespaces {
    home: TempHome,
    database: FreshDatabase,
}

impl TwoNamespaces {
    fn create() -> Self {
        let made = Self {
            home: new_home(),
            database: PostgresServer::shared().create_database(),
        };
        for namespace in ["acme", "zeta"] {
            let role = made.role(namespace);
            let told = made.home.run(&[
                "init",
                "--embedder",
                "none",
                "--palace",
                &made.url("postgres", namespace),
                "--role",
                &role,
            ]);
            let told = told.expect_code(0);
            assert!(
                told.out
                    .contains(&format!("the role {role} sees the namespace {namespace} only")),
                "{}",
                told.out
            );
            assert!(told.err.contains("it cannot log in yet"), "{}", told.err);
            made.database.run_sql(&format!("ALTER ROLE {role} LOGIN"));
        }
        made
    }

    fn role(&self, namespace: &str) -> String {
        format!("{}_{namespace}", self.database.name())
    }

    fn url(&self, role: &str, namespace: &str) -> String {
        let url = self.database.url().replacen("postgres@", &format!("{role}@"), 1);
        format!("{url}&palace=team&namespace={namespace}")
    }

    /// Runs a command as the role of a namespace, on its palace.
    fn run(&self, namespace: &str, args: &[&str]) -> CommandOutcome {
        let url = self.url(&self.role(namespace), namespace);
        let args: Vec<&str> = args.iter().copied().chain(["--palace", &url]).collect();
        self.home.run(&args)
    }
}

impl Drop for TwoNamespaces {
    fn drop(&mut self) {
        for namespace in ["acme", "zeta"] {
            let gone = format!("DROP OWNED BY {0}; DROP ROLE {0}", self.role(namespace));
            let _ = self.database.server().try_sql(self.database.name(), &gone);
        }
    }
}

#[test]
fn every_command_of_a_role_speaks_of_its_own_namespace_alone() {
    let world = TwoNamespaces::create();
    for (namespace, id, wing, text) in [
        ("acme", "same", "harbour", "the alphasecret ferry leaves"),
        ("zeta", "same", "betawing", "the betasecret ferry leaves"),
        ("zeta", "hidden", "betawing", "another betasecret ferry"),
    ] {
        let added = world.run(namespace, &["add", "--id", id, "--wing", wing, text]);
        added.expect_code(0);
    }
    for args in [
        &["search", "ferry", "--json"][..],
        &["search", "betasecret"],
        &["why-not", "ferry", "hidden"],
        &["why-not", "betasecret ferry", "hidden", "--json"],
        &["count", "--json"],
        &["wings"],
        &["list", "--json"],
        &["show", "hidden"],
        &["changes", "--json"],
        &["timeline"],
        &["status", "--json"],
        &["export"],
        &["doctor"],
        &["delete", "hidden"],
    ] {
        let told = world.run("acme", args);
        let text = format!("{}{}", told.out, told.err).replace("why-not", "");
        assert!(!text.contains("Usage:"), "{args:?}: {text}");
        // The words of the question may come back; those of the answer may not.
        for leak in ["betawing", "another", "the betasecret", "zeta"] {
            assert!(!text.contains(leak), "{args:?}: {text}");
        }
    }
    let count = |namespace: &str| {
        let told = world.run(namespace, &["count", "--json"]).expect_code(0);
        serde_json::from_str::<Json>(&told.out).unwrap()["count"].clone()
    };
    assert_eq!((count("acme"), count("zeta")), (Json::from(1), Json::from(2)));
    // A drawer that exists elsewhere and one that exists nowhere are missing in the same words.
    let missing = |id: &str| {
        let told = world.run("acme", &["show", id]);
        (told.code, told.err.replace(id, "ID"))
    };
    assert_eq!(missing("hidden"), missing("absent"));
}

#[test]
fn init_prints_the_sql_for_an_administrator_and_refuses_roles_elsewhere() {
    let home = new_home();
    let database = PostgresServer::shared().create_database();
    let url = format!("{}&palace=team&namespace=acme", database.url());
    let role = format!("{}_printed", database.name());
    let args = ["init", "--palace", &url, "--role", &role, "--print-sql"];
    let printed = home.run(&args).expect_code(0);
    assert!(
        printed.out.contains(&format!("CREATE ROLE {role} NOLOGIN;")),
        "{}",
        printed.out
    );
    assert_eq!(
        database.run_sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'loci'"),
        "0"
    );
    database.run_sql(&printed.out);
    let init = [
        "init",
        "--embedder",
        "none",
        "--palace",
        &url,
        "--role",
        &role,
        "--json",
    ];
    let told = home.run(&init).expect_code(0);
    let told: Json = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["role"]["created"], Json::Bool(false), "{told}");
    assert_eq!(told["role"]["namespace"], "acme", "{told}");
    database.run_sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    let refused = home.run(&["init", "--role", "someone"]).expect_code(2);
    assert!(
        refused.err.contains("only a palace in Postgres has roles"),
        "{}",
        refused.err
    );
    assert!(home.list_names().is_empty(), "{:?}", home.list_names());
}

#[test]
fn the_doctor_examines_a_server_and_exits_with_one_if_it_finds_something() {
    let world = TwoNamespaces::create();
    world
        .run("acme", &["add", "--id", "one", "a ferry"])
        .expect_code(0);
    let sound = world.run("acme", &["doctor"]).expect_code(0);
    assert!(sound.out.contains("healthy: postgres"), "{}", sound.out);
    world.database.run_sql("DELETE FROM loci.bags");
    let found = world.run("acme", &["doctor"]).expect_code(1);
    assert!(found.out.contains("drawers have no words"), "{}", found.out);
    let found = world.run("acme", &["doctor", "--json"]).expect_code(1);
    let found: Json = serde_json::from_str(&found.out).unwrap();
    let codes: Vec<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"words_missing"), "{codes:?}");
    let void = world
        .home
        .run(&["doctor", &world.url("postgres", "acme")])
        .expect_code(1);
    assert!(void.out.contains("row-level security is void"), "{}", void.out);
    let step = world
        .run("acme", &["doctor", "--fix", "quarantine"])
        .expect_code(2);
    assert!(step.err.contains("unknown step"), "{}", step.err);
}
