//! Vectors that lines bring: whose they are said to be, and which of them are made again and compared.

use loci_core::{CreateMode, ErrorKind, IdentityState, OpenOptions};
use loci_engine::export::ExportRequest;
use loci_engine::{ImportRequest, OnConflict, Palace};

use crate::embedders::{Bag, Machine};
use crate::{EmbeddedBackend, PalaceRef, import_lines, name, palace_at, request};
use loci_core::Backend as _;

/// A palace in a file of its own, on a machine with these embedders.
struct FilePalace {
    _folder: tempfile::TempDir,
    reference: PalaceRef,
}

impl FilePalace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let reference = PalaceRef::local(folder.path().join("palace"));
        Self {
            _folder: folder,
            reference,
        }
    }

    fn open(&self, machine: &Machine) -> Palace {
        palace_at(&EmbeddedBackend::new(), self.reference.clone(), machine)
    }

    /// Makes a collection of this model, without a drawer.
    fn make(&self, collection: &str, bag: &Bag) {
        let how = OpenOptions {
            embedder: Some(bag.0.clone()),
            ..OpenOptions::for_writing()
        };
        let backend = EmbeddedBackend::new();
        let made = backend.create(&self.reference, &name(collection), CreateMode::OpenExisting, &how);
        made.unwrap();
    }

    fn identity(&self, collection: &str) -> IdentityState {
        let backend = EmbeddedBackend::new();
        let opened = backend.open(&self.reference, &name(collection), &OpenOptions::default());
        opened.unwrap().info().unwrap().identity
    }
}

/// A batch of a thousand, as the command makes them.
fn large() -> ImportRequest {
    ImportRequest {
        batch: 1_000,
        ..request(OnConflict::Keep)
    }
}

fn text_of(n: usize) -> String {
    format!("note {n} tells of harbour {} and ship {}", n % 7, n % 11)
}

/// One line with the vector that `bag` makes of its text.
fn line(n: usize, bag: &Bag) -> String {
    let vector = bag.of(&text_of(n));
    format!(
        "{{\"id\":\"d{n:04}\",\"collection\":\"drawers\",\"text\":{:?},\"embedding\":{vector:?}}}\n",
        text_of(n)
    )
}

fn header(bag: &Bag) -> String {
    let model = format!(
        "{{\"model\":{:?},\"revision\":{:?},\"dimension\":{}}}",
        bag.0.model, bag.0.revision, bag.0.dimension
    );
    format!(
        "{{\"format\":\"loci-export-1\",\"collection\":\"drawers\",\"model\":{model},\"metric\":\"cosine\"}}\n"
    )
}

/// A machine with two models of the same dimension.
fn machine() -> Machine {
    Machine(vec![Bag::new("own", 64), Bag::new("other", 64)])
}

#[test]
fn vectors_of_another_model_are_noticed_behind_a_first_good_one() {
    let (home, machine) = (FilePalace::new(), machine());
    let (own, other) = (&machine.0[0], &machine.0[1]);
    import_lines(
        &home.open(&machine),
        large(),
        "{\"id\":\"first\",\"text\":\"the first\"}",
    )
    .unwrap();
    let mut lines: String = line(0, own);
    lines.extend((1..50).map(|n| line(n, other)));
    let refused = import_lines(&home.open(&machine), large(), &lines).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IdentityMismatch, "{refused}");
    let said = refused.to_string();
    assert!(said.contains("line ") && said.contains("own"), "{said}");
    let hint = refused.hint_text().unwrap();
    assert!(
        hint.contains("nothing was written") && hint.contains("--embeddings"),
        "{hint}"
    );
    assert_eq!(home.open(&machine).collections().unwrap()[0].drawers, 1);
}

#[test]
fn every_batch_is_checked_and_the_report_says_how_many() {
    let (home, machine) = (FilePalace::new(), machine());
    let (own, other) = (&machine.0[0], &machine.0[1]);
    let palace = home.open(&machine);
    import_lines(&palace, large(), "{\"id\":\"first\",\"text\":\"the first\"}").unwrap();
    let lines: String = (0..1_000).map(|n| line(n, own)).collect();
    let report = import_lines(&palace, large(), &lines).unwrap();
    assert_eq!((report.added, report.vectors_brought), (1_000, 1_000));
    assert!((60..100).contains(&report.vectors_checked), "{report:?}");
    // The third batch of seven is bad; those before it stay.
    let mut lines: String = (1_000..1_014).map(|n| line(n, own)).collect();
    lines.extend((1_014..1_021).map(|n| line(n, other)));
    let refused = import_lines(&palace, request(OnConflict::Keep), &lines).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IdentityMismatch, "{refused}");
    assert!(refused.to_string().contains("line 15"), "{refused}");
    assert_eq!(palace.collections().unwrap()[0].drawers, 1_015);
}

