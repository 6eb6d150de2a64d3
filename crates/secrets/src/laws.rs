//! Laws that hold for every text.

use proptest::prelude::*;

use crate::tests::{SCANNER, fill, seal};
use crate::{SecretScanner, credential_file};

/// Pieces that rules look for, and pieces that end or disturb them.
const PIECES: [&str; 44] = [
    "password",
    "DB_PASSWORD",
    "\"apiKey\"",
    "secret",
    "--token",
    "pass",
    "=",
    ": ",
    " = ",
    " is ",
    "=>",
    "\"",
    "'",
    "\\\"",
    "`",
    "\\n",
    "\n",
    "\r\n",
    " ",
    "x9Kq!27VzpLq",
    "ghp_{m36}",
    "AKIA{u16}",
    "sk-ant-{w40}",
    "{h32}",
    "{m40}",
    "eyJhbGciOiJIUzI1NiJ9.",
    "://",
    "user:",
    "@host",
    "Bearer ",
    "Basic ",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "curl -u ",
    "mysql -p",
    "⟦sealed jwt ",
    "9f3a17c2e84b06d5⟧",
    "é",
    "密码",
    "🔑",
    "<",
    ">",
    "&",
    ";",
];

fn a_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(fill),
        1 => "\\PC{0,12}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn spans_are_sorted_disjoint_and_on_character_boundaries(text in a_text()) {
        let spans = SCANNER.scan(&text);
        let mut end = 0;
        for span in &spans {
            prop_assert!(end <= span.start && span.start < span.end);
            prop_assert!(text.get(span.start..span.end).is_some());
            end = span.end;
        }
        prop_assert_eq!(&SecretScanner::new().scan(&text), &spans);
    }

    #[test]
    fn no_span_touches_a_label(text in a_text()) {
        let sealed = seal(&text, &SCANNER.scan(&text));
        for span in SCANNER.scan(&sealed) {
            let secret = &sealed[span.start..span.end];
            prop_assert!(!secret.contains('⟦') && !secret.contains('⟧'), "{:?}", secret);
            let before = &sealed[..span.start];
            let open = before.rfind("⟦sealed ").is_some_and(|at| at + 90 > before.len() && !before[at..].contains('⟧'));
            prop_assert!(!open, "{:?} within a label", secret);
        }
    }

    #[test]
    fn sealing_again_and_again_comes_to_an_end(text in a_text()) {
        let mut sealed = text;
        for _ in 0..8 {
            let spans = SCANNER.scan(&sealed);
            if spans.is_empty() {
                return Ok(());
            }
            sealed = seal(&sealed, &spans);
        }
        prop_assert!(false, "still secrets in {:?}", sealed);
    }

    #[test]
    fn any_path_is_judged_without_trouble(path in "[a-zA-Z./_éå-]{0,30}") {
        let _ = credential_file(&path);
    }
}
