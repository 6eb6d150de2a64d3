//! Rescue: a palace that no other command can open gives back what is left of it, and says what is not.

use std::path::Path;

use serde_json::json;

use super::*;

const PAGE: usize = 8192;

fn filled() -> TempHome {
    let home = new_home();
    let line = |n: usize| {
        let text = format!("text {n} 抽屉 {}", "harbour ".repeat(n % 90));
        let wing = n % 3;
        format!(
            "{{\"id\":\"d{n:03}\",\"document\":\"{text}\",\"wing\":\"w{wing}\",\"embedding\":[1,{n}.5]}}\n"
        )
    };
    home.file_lines(&(0..300).map(line).collect::<String>());
    home
}

fn export(home: &TempHome, palace: &str) -> String {
    home.run(&["export", "--all", "--embeddings", "--palace", palace])
        .expect_code(0)
        .out
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_palace_without_its_first_page_is_named_for_rescue_and_comes_back_byte_for_byte() {
    let home = filled();
    let before = export(&home, "./palace");
    change(&home.path("palace/palace.db"), |bytes| bytes[..PAGE].fill(7));
    for command in ["list", "verify", "export", "count"] {
        let outcome = home.run(&[command]);
        assert_ne!(outcome.code, 0, "{command}");
        let said = format!("{}{}", outcome.out, outcome.err);
        assert!(said.contains("loci rescue"), "{command}: {said}");
    }
    let report = home.json(0, &["rescue", "./palace", "--to", "./rescued"]);
    assert_eq!((&report["drawers"], &report["lost"]), (&json!(300), &json!([])));
    assert_eq!(export(&home, "./rescued"), before);
    home.json(0, &["verify", "--palace", "./rescued"]);
    let again = home
        .run(&["rescue", "./palace", "--to", "./rescued"])
        .expect_code(2);
    assert!(
        again.err.contains("already exists") && !again.err.contains("--overwrite"),
        "{}",
        again.err
    );
}

#[test]
fn lost_drawers_are_listed_and_the_rest_is_searchable() {
    let home = filled();
    let file = home.path("palace/palace.db");
    change(&file, |bytes| {
        let texts = bytes
            .chunks_mut(PAGE)
            .filter(|page| page.windows(15).any(|part| part == b"harbour harbour"));
        texts.take(5).for_each(|page| page.fill(0x5a));
        bytes[..PAGE].fill(0x5a);
    });
    let report = home.json(1, &["rescue", file.to_str().unwrap(), "--to", "./rescued"]);
    let lost = report["lost"].as_array().unwrap();
    let number: u64 = lost.iter().map(|lost| lost["count"].as_u64().unwrap_or(0)).sum();
    assert!(!lost.is_empty());
    assert_eq!(report["drawers"].as_u64().unwrap() + number, 300, "{lost:?}");
    assert_eq!(
        home.json(0, &["count", "--palace", "./rescued"])["count"],
        report["drawers"]
    );
    home.json(0, &["verify", "--palace", "./rescued"]);
    let shown = home
        .run(&["rescue", "./palace", "--to", "./other"])
        .expect_code(1);
    assert!(shown.out.contains("lost:"), "{}", shown.out);
}

#[test]
fn lost_vectors_are_told_and_cost_no_text() {
    let home = filled();
    change(&home.path("palace/palace.db"), |bytes| {
        let root = bytes
            .chunks(PAGE)
            .position(|page| page.windows(4).any(|part| part == 17.5_f32.to_le_bytes()))
            .unwrap();
        bytes[root * PAGE..(root + 1) * PAGE].fill(0);
    });
    let report = home.json(1, &["rescue", "./palace", "--to", "./rescued"]);
    assert_eq!((&report["drawers"], &report["lost"]), (&json!(300), &json!([])));
    assert!(report["without_vector"].as_u64().unwrap() > 0, "{report}");
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| finding["code"].as_str())
        .collect();
    assert!(codes.contains(&"vectors_lost"), "{codes:?}");
}