#[test]
fn a_run_of_bad_vectors_is_found_wherever_it_stands() {
    let machine = machine();
    let (own, other) = (&machine.0[0], &machine.0[1]);
    for begin in [1, 60, 333, 500, 968] {
        let home = FilePalace::new();
        let palace = home.open(&machine);
        import_lines(&palace, large(), "{\"id\":\"first\",\"text\":\"the first\"}").unwrap();
        let lines: String = (0..1_000)
            .map(|n| {
                line(
                    n,
                    if (begin..begin + 32).contains(&n) {
                        other
                    } else {
                        own
                    },
                )
            })
            .collect();
        import_lines(&palace, large(), &lines).expect_err("32 bad vectors in a row");
    }
}

#[test]
fn a_header_that_names_a_model_here_is_not_believed_without_a_look() {
    let (home, machine) = (FilePalace::new(), machine());
    let (own, other) = (&machine.0[0], &machine.0[1]);
    let mut lines = header(own);
    lines.extend((0..50).map(|n| line(n, other)));
    let refused = import_lines(&home.open(&machine), large(), &lines).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IdentityMismatch, "{refused}");
    assert!(refused.to_string().contains("line 2"), "{refused}");
    assert!(!home.open(&machine).exists().unwrap(), "nothing was made");
}

#[test]
fn an_import_records_the_model_of_the_export() {
    let (one, machine) = (FilePalace::new(), machine());
    let lines: String = (0..30)
        .map(|n| format!("{{\"text\":{:?}}}\n", text_of(n)))
        .collect();
    import_lines(&one.open(&machine), large(), &lines).unwrap();
    let mut exported = String::new();
    let request = ExportRequest {
        embeddings: true,
        ..ExportRequest::default()
    };
    let mut sink = |line: &str| {
        exported.push_str(line);
        exported.push('\n');
        Ok::<(), loci_core::Error>(())
    };
    one.open(&machine).export(&request, &mut sink).unwrap();
    let own = IdentityState::Known(machine.0[0].0.clone());
    let elsewhere = Machine(vec![Bag::new("usual", 32)]);
    // A machine that lacks the model, and one that has it; a new palace, a named collection, one that was made before.
    for machine in [&elsewhere, &machine] {
        let new = FilePalace::new();
        import_lines(&new.open(machine), large(), &exported).unwrap();
        assert_eq!(new.identity("drawers"), own, "a new palace");
        let into = ImportRequest {
            into: Some(name("copy")),
            ..large()
        };
        import_lines(&new.open(machine), into, &exported).unwrap();
        assert_eq!(new.identity("copy"), own, "a named collection");
        let made = FilePalace::new();
        made.make("drawers", &Bag::new("usual", 32));
        import_lines(&made.open(machine), large(), &exported).unwrap();
        assert_eq!(made.identity("drawers"), own, "a palace without vectors");
    }
}

#[test]
fn vectors_of_a_named_model_do_not_join_those_of_another_that_is_not_here() {
    let (home, machine) = (FilePalace::new(), machine());
    let (own, other) = (&machine.0[0], &machine.0[1]);
    import_lines(
        &home.open(&machine),
        large(),
        "{\"id\":\"first\",\"text\":\"the first\"}",
    )
    .unwrap();
    let mut lines = header(other);
    lines.push_str(&line(0, other));
    let nothing = Machine::default();
    let refused = import_lines(&home.open(&nothing), large(), &lines).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IdentityMismatch, "{refused}");
    assert_eq!(home.identity("drawers"), IdentityState::Known(own.0.clone()));
}

#[test]
fn a_vector_made_before_its_context_grew_still_counts_as_its_models() {
    let (home, machine) = (FilePalace::new(), machine());
    let own = &machine.0[0];
    let text = "yes";
    let vector = own.of(&format!("should the harbour stay closed until friday\n{text}\n"));
    let line = format!(
        "{{\"id\":\"a\",\"text\":{text:?},\"context\":{{\"before\":\"should the harbour stay closed until friday\",\
         \"after\":\"then we sail on saturday with nine apples and two pears\"}},\"embedding\":{vector:?}}}\n"
    );
    import_lines(
        &home.open(&machine),
        large(),
        "{\"id\":\"first\",\"text\":\"the first\"}",
    )
    .unwrap();
    let report = import_lines(&home.open(&machine), large(), &line).unwrap();
    assert_eq!((report.added, report.vectors_checked), (1, 1));
}

#[test]
fn vectors_without_a_name_take_the_place_of_a_model_that_made_none() {
    let (home, machine) = (FilePalace::new(), machine());
    home.make("drawers", &machine.0[0]);
    let report = import_lines(
        &home.open(&machine),
        large(),
        "{\"text\":\"x\",\"embedding\":[1,2]}",
    );
    assert_eq!(report.unwrap().added, 1);
    let given = loci_engine::palace::given_identity(2);
    assert_eq!(home.identity("drawers"), IdentityState::Known(given));
}
