//! What a server is told, and what it refuses to start with.

use super::*;

/// Runs `loci serve` with a config and returns the error that it prints.
fn refuse(home: &TempHome, config: &str, args: &[&str]) -> String {
    home.write("serve.toml", config);
    let all = [&["--json", "serve", "--config", "serve.toml"], args].concat();
    home.run(&all).expect_error().1
}

#[test]
fn every_mistake_of_a_config_is_told_with_its_line_before_anything_is_made() {
    let home = new_home();
    let config = "lisen = \"7070\"\nbehind_proxy = [\"10.0.0.0/99\"]\n\n[palaces]\nWork = \"work\"\n";
    let error = refuse(&home, config, &[]);
    for named in [
        "line 1: unknown key lisen",
        "line 2: ",
        "10.0.0.0/99",
        "line 5: ",
        "Work",
    ] {
        assert!(error.contains(named), "{named}: {error}");
    }
    assert_eq!(home.list_names(), ["serve.toml"]);
}

#[test]
fn an_address_that_others_can_reach_needs_encryption() {
    let home = new_home();
    for (config, args) in [
        ("", &["--listen", "0.0.0.0:0"][..]),
        ("listen = \"[::]:0\"\n", &[]),
        ("listen = \"127.0.0.1:0\"\n", &["--listen", "192.168.1.2:0"]),
    ] {
        let error = refuse(&home, config, args);
        for named in ["encrypted", "--tls-cert", "--behind-proxy", "127.0.0.1"] {
            assert!(error.contains(named), "{named}: {error}");
        }
    }
    assert_eq!(home.list_names(), ["serve.toml"]);
}

#[test]
fn options_take_the_place_of_what_the_config_says() {
    let home = new_home();
    let config = "data = \"one\"\nlisten = \"0.0.0.0:0\"\n";
    home.write("serve.toml", config);
    let listed = |args: &[&str]| {
        let all = [&["serve", "user", "add", "anna", "--config", "serve.toml"], args].concat();
        home.json(0, &all);
    };
    listed(&[]);
    listed(&["--data", "two"]);
    assert!(home.path("one/accounts.json").exists() && home.path("two/audit.log").exists());
    home.write("serve.toml", "data = \"one\"\naccounts = \"shared.json\"\n");
    listed(&["--data", "three"]);
    // The log of each server is its own, its users need not be.
    assert!(home.path("shared.json").exists() && home.path("three/audit.log").exists());
    assert!(!home.path("three/accounts.json").exists());
}

#[test]
fn palaces_are_named_before_the_command_or_after_it_and_no_name_is_taken_twice() {
    let home = new_home();
    let error = |args: &[&str]| home.run(&[&["--json"], args].concat()).expect_error().1;
    for args in [
        &["serve", "--palace", "a=nowhere:x", "--listen", "0"][..],
        &["--palace", "a=nowhere:x", "serve", "--listen", "0"],
    ] {
        let told = error(args);
        assert!(told.contains("nowhere"), "{told}");
    }
    let told = error(&["serve", "--palace", "a=./x", "--palace", "a=./y"]);
    assert!(told.contains("two palaces would be served as"), "{told}");
    let told = error(&["serve", "--palace", "./Work"]);
    assert!(told.contains("Work") && told.contains("NAME=REF"), "{told}");
    // Elsewhere the option means what it did.
    let told = error(&["--palace", "a=nowhere:x", "count"]);
    assert!(told.contains("a=nowhere:x"), "{told}");
    assert_eq!(home.list_names(), Vec::<String>::new());
}
