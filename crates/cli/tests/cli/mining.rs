//! Mining files: what is taken, what is left out, where it goes, and that it comes back byte for byte.

use super::*;

/// The tree these tests mine, in a folder of the home.
pub(crate) fn project(home: &TempHome) -> PathBuf {
    let root = home.path("garden");
    std::fs::create_dir_all(root.join("docs")).unwrap();
    std::fs::create_dir_all(root.join(".git/info")).unwrap();
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let soil = "# Soil\n\nThe loam is dark.\n\n## Worms\n\nThey turn it over at night.\n";
    std::fs::write(root.join("docs/soil.md"), soil).unwrap();
    std::fs::write(root.join("plan.txt"), "Dig in spring.\nSow in April.\n").unwrap();
    root
}

/// What `loci cat` prints of a source.
#[track_caller]
pub(crate) fn cat(home: &TempHome, source: impl AsRef<OsStr>) -> Vec<u8> {
    let output = home
        .command(&[OsStr::new("cat"), source.as_ref()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

fn texts<'a>(report: &'a Json, list: &str, key: &str) -> Vec<&'a str> {
    let all = report[list].as_array().unwrap().iter();
    all.map(|one| one[key].as_str().unwrap()).collect()
}

#[test]
fn a_project_is_mined_into_its_wing_and_comes_back_byte_for_byte() {
    let home = new_home();
    let root = project(&home);
    let report = home.json(0, &["mine", "garden"]);
    assert_eq!(report["sources_seen"], 2, "{report}");
    assert_eq!(report["sources_mined"], 2);
    assert_eq!(report["sources_failed"], serde_json::json!([]));
    assert_eq!(report["skipped"], serde_json::json!([]));
    let added = report["drawers_added"].as_u64().unwrap();
    assert!(added >= 2 && report["seconds"].is_number());
    assert_eq!(home.json(0, &["count"])["count"], added);
    let list = home.json(0, &["list"]);
    for drawer in list["drawers"].as_array().unwrap() {
        assert_eq!(drawer["wing"], "garden");
        assert!(["general", "docs"].contains(&drawer["room"].as_str().unwrap()));
        assert_eq!(drawer["kind"], "file");
        assert!(drawer["span"]["line_start"].is_number());
    }
    for name in ["docs/soil.md", "plan.txt"] {
        let path = root.join(name);
        assert_eq!(cat(&home, &path), std::fs::read(&path).unwrap(), "{name}");
    }
    let hits = home.json(0, &["search", "--only", "words", "worms"]);
    assert!(
        hits["hits"][0]["text"].as_str().unwrap().contains("turn it over"),
        "{hits}"
    );
    let hits = home.json(0, &["search", "--only", "meaning", "turning the earth at night"]);
    assert!(
        !hits["hits"].as_array().unwrap().is_empty(),
        "mined text has vectors"
    );
    assert_eq!(home.json(0, &["verify"])["ok"], true);
}

#[test]
fn the_same_tree_again_adds_nothing_and_says_so() {
    let home = new_home();
    project(&home);
    let first = home.json(0, &["mine", "garden"]);
    let before = home.json(0, &["changes"]);
    for path in ["garden", "garden/../garden", "garden/docs"] {
        let report = home.json(0, &["mine", path]);
        assert_eq!(report["sources_mined"], 0, "{path}: {report}");
        assert_eq!(report["sources_unchanged"], report["sources_seen"]);
        assert_eq!(report["drawers_added"], 0);
        assert_eq!(report["drawers_removed"], 0);
    }
    assert_eq!(
        home.json(0, &["mine", "garden"])["drawers_kept"],
        first["drawers_added"]
    );
    assert_eq!(home.json(0, &["changes"]), before, "nothing was written");
}

#[test]
fn a_changed_file_is_replaced_and_its_unchanged_pieces_stay_what_they_were() {
    let home = new_home();
    let root = project(&home);
    let section = |n: usize| format!("# Part {n}\n\n{}\n\n", format!("Words of part {n}. ").repeat(40));
    let text = |parts: &[usize]| parts.iter().map(|n| section(*n)).collect::<String>();
    let path = root.join("long.md");
    std::fs::write(&path, text(&[1, 2, 3, 4, 5])).unwrap();
    home.json(0, &["mine", "garden"]);
    let all = |home: &TempHome| {
        let list = home.json(0, &["list", "--limit", "1000", "--embeddings"]);
        let drawers = list["drawers"].as_array().unwrap().clone();
        drawers
            .into_iter()
            .filter(|drawer| drawer["source"].as_str().unwrap().ends_with("long.md"))
            .map(|drawer| (drawer["id"].as_str().unwrap().to_owned(), drawer))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let before = all(&home);
    std::fs::write(&path, text(&[9, 1, 2, 4, 5])).unwrap();
    let report = home.json(0, &["mine", "garden"]);
    assert_eq!(report["sources_mined"], 1, "{report}");
    assert_eq!(cat(&home, &path), text(&[9, 1, 2, 4, 5]).as_bytes());
    let after = all(&home);
    let kept: Vec<_> = after.keys().filter(|id| before.contains_key(*id)).collect();
    assert!(kept.len() >= 3, "{} of {} kept", kept.len(), after.len());
    for id in kept {
        assert_eq!(before[id]["text"], after[id]["text"]);
        assert_eq!(
            before[id]["embedding"], after[id]["embedding"],
            "no vector was made again"
        );
        assert_eq!(before[id]["filed_at"], after[id]["filed_at"]);
    }
    assert_eq!(
        report["drawers_removed"].as_u64().unwrap() as usize,
        before.keys().filter(|id| !after.contains_key(*id)).count()
    );
    assert_eq!(home.json(0, &["verify"])["ok"], true);
}

#[test]
fn equal_pieces_that_take_each_other_s_place_all_stay() {
    let home = new_home();
    let part = |word: &str| format!("# {word}\n\n{}\n\n", format!("{word} and {word}. ").repeat(40));
    let same = part("same");
    let path = home.write("equal.md", same.repeat(6));
    let added = home.json(0, &["mine", &path])["drawers_added"].clone();
    let other = part("else");
    assert_eq!(other.len(), same.len());
    for text in [
        format!("{other}{}", same.repeat(6)),
        same.repeat(5),
        same.repeat(7),
    ] {
        home.write("equal.md", &text);
        let report = home.json(0, &["mine", &path]);
        assert_eq!(cat(&home, &path), text.as_bytes(), "{report}");
    }
    assert_eq!(added, 6);
    assert_eq!(home.json(0, &["verify"])["ok"], true);
}

#[test]
fn ignore_rules_hidden_vendored_and_odd_files_are_left_out_and_said() {
    let home = new_home();
    let root = project(&home);
    let write = |name: &str, content: &[u8]| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    write(".gitignore", b"*.log\n!keep.log\n");
    write("docs/.gitignore", b"draft.md\n");
    write(".git/info/exclude", b"private/\n");
    write(".ignore", b"scratch.txt\n");
    write("a.log", b"no");
    write("keep.log", b"yes, kept on purpose");
    write("docs/draft.md", b"no");
    write("private/x.txt", b"no");
    write("scratch.txt", b"no");
    write(".hidden/x.txt", b"no");
    write("node_modules/m/index.js", b"no");
    write("pixels.bin", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    write("empty.txt", b"");
    write("big.txt", &vec![b'x'; 5000]);
    let status = Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(status.success());
    std::os::unix::fs::symlink(&root, root.join("loop")).unwrap();
    let report = home.json(0, &["mine", "garden", "--max-size", "4k"]);
    let mut mined: Vec<String> = home.json(0, &["wings", "--by", "source"])["facets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|facet| {
            facet["source"]
                .as_str()
                .unwrap()
                .rsplit('/')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    mined.sort();
    assert_eq!(mined, ["keep.log", "plan.txt", "soil.md"], "{report}");
    let skipped = texts(&report, "skipped", "source");
    let reasons = texts(&report, "skipped", "reason");
    let reason = |name: &str| {
        let at = skipped.iter().position(|source| source.ends_with(name));
        reasons[at.unwrap_or_else(|| panic!("{name} is not listed: {report}"))]
    };
    assert!(reason("/pixels.bin").contains("PNG"));
    assert!(reason("/empty.txt").contains("empty"));
    assert!(reason("/big.txt").contains("--max-size"));
    assert!(reason("/pipe").contains("pipe"));
    assert!(reason("/loop").contains("link"));
}

/// Files that were made to break readers.
fn nasty(root: &std::path::Path) -> Vec<PathBuf> {
    std::fs::create_dir_all(root).unwrap();
    let utf16 = |text: &str, big: bool| {
        let units = text.encode_utf16();
        let bytes = units.flat_map(|unit| {
            if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        });
        bytes.collect::<Vec<u8>>()
    };
    let family = "👨‍👩‍👧‍👦";
    let marks = format!("e{}", "\u{301}".repeat(50));
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("bom.txt", "\u{feff}with a mark\n".into()),
        ("crlf.txt", "one\r\ntwo\r\n\r\nthree\r".repeat(200).into()),
        ("utf16le.txt", utf16("\u{feff}Grüße 抽屉 👋\n", false)),
        ("utf16be.txt", utf16("\u{feff}Grüße 抽屉 👋\n", true)),
        ("emoji.txt", family.repeat(500).into()),
        ("marks.txt", marks.repeat(100).into()),
        ("line.txt", "word ".repeat(40_000).into()),
        ("unbroken.txt", "x".repeat(80_000).into()),
        ("cjk.txt", "記憶の宮殿。".repeat(3000).into()),
        ("rtl.txt", "זיכרון ".repeat(1000).into()),
        ("latin1.txt", b"Caf\xe9 und Stra\xdfe, gr\xfc\xdfe\n".repeat(50)),
        (
            "nul.txt",
            b"one\0two".iter().copied().chain(vec![b'a'; 4000]).collect(),
        ),
        (
            "fence.md",
            format!(
                "```\n{}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
                "code\n".repeat(900)
            )
            .into(),
        ),
        (
            "page.html",
            "<html><head><title>T</title></head><body><p>Hello</p></body></html>\n"
                .repeat(80)
                .into(),
        ),
        ("rows.csv", "a,b\n1,\"x\ny\"\n".repeat(500).into()),
        ("no newline at end", "last".into()),
    ];
    let mut stray = "Gutes Wetter in der Stadt, überall. ".repeat(60).into_bytes();
    stray.splice(777..777, [0xff, 0xfe, 0xc3]);
    let mut paths = Vec::new();
    for (name, content) in files.into_iter().chain([("stray.txt", stray)]) {
        let path = root.join(name);
        std::fs::write(&path, content).unwrap();
        paths.push(path);
    }
    paths
}

#[test]
fn nasty_files_come_back_byte_for_byte() {
    let home = new_home();
    let paths = nasty(&home.path("nasty"));
    let report = home.json(0, &["mine", "nasty"]);
    assert_eq!(report["sources_failed"], serde_json::json!([]));
    assert_eq!(report["skipped"], serde_json::json!([]), "all of them are text");
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        assert!(cat(&home, &path) == bytes, "{}", path.display());
    }
    assert_eq!(home.json(0, &["verify"])["ok"], true);
    assert_eq!(home.json(0, &["mine", "nasty"])["sources_mined"], 0);
}

#[test]
fn a_large_source_comes_whole_and_with_every_vector() {
    let home = new_home();
    let text: String = (0..9000)
        .map(|n| format!("Line {n} of the log of the ship says what it says.\n"))
        .collect();
    let path = home.write("log.txt", &text);
    let report = home.json(0, &["mine", &path, "--piece", "100"]);
    let added = report["drawers_added"].as_u64().unwrap();
    assert!(added > 4096, "filed part by part: {report}");
    assert_eq!(report["without_vector"], 0);
    assert_eq!(home.json(0, &["status"])["coverage"]["nearest"], added);
    assert!(cat(&home, &path) == text.as_bytes());
    assert_eq!(
        home.json(0, &["mine", &path, "--piece", "100"])["sources_unchanged"],
        1
    );
}

#[test]
fn names_that_are_no_text_are_mined_like_any_other() {
    use std::os::unix::ffi::OsStrExt as _;
    let home = new_home();
    let folder = home.path("odd");
    std::fs::create_dir(&folder).unwrap();
    let names: [&[u8]; 4] = [
        b"\xff\xfe.txt",
        b"new\nline.txt",
        "\u{202e}txt.exe".as_bytes(),
        b"#hash#.md",
    ];
    for name in names {
        std::fs::write(folder.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let report = home.json(0, &["mine", "odd"]);
    assert_eq!(report["sources_mined"], 4, "{report}");
    for name in names {
        assert_eq!(cat(&home, folder.join(OsStr::from_bytes(name))), name);
    }
    let shown = home.run(&["mine", "odd", "--dry-run"]).expect_code(0).out;
    assert!(!shown.contains('\u{202e}'));
}

#[test]
fn a_dry_run_shows_the_plan_and_makes_nothing() {
    let home = new_home();
    project(&home);
    let before = home.list_names();
    let report = home.json(0, &["mine", "garden", "--dry-run"]);
    let plan = report["plan"].as_array().unwrap();
    assert_eq!(plan.len(), 2, "{report}");
    assert_eq!(plan[0]["wing"], "garden");
    assert_eq!(plan[0]["new"], plan[0]["drawers"]);
    assert_eq!(report["drawers_added"], 0);
    assert_eq!(home.list_names(), before);
    let words = home.run(&["mine", "garden", "--dry-run"]).expect_code(0).out;
    assert!(words.contains("2 would be mined"), "{words}");
}

#[test]
fn a_source_that_lacks_a_drawer_is_not_given_back_as_if_it_were_whole() {
    let home = new_home();
    let section = |n: usize| format!("# Part {n}\n\n{}\n\n", format!("Words of part {n}. ").repeat(40));
    let path = home.write("long.md", (0..4).map(section).collect::<String>());
    let without = |n: usize| {
        home.json(0, &["mine", &path, "--restore-deleted"]);
        let list = home.json(0, &["list"]);
        let at = |drawer: &&Json| drawer["span"]["start"].as_u64().unwrap();
        let mut drawers: Vec<&Json> = list["drawers"].as_array().unwrap().iter().collect();
        drawers.sort_by_key(at);
        home.json(
            0,
            &[
                "delete",
                drawers[n].as_object().unwrap()["id"].as_str().unwrap(),
                "--yes",
            ],
        );
        home.run(&["cat", &path]).expect_code(2).err
    };
    assert!(without(1).contains("are in no drawer"));
    home.write("long.md", (0..4).map(section).collect::<String>() + "And more.\n");
    assert!(without(3).contains("are missing"));
}

#[test]
fn a_missing_path_is_listed_as_failed_and_the_others_are_mined() {
    let home = new_home();
    project(&home);
    let report = home.json(1, &["mine", "garden/plan.txt", "nowhere", "garden/docs"]);
    assert_eq!(report["sources_mined"], 2, "{report}");
    let failed = &report["sources_failed"];
    assert_eq!(failed.as_array().unwrap().len(), 1, "{report}");
    assert_eq!(failed[0]["source"], home.path("nowhere").to_str().unwrap());
    assert!(!failed[0]["error"].as_str().unwrap().is_empty(), "{report}");
    let words = home.run(&["mine", "garden", "nowhere"]).expect_code(1);
    assert!(words.out.contains("1 failed"), "{words:?}");
    assert!(
        words.err.contains("warning: ") && words.err.contains("nowhere"),
        "{words:?}"
    );
    let planned = home.json(1, &["mine", "garden", "nowhere", "--dry-run"]);
    assert_eq!(planned["sources_failed"].as_array().unwrap().len(), 1);
}

#[test]
fn where_no_path_exists_nothing_is_mined_and_no_palace_is_made() {
    let home = new_home();
    for paths in [&["nowhere"][..], &["nowhere", "neither"]] {
        let (kind, words) = home.run(&[&["--json", "mine"], paths].concat()).expect_error();
        assert_eq!(kind, "not_found");
        assert!(
            words.contains("nowhere") && words.contains("nothing was mined"),
            "{words}"
        );
    }
    assert_eq!(home.list_names(), Vec::<String>::new());
}

#[test]
fn since_takes_the_words_that_search_takes() {
    let home = new_home();
    home.write("new.md", "written now");
    let old = home.path("old.md");
    std::fs::write(&old, "written long ago").unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(900 * 86_400);
    let file = std::fs::File::options().write(true).open(&old).unwrap();
    file.set_modified(long_ago).unwrap();
    for (number, since) in [
        "yesterday",
        "last year",
        "2 weeks ago",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
    ]
    .iter()
    .enumerate()
    {
        let palace = home.path(&format!("palace-{number}"));
        let palace = palace.to_str().unwrap();
        let report = home.json(
            0,
            &["mine", "new.md", "old.md", "--since", since, "--palace", palace],
        );
        assert_eq!(report["sources_mined"], 1, "{since}: {report}");
    }
    let (kind, said) = home
        .run(&["--json", "mine", "new.md", "--since", "soonish"])
        .expect_error();
    assert_eq!(kind, "invalid");
    assert!(said.contains("since"), "{said}");
}

#[test]
fn counts_are_spelled_for_one_and_for_many() {
    let home = new_home();
    home.write("one.md", "a line");
    let first = home.run(&["mine", "one.md"]).expect_code(0).out;
    assert!(
        first.contains("1 source: 1 mined") && first.contains("1 drawer added"),
        "{first}"
    );
    let again = home.run(&["mine", "one.md"]).expect_code(0).out;
    assert!(again.contains("0 drawers added"), "{again}");
}

#[test]
fn sources_that_are_not_there_are_named() {
    let home = new_home();
    project(&home);
    let (_, words) = home.run(&["--json", "cat", "garden"]).expect_error();
    assert!(words.contains("no palace"), "{words}");
    home.json(0, &["mine", "garden/plan.txt"]);
    let unknown = home.json(1, &["cat", "garden/docs/soil.md"]);
    assert_eq!(unknown["source"], Json::Null);
    assert_eq!(unknown["warnings"][0]["code"], "unknown_source", "{unknown}");
    let words = home.run(&["cat", "garden/docs/soil.md"]).expect_code(1);
    assert!(words.out.is_empty() && words.err.contains("soil.md"), "{words:?}");
    assert_eq!(home.run(&["mine"]).code, 2);
    assert_eq!(home.run(&["mine", "garden", "--as", "nonsense"]).code, 2);
}

#[test]
fn a_wing_has_one_spelling() {
    let home = new_home();
    project(&home);
    home.json(0, &["mine", "garden/plan.txt", "--wing", "My Garden"]);
    home.json(0, &["mine", "garden/docs", "--wing", "my_garden"]);
    let facets = home.json(0, &["wings", "--by", "wing"]);
    assert_eq!(facets["facets"].as_array().unwrap().len(), 1, "{facets}");
    assert_eq!(facets["facets"][0]["wing"], "My Garden");
    let list = home.json(0, &["list", "--wing", "MY-GARDEN"]);
    assert!(!list["drawers"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_mined_into_another_wing_moves_there() {
    let home = new_home();
    project(&home);
    home.json(0, &["mine", "garden"]);
    let report = home.json(0, &["mine", "garden", "--wing", "allotment"]);
    assert_eq!(report["drawers_added"], 0, "{report}");
    let facets = home.json(0, &["wings", "--by", "wing"]);
    assert_eq!(facets["facets"][0]["wing"], "allotment");
    assert_eq!(facets["facets"].as_array().unwrap().len(), 1);
    let again = home.json(0, &["mine", "garden"]);
    assert_eq!(
        again["sources_unchanged"], 2,
        "where it was put, it stays: {again}"
    );
}
