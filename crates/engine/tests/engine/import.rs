//! Importing: what is stored, what is kept, what is refused.

use loci_core::{
    Backend, CollectionExt as _, CreateMode, Drawer, DrawerContext, DrawerFields, DrawerPlace,
    EmbedderIdentity, ErrorKind, FilingDoor, GetRequest, IdentityState, Metadata, NewDrawer, OpenOptions,
    OriginKind, Provenance, SourceSpan,
};
use loci_engine::{ImportRequest, OnBadLine, OnConflict};

use super::*;

fn drawers(backend: &dyn Backend, collection: &str) -> Vec<Drawer> {
    let opened = backend
        .open(&palace(), &name(collection), &OpenOptions::default())
        .unwrap();
    opened
        .get(&GetRequest {
            include: DrawerFields::EVERYTHING,
            ..GetRequest::default()
        })
        .unwrap()
}

#[test]
fn an_export_imports_into_an_equal_palace() {
    let one = reference();
    filled(&one, 30);
    put(
        &one,
        NewDrawer {
            document: "\0 \u{202e}\n抽屉 🗄️".into(),
            metadata: Metadata::new()
                .with_entry("f", 3.0)
                .with_entry("wing", "抽")
                .with_entry("n", i64::MIN),
            context: Some(DrawerContext {
                before: "b".into(),
                after: "a".into(),
            }),
            place: DrawerPlace {
                source: Some("file.md".into()),
                span: Some(SourceSpan {
                    start: 3,
                    end: 9,
                    line_start: 1,
                    line_end: 2,
                }),
                said_at: Some("2026-05-01T09:30:00.000001Z".parse().unwrap()),
                ..DrawerPlace::default()
            },
            uses: 5,
            provenance: Some(Provenance::new(FilingDoor::Agent, OriginKind::Note).filed_by("ada")),
            ..NewDrawer::new(id("it's \"an\"\nid 🗄️"), "")
        },
    );
    let first = exported(&one, "drawers");
    let two = reference();
    let report = import(&two, OnConflict::Fail, &first);
    assert_eq!((report.added, report.failed.len()), (31, 0));
    assert_eq!(exported(&two, "drawers"), first);
    assert_eq!(drawers(&one, "drawers"), drawers(&two, "drawers"));
}

#[test]
fn importing_twice_stores_nothing_new_in_any_mode() {
    let backend = reference();
    filled(&backend, 20);
    let text = exported(&backend, "drawers");
    for (mode, kept, replaced, failed) in [
        (OnConflict::Keep, 20, 0, 0),
        (OnConflict::Replace, 0, 20, 0),
        (OnConflict::Fail, 0, 0, 20),
    ] {
        let report = import(&backend, mode, &text);
        assert_eq!(
            (report.added, report.kept, report.replaced, report.failed.len()),
            (0, kept, replaced, failed),
            "{mode:?}"
        );
        assert_eq!(exported(&backend, "drawers"), text, "{mode:?}");
    }
}

#[test]
fn an_id_that_stands_twice_does_not_spoil_its_batch() {
    let lines = r#"{"id":"a","text":"one"}
{"id":"b","text":"x"}
{"id":"a","text":"two"}"#;
    for (mode, expect) in [
        (OnConflict::Keep, ("one", 2, 1, 0, 0)),
        (OnConflict::Replace, ("two", 2, 0, 1, 0)),
        (OnConflict::Fail, ("one", 2, 0, 0, 1)),
    ] {
        let backend = reference();
        let report = import(&backend, mode, lines);
        let found = drawers(&backend, "drawers");
        let document = found[0].document.as_deref().unwrap();
        assert_eq!(
            (
                document,
                report.added,
                report.kept,
                report.replaced,
                report.failed.len()
            ),
            expect,
            "{mode:?}"
        );
        if mode == OnConflict::Fail {
            assert_eq!(report.failed[0].line, 3);
            assert!(report.failed[0].error.contains("\"a\""), "{:?}", report.failed);
        }
    }
}

#[test]
fn bad_lines_are_listed_and_the_others_go_on() {
    let backend = reference();
    let lines = concat!(
        "\u{feff}{\"id\":\"a\",\"text\":\"x\",\"embedding\":[1,2]}\n",
        "not json\n",
        "\n",
        "{\"id\":\"b\",\"text\":\"x\",\"colour\":1}\n",
        "{\"id\":\"c\",\"text\":\"x\",\"embedding\":[1,2,3]}\n",
        "{\"id\":\"d\",\"text\":\"x\",\"embedding\":[0,0]}\n",
        "{\"id\":\"e\",\"text\":\"x\",\"span\":{\"start\":9,\"end\":1,\"line_start\":1,\"line_end\":1}}\n",
        "{\"id\":\"f\",\"text\":\"\"}\r\n",
    );
    let report = import(&backend, OnConflict::Keep, lines);
    assert_eq!(report.added, 2, "{report:?}");
    let failed: Vec<u64> = report.failed.iter().map(|failed| failed.line).collect();
    assert_eq!(failed, [2, 4, 5, 6, 7], "{report:?}");
    assert!(report.failed[1].error.contains("colour"), "{report:?}");
    assert!(report.failed[2].error.contains("3 values"), "{report:?}");
    assert_eq!(report.without_vector, 1);
}

