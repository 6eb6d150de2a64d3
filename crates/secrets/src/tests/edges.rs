//! Secrets at the edges: beside one another, within one another, in long lines, and behind labels.

use super::{SCANNER, fill, found, seal};

#[test]
fn two_secrets_side_by_side_are_two_spans() {
    let (first, second) = (fill("ghp_{m36}"), fill("AKIA{u16}"));
    for joint in [" ", ",", "\n", "|", "，", "🔑"] {
        let text = format!("{first}{joint}{second}");
        assert_eq!(
            found(&text),
            [
                ("github-token", first.as_str()),
                ("aws-access-key", second.as_str())
            ]
        );
    }
}

#[test]
fn of_rules_that_find_the_same_secret_the_most_specific_names_it() {
    let token = fill("ghp_{m36}");
    for text in [
        format!("token = \"{token}\""),
        format!("Authorization: Bearer {token}"),
        format!("password: {token}"),
    ] {
        assert_eq!(found(&text), [("github-token", token.as_str())], "in {text:?}");
    }
    let url = fill("https://bob:glpat-{m20}@git.example/x");
    assert_eq!(
        found(&url),
        [(
            "gitlab-token",
            fill("https://bob:glpat-{m20}")
                .split_once("bob:")
                .expect("a user")
                .1
        )]
    );
}

#[test]
fn secrets_that_overlap_are_one_span_over_all_of_them() {
    let token = fill("AKIA{u16}");
    let text = format!("password = \"x9!{token}.7z\"");
    assert_eq!(
        found(&text),
        [("aws-access-key", format!("x9!{token}.7z").as_str())]
    );
}

#[test]
fn a_secret_in_a_line_of_a_megabyte_is_found() {
    let token = fill("ghp_{m36}");
    let filler = "word ".repeat(110_000);
    let text = format!("{filler}{token} {filler}");
    assert_eq!(found(&text), [("github-token", token.as_str())]);
}

#[test]
fn a_secret_is_found_whatever_line_ends_the_text_has() {
    for newline in ["\n", "\r\n"] {
        let text = ["A=1", "password: x9Kq!27zpLq)", "B=2", ""].join(newline);
        assert_eq!(found(&text), [("password", "x9Kq!27zpLq)")]);
    }
}

#[test]
fn a_password_may_contain_other_characters_than_ascii() {
    assert_eq!(found("password = \"grün9!weiß\""), [("password", "grün9!weiß")]);
}

#[test]
fn an_escaped_quote_does_not_end_a_password() {
    assert_eq!(
        found(r#"{"password": "x9\"Kq!27", "a": 1}"#),
        [("password", r#"x9\"Kq!27"#)]
    );
}

#[test]
fn the_beginning_of_a_label_hides_nothing() {
    let token = format!("gh{}_16C7e42F292c6912E7710c838347Ae178B4a", "p");
    for before in [
        "see the label ⟦sealed and then",
        "x ⟦sealed github-tok\nTOKEN =",
        "⟦sealed jwt 12",
    ] {
        let text = format!("{before} {token} end");
        let found = SCANNER.scan(&text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(&text[found[0].start..found[0].end], token);
    }
    // What has only the brackets of a label is none.
    for (text, secret) in [
        ("⟦sealed password: 9f3a17c2e84b06d5⟧", "9f3a17c2e84b06d5"),
        (
            "⟦sealed secret token=9f3a17c2e84b06d5f7a1⟧",
            "9f3a17c2e84b06d5f7a1",
        ),
    ] {
        let found = found(text);
        assert_eq!(
            found.iter().map(|(_, secret)| *secret).collect::<Vec<_>>(),
            [secret],
            "{text}"
        );
    }
}

#[test]
fn labels_are_never_secrets() {
    let label = "⟦sealed password 9f3a17c2e84b06d5⟧";
    for text in [
        format!("password = \"{label}\""),
        format!("DB_PASSWORD={label}"),
        format!("postgres://app:{label}@db/x"),
        format!("Authorization: Bearer {label}"),
        format!("password: \"x9!{label}7z\""),
        "⟦sealed jwt 0123456789abcdef⟧".to_owned(),
        "password = \"⟧x9Kq!27VzpLq\"".to_owned(),
        fill(&format!(
            "-----BEGIN PRIVATE KEY-----\n{{m64}}\n{label}\n-----END PRIVATE KEY-----"
        )),
    ] {
        assert_eq!(found(&text), [], "in {text:?}");
    }
}

#[test]
fn sealed_text_contains_no_secret() {
    let text = fill(
        "a ghp_{m36} b\nDB_PASSWORD=x9Kq27VzpLq\npostgres://app:x9Kq27VzpLq@db\n-----BEGIN PRIVATE KEY-----\n{m64}\n-----END PRIVATE KEY-----",
    );
    let spans = SCANNER.scan(&text);
    assert_eq!(spans.len(), 4);
    assert_eq!(SCANNER.scan(&seal(&text, &spans)), []);
}
