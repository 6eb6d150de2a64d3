//! The offline page: every drawer once, nothing that a text could end or run, and a policy that allows nothing else.

use std::collections::BTreeMap;

use loci_core::{DrawerId, Error, Result};
use loci_engine::AccessPolicy;
use loci_engine::delete::DeleteRequest;
use loci_engine::view::ScopeFields;
use loci_web::{OfflinePageReport, OfflinePageRequest, write_offline_page};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use crate::scene::SiteScene;

/// Texts and names that try to leave their place.
const HOSTILE: [&str; 12] = [
    "</script><script>alert(1)</script>",
    "<!-- <script> -->",
    "]]>",
    "\u{2028}\u{2029}\u{85}",
    "\u{202e}gpj.exe\u{202c}\u{2066}\u{200b}",
    "nul \0 in the middle",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "lone \" and ' and ` and \\",
    "javascript:alert(document.domain)",
    "&lt;/script&gt;&amp;\\u003c",
    "\" onmouseover=\"alert(1)\" style=\"x:y",
    "{{constructor.constructor('alert(1)')()}}",
];

fn request(fields: ScopeFields) -> OfflinePageRequest {
    OfflinePageRequest {
        palace_name: "garden </title><script>".to_owned(),
        scope: fields.parse(crate::scene::NOW.parse().unwrap()).unwrap(),
        about: vec![("room".to_owned(), "</script>".to_owned())],
    }
}

fn write_page(palace: &loci_engine::Palace, fields: ScopeFields) -> (String, OfflinePageReport) {
    let mut page = String::new();
    let mut put = |part: &str| {
        page.push_str(part);
        Ok::<(), Error>(())
    };
    let report = write_offline_page(palace, &request(fields), &mut put, &mut |_| Ok(())).unwrap();
    assert_eq!(report.bytes, page.len() as u64);
    (page, report)
}

/// Returns the start tags of all scripts and their contents, as a parser of HTML finds them.
fn list_scripts(page: &str) -> Vec<(&str, &str)> {
    let mut scripts = Vec::new();
    let mut rest = page;
    while let Some((_, behind)) = rest.split_once("<script") {
        let (tag, content) = behind.split_once('>').unwrap();
        let (content, behind) = content.split_once("</script>").unwrap();
        assert!(
            !content.contains("<!--") && !content.contains("<script"),
            "{content}"
        );
        scripts.push((tag, content));
        rest = behind;
    }
    scripts
}

/// Returns the drawers of a page by their ids.
fn read_drawers(page: &str) -> BTreeMap<String, Json> {
    let mut drawers = BTreeMap::new();
    for (tag, content) in list_scripts(page) {
        if !tag.contains("class=\"drawers\"") {
            continue;
        }
        for drawer in serde_json::from_str::<Vec<Json>>(content).unwrap() {
            let id = drawer["id"].as_str().unwrap().to_owned();
            assert!(drawers.insert(id, drawer).is_none(), "a drawer comes twice");
        }
    }
    drawers
}

fn hostile_scene() -> SiteScene {
    let scene = SiteScene::new();
    for (at, text) in HOSTILE.into_iter().enumerate() {
        scene.add_with(
            &format!("h-{at} {text}"),
            &format!("wing {text}"),
            text,
            |drawer| {
                drawer.place.room = Some(text.to_owned());
                drawer.place.source = Some(text.to_owned());
                drawer.place.speaker = Some(text.to_owned());
                drawer.place.kind = Some(text.to_owned());
                drawer.metadata.insert(text, text);
            },
        );
    }
    scene
}

#[test]
fn no_text_leaves_its_block_and_all_of_it_comes_back() {
    let scene = hostile_scene();
    let (page, report) = write_page(&scene.palace, ScopeFields::default());
    assert_eq!(report.drawers, 12);
    let drawers = read_drawers(&page);
    for (at, text) in HOSTILE.into_iter().enumerate() {
        let drawer = &drawers[&format!("h-{at} {text}")];
        for field in ["text", "room", "source", "speaker", "kind"] {
            assert_eq!(drawer[field], text, "{field}");
        }
        assert_eq!(drawer["metadata"][text], text);
        assert_eq!((&drawer["trust"], &drawer["span"]), (&"user".into(), &Json::Null));
    }
    // Without what is in the blocks, the file is the same for every palace of this name.
    let (empty, _) = write_page(&SiteScene::new().add_one().palace, ScopeFields::default());
    let frame = |page: &str| page.split_once(" id=\"head\"").unwrap().0.to_owned();
    assert_eq!(frame(&page), frame(&empty));
    assert!(
        page.chars().all(|c| c == '\n' || !c.is_control()),
        "a control character"
    );
    assert!(!page.contains('\u{202e}') && !page.contains('\u{2028}'));
}

impl SiteScene {
    fn add_one(self) -> Self {
        self.add("one", "w", "A drawer.");
        self
    }
}

fn hash_of(content: &str) -> String {
    // Base 64 by the digits of the hash, three bytes at a time.
    let digits: Vec<char> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain("+/".chars())
        .collect();
    let mut text = String::new();
    for three in Sha256::digest(content.as_bytes()).chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            text.push(digits[(bits >> (18 - 6 * place) & 63) as usize]);
        }
    }
    format!("'sha256-{text}='")
}