#[test]
fn a_line_that_is_not_utf8_is_listed() {
    let backend = reference();
    let palace = open_palace(&backend, &NOBODY);
    let mut importer = palace.import(request(OnConflict::Keep));
    assert_eq!(importer.push(1, b"{\"text\":\"\xff\"}").unwrap(), None);
    assert!(
        importer.report().failed[0].error.contains("UTF-8 from byte 10"),
        "{:?}",
        importer.report()
    );
    assert!(!palace.exists().unwrap(), "nothing was made");
}

#[test]
fn lines_go_to_the_collection_they_name_unless_one_is_given() {
    let lines = "{\"collection\":\"notes\",\"text\":\"x\"}\n{\"text\":\"y\"}";
    let backend = reference();
    import(&backend, OnConflict::Keep, lines);
    assert_eq!(drawers(&backend, "notes").len(), 1);
    assert_eq!(drawers(&backend, "drawers").len(), 1);
    let into = ImportRequest {
        into: Some(name("all")),
        ..request(OnConflict::Keep)
    };
    import_as(&backend, into, lines);
    assert_eq!(drawers(&backend, "all").len(), 2);
}

#[test]
fn batches_become_durable_at_their_size_and_a_bad_line_stops_where_told_to() {
    let backend = reference();
    let request = ImportRequest {
        on_bad_line: OnBadLine::Stop,
        batch: 2,
        ..request(OnConflict::Keep)
    };
    let palace = open_palace(&backend, &NOBODY);
    let mut importer = palace.import(request);
    let mut push = |at: u64, line: &str| importer.push(at, line.as_bytes());
    assert_eq!(push(1, r#"{"id":"a","text":""}"#).unwrap(), None);
    let committed = push(2, r#"{"id":"b","text":""}"#).unwrap().unwrap();
    assert_eq!(
        (committed.batch, committed.receipt.added),
        (1, vec![id("a"), id("b")])
    );
    assert_eq!(push(3, r#"{"id":"c","text":""}"#).unwrap(), None);
    assert_eq!(push(4, "{").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!((importer.batches(), importer.count_waiting()), (1, 1));
    assert_eq!(drawers(&backend, "drawers").len(), 2);
}

fn identity(backend: &dyn Backend, collection: &str) -> IdentityState {
    let opened = backend.open(&palace(), &name(collection), &OpenOptions::default());
    opened.unwrap().info().unwrap().identity
}

#[test]
fn given_vectors_settle_an_unset_model() {
    let backend = reference();
    import(&backend, OnConflict::Keep, r#"{"text":"no vector"}"#);
    assert_eq!(identity(&backend, "drawers"), IdentityState::Unset);
    // The vectors come only after a batch without any.
    let lines: String = (0..20)
        .map(|n| {
            if n < 10 {
                format!("{{\"text\":\"{n}\"}}\n")
            } else {
                format!("{{\"text\":\"{n}\",\"embedding\":[1,2]}}\n")
            }
        })
        .collect();
    assert_eq!(import(&backend, OnConflict::Keep, &lines).added, 20);
    let given = IdentityState::Known(loci_engine::palace::given_identity(2));
    assert_eq!(identity(&backend, "drawers"), given);
}

#[test]
fn given_vectors_join_a_known_model_of_their_dimension() {
    let backend = reference();
    let model = EmbedderIdentity {
        model: "minilm".into(),
        revision: "7".into(),
        dimension: 3,
    };
    let how = OpenOptions {
        embedder: Some(model.clone()),
        ..OpenOptions::for_writing()
    };
    let opened = backend
        .create(&palace(), &name("drawers"), CreateMode::OpenExisting, &how)
        .unwrap();
    let mut first = NewDrawer::new(id("first"), "x");
    first.embedding = Some(vec![1.0, 2.0, 3.0]);
    opened.apply_batch(&[Write::Add(first)]).unwrap();
    let lines = "{\"text\":\"x\",\"embedding\":[1,2,3]}\n{\"text\":\"y\",\"embedding\":[1,2]}";
    let report = import(&backend, OnConflict::Keep, lines);
    assert_eq!((report.added, report.failed.len()), (1, 1), "{report:?}");
    assert_eq!(identity(&backend, "drawers"), IdentityState::Known(model));
}

#[test]
fn a_twin_under_another_id_is_kept_or_listed_and_never_stored_twice() {
    let line = |id: &str| {
        format!(
            r#"{{"id":"{id}","text":"x","source":"s","span":{{"start":0,"end":1,"line_start":1,"line_end":1}}}}"#
        )
    };
    let backend = reference();
    import(&backend, OnConflict::Keep, &line("a"));
    assert_eq!(import(&backend, OnConflict::Keep, &line("b")).kept, 1);
    assert_eq!(import(&backend, OnConflict::Fail, &line("b")).failed.len(), 1);
    import(&backend, OnConflict::Replace, &line("b"));
    assert_eq!(drawers(&backend, "drawers").len(), 1);
}
