//! `loci seal`: what was filed in the clear is sealed to the last byte, in the palace and in its backups.

use super::*;

/// A palace that holds secrets in the clear, filed in many ways; returns the secrets.
pub(super) fn file_in_the_clear(home: &TempHome) -> Vec<String> {
    home.json(0, &["init"]);
    home.json(0, &["seal", "--policy", "keep"]);
    home.json(0, &["add", &format!("by hand {}", token(1)), "--id", "hand"]);
    home.json(
        0,
        &[
            "add",
            "in the metadata",
            "--id",
            "meta",
            "--meta",
            &json!({"cmd": token(2)}).to_string(),
        ],
    );
    let words = "the words around it ".repeat(35);
    // The tokens lie on both sides of cuts, so that contexts repeat them.
    let text: String = (10..40)
        .map(|n| format!("{words}\ntoken {} here\n", token(n)))
        .collect();
    let file = home.write("p/long.md", format!("# T\n\n{text}"));
    // Long enough to be cut inside.
    let key = home.write("p/key.md", format!("before\n{}\nafter\n", private_key(120)));
    home.json(0, &["mine", &file, &key]);
    let mut secrets: Vec<String> = [1, 2].into_iter().chain(10..40).map(token).collect();
    secrets.extend(
        private_key(120)
            .lines()
            .skip(1)
            .step_by(7)
            .map(str::to_owned)
            .filter(|line| !line.starts_with('-')),
    );
    secrets
}

#[test]
fn what_was_filed_in_the_clear_is_sealed_to_the_last_byte() {
    let home = new_home();
    let secrets = file_in_the_clear(&home);
    let before = list(&home);
    let backups = home.path("backups").display().to_string();
    home.json(0, &["backup", &backups]);
    let counted = home.json(0, &["seal"]);
    assert_eq!(counted["sealed"], json!(0));
    assert_eq!(
        counted["kinds"],
        json!({"github-token": 32, "private-key": 1}),
        "{counted}"
    );
    assert!(
        count_in_files(&home.palace(), &secrets[0]) > 0,
        "a dry run changes nothing"
    );
    let sealed = home.json(0, &["seal", "--yes"]);
    assert_eq!(
        (&sealed["sealed"], sealed.get("not_reached")),
        (&counted["matched"], None),
        "{sealed}"
    );
    assert!(sealed["sealed_in_copies"].as_u64().unwrap() > 0);
    for secret in &secrets {
        assert_eq!(
            count_in_files(&home.palace(), secret) + count_in_files(Path::new(&backups), secret),
            0,
            "{secret}"
        );
    }
    let lines = home.write("secrets.txt", secrets.join("\n"));
    home.json(0, &["forget", "--check", &lines]);
    let texts = |drawers: Vec<Json>| -> Vec<String> {
        let mut texts: Vec<String> = drawers
            .iter()
            .map(|drawer| format!("{} {}", drawer["id"], text_of(drawer)))
            .collect();
        texts.sort();
        texts
    };
    assert_eq!(texts(unseal_all(&home)), texts(before), "nothing is lost");
    let metadata = home.json(0, &["unseal", "meta"]);
    assert_eq!(metadata["drawers"][0]["metadata"]["cmd"], json!(token(2)));
    for name in ["long.md", "key.md"] {
        let file = home.path("p").join(name);
        let printed = home
            .run(&["cat", &file.display().to_string(), "--unseal"])
            .expect_code(0)
            .out;
        assert_eq!(printed, std::fs::read_to_string(&file).unwrap(), "{name}");
    }
    assert_eq!(home.json(0, &["seal"])["matched"], json!(0));
    home.run(&["verify"]).expect_code(0);
}

#[test]
fn a_scope_limits_what_is_sealed() {
    let home = new_home();
    home.json(0, &["init"]);
    home.json(0, &["seal", "--policy", "keep"]);
    for wing in ["a", "b"] {
        home.json(
            0,
            &[
                "add",
                &format!("{wing} {}", token(1)),
                "--id",
                wing,
                "--wing",
                wing,
            ],
        );
    }
    let sealed = home.json(0, &["seal", "--wing", "a", "--yes"]);
    assert_eq!((&sealed["matched"], &sealed["sealed"]), (&json!(1), &json!(1)));
    let shown = home.json(0, &["show", "a", "b"]);
    let texts: Vec<bool> = shown["drawers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|drawer| text_of(drawer).contains(&token(1)))
        .collect();
    assert_eq!(texts, [false, true]);
}

#[test]
fn mining_a_sealed_source_again_brings_no_secret_back() {
    let home = new_home();
    file_in_the_clear(&home);
    home.json(0, &["seal", "--yes"]);
    home.json(0, &["seal", "--policy", "seal"]);
    let file = home.path("p/long.md");
    let grown = format!("{}one more line\n", std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, &grown).unwrap();
    home.json(0, &["mine", &file.display().to_string()]);
    assert_eq!(count_in_files(&home.palace(), &token(20)), 0);
    let printed = home
        .run(&["cat", &file.display().to_string(), "--unseal"])
        .expect_code(0)
        .out;
    assert_eq!(printed, grown);
}

#[test]
fn a_deleted_piece_with_a_secret_stays_deleted_however_it_was_filed() {
    // Filed sealed; filed in the clear and sealed later; filed and deleted in the clear.
    for (policy, seals) in [("seal", false), ("keep", true), ("keep", false)] {
        let home = new_home();
        home.json(0, &["init"]);
        home.json(0, &["seal", "--policy", policy]);
        let (first, last) = (
            "words of the first part. ".repeat(40),
            "the third part. ".repeat(60),
        );
        let text = format!(
            "# A\n\n{first}\n\n# B\n\nthe secret part {}\n{last}\n\n# C\n\n{last}\n",
            token(1)
        );
        let file = home.write("p/a.md", &text);
        home.json(0, &["mine", &file]);
        if seals {
            home.json(0, &["seal", "--yes"]);
        }
        home.json(0, &["seal", "--policy", "seal"]);
        home.json(0, &["delete", "--contains", "the secret part", "--yes"]);
        std::fs::write(&file, format!("{text}more\n")).unwrap();
        let mined = home.json(0, &["mine", &file]);
        assert_eq!(mined["withheld"], json!(1), "{policy} {seals}: {mined}");
        assert!(
            !list(&home)
                .iter()
                .any(|drawer| text_of(drawer).contains("the secret part"))
        );
    }
}