#[test]
fn the_policy_allows_one_script_and_one_style_sheet_and_nothing_else() {
    let (page, _) = write_page(&SiteScene::new().add_one().palace, ScopeFields::default());
    let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split_once('"').unwrap().0.replace("&#39;", "'");
    let scripts: Vec<&str> = list_scripts(&page)
        .into_iter()
        .filter(|(tag, _)| !tag.contains("application/json"))
        .map(|(_, content)| content)
        .collect();
    let style = page
        .split_once("<style>")
        .unwrap()
        .1
        .split_once("</style>")
        .unwrap()
        .0;
    assert_eq!((scripts.len(), page.matches("<style").count()), (1, 1));
    let expected = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src 'none'; connect-src 'none'; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash_of(scripts[0]),
        hash_of(style)
    );
    assert_eq!(policy, expected);
    // Before the policy there is nothing that it could have stopped.
    let before = page.split_once("Content-Security-Policy").unwrap().0;
    assert!(before.len() < 200 && !before.contains("script"), "{before}");
    let frame = page
        .split_once("<body>")
        .unwrap()
        .1
        .split_once("<script")
        .unwrap()
        .0;
    for attribute in [
        " onclick", " oninput", " onload", " style=", " src=", " action=", "http", "url(",
    ] {
        assert!(!frame.contains(attribute), "{attribute}");
        assert!(attribute != "url(" || !style.contains(attribute));
    }
    for call in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        ".style",
        "fetch(",
    ] {
        assert!(!scripts[0].contains(call), "{call}");
    }
}

#[test]
fn the_file_says_how_many_drawers_it_has_and_what_they_are() {
    let scene = SiteScene::new();
    for at in 0..400 {
        scene.add(
            &format!("n-{at:04}"),
            "w",
            &format!("note {at} {}", "words ".repeat(300)),
        );
    }
    let mut seen = Vec::new();
    let mut parts = Vec::new();
    let mut put = |part: &str| {
        parts.push(part.to_owned());
        Ok::<(), Error>(())
    };
    let report = write_offline_page(
        &scene.palace,
        &request(ScopeFields::default()),
        &mut put,
        &mut |progress| {
            seen.push((progress.drawers, progress.total));
            Ok(())
        },
    );
    assert_eq!(report.unwrap().drawers, 400);
    assert_eq!(
        (seen.len(), seen[0], seen[399]),
        (400, (1, Some(400)), (400, Some(400)))
    );
    // Written block by block, each of a bounded size.
    assert!(parts.len() > 4 && parts.iter().all(|part| part.len() < 300_000));
    let page = parts.concat();
    assert_eq!(read_drawers(&page).len(), 400);
    let json = |id: &str| {
        let scripts = list_scripts(&page);
        let found = scripts.iter().find(|(tag, _)| tag.contains(id)).unwrap();
        serde_json::from_str::<Json>(found.1).unwrap()
    };
    assert_eq!(
        json("id=\"end\""),
        serde_json::json!({"drawers": 400, "damaged": 0})
    );
    let head = json("id=\"head\"");
    assert_eq!(
        (&head["drawers"], &head["written_at"]),
        (&400.into(), &crate::scene::NOW.into())
    );
    assert_eq!(head["about"], serde_json::json!([["room", "</script>"]]));
}

#[test]
fn what_was_deleted_or_is_elsewhere_is_not_in_the_file_and_secrets_are_labels() {
    let scene = SiteScene::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    scene.add("kept", "garden", &format!("The token is {secret}, keep it."));
    scene.add("gone", "garden", "This was deleted later.");
    scene.add("other", "house", "The roof was mended.");
    let gone = DeleteRequest {
        ids: vec![DrawerId::new("gone").unwrap()],
        ..DeleteRequest::default()
    };
    scene.palace.delete(&gone).unwrap();
    let restricted = scene
        .palace
        .clone()
        .restricted_to(AccessPolicy::limited(true, vec!["garden".into()]));
    let (page, report) = write_page(&restricted, ScopeFields::default());
    assert_eq!((report.drawers, read_drawers(&page).len()), (1, 1));
    for absent in [secret.as_str(), "deleted later", "roof", "house"] {
        assert!(!page.contains(absent), "{absent}");
    }
    assert!(page.contains("⟦sealed github-token "));
}

#[test]
fn a_name_that_no_drawer_has_is_told_and_an_error_of_the_sink_is_returned() {
    let scene = SiteScene::new().add_one();
    let fields = ScopeFields {
        room: Some("beens".into()),
        ..ScopeFields::default()
    };
    let (page, report) = write_page(&scene.palace, fields);
    assert_eq!((report.drawers, read_drawers(&page).len()), (0, 0));
    assert_eq!(report.warnings[0].code, "unknown_room");
    let full: Result<OfflinePageReport> = write_offline_page(
        &scene.palace,
        &request(ScopeFields::default()),
        &mut |_| Err(Error::invalid("the disk is full")),
        &mut |_| Ok(()),
    );
    assert_eq!(full.unwrap_err().message(), "the disk is full");
    let stopped: Result<OfflinePageReport> = write_offline_page(
        &scene.palace,
        &request(ScopeFields::default()),
        &mut |_| Ok(()),
        &mut |_| Err(Error::invalid("stopped")),
    );
    assert_eq!(stopped.unwrap_err().message(), "stopped");
}
