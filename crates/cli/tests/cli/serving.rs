//! `loci serve` and the commands below it, on real files.

mod accounts;
mod audit;
mod settings;

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Returns the permission bits of a file in the server's folder.
fn mode_of(home: &TempHome, name: &str) -> u32 {
    let path = home.path("data/loci/serve").join(name);
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns the token that a new user with these rights can show, and its id.
fn make_token(home: &TempHome, user: &str) -> (String, String) {
    let made = home.json(0, &["serve", "token", "make", user]);
    let field = |value: &Json| value.as_str().unwrap().to_owned();
    (field(&made["text"]), field(&made["token"]["id"]))
}
