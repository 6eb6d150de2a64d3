//! Keeping to the owner: files that hold credentials are not mined, and a palace is readable by its owner only.

use serde_json::json;

use super::*;

#[test]
fn files_that_hold_credentials_are_skipped_with_the_reason_unless_asked_for() {
    let home = new_home();
    for name in [
        "id_rsa",
        "notes.md",
        "credentials.json",
        "server.key",
        "id_rsa.pub",
    ] {
        home.write(&format!("p/{name}"), "some words\n");
    }
    let hidden = home.write("p/.env", "DB_PASSWORD=words\n");
    let folder = home.path("p").display().to_string();
    let report = home.json(0, &["mine", &folder, "--hidden"]);
    let skipped = report["skipped"].as_array().unwrap();
    let names: Vec<&str> = skipped
        .iter()
        .map(|one| one["source"].as_str().unwrap())
        .collect();
    let expected = [".env", "credentials.json", "id_rsa", "server.key"];
    assert!(
        names.iter().zip(expected).all(|(name, end)| name.ends_with(end)),
        "{names:?}"
    );
    assert_eq!((skipped.len(), &report["sources_mined"]), (4, &json!(2)));
    assert!(
        skipped[2]["reason"].as_str().unwrap().contains("--credentials"),
        "{skipped:?}"
    );
    assert_eq!(
        home.json(0, &["mine", &hidden])["skipped"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        home.json(0, &["mine", &hidden, "--credentials"])["sources_mined"],
        1
    );
}

#[test]
fn a_palace_and_an_export_are_for_their_owner_only_wherever_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let home = new_home();
    let open = home.path("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    let palace = open.display().to_string();
    let made = home.run(&["--palace", &palace, "add", "a note"]);
    assert!(made.err.contains("only you may read"), "{}", made.err);
    home.json(
        0,
        &[
            "--palace",
            &palace,
            "export",
            "-o",
            &format!("{palace}/all.jsonl"),
        ],
    );
    for entry in std::fs::read_dir(&open).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.path());
    }
}
