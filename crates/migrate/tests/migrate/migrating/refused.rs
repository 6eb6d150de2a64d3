//! Changes on the way: refused before anything is created, and made once they are allowed.

use loci_core::{Capability, CollectionExt as _};

use super::*;

fn without(capability: &Capability) -> Reference {
    let others = Reference::FULL.into_iter();
    Reference::with_capabilities(others.filter(|one| one != capability && *one != Capability::Local))
}

/// Expects a refusal that contains all of `words`, and that nothing was created.
#[track_caller]
fn refuses(moving: &Moving<'_>, home: &Home, kind: ErrorKind, words: &[&str]) {
    let before = home.names();
    let error = moving.go().unwrap_err();
    let said = format!("{error} {}", error.hint_text().unwrap_or_default());
    assert_eq!(error.kind(), kind, "{said}");
    for word in words {
        assert!(said.contains(word), "{said:?} does not say {word:?}");
    }
    assert_eq!(home.names(), before, "nothing is made");
}

#[test]
fn a_source_that_hands_no_vectors_over_is_embedded_anew_only_if_that_is_accepted() {
    let backend = without(&Capability::EmbeddingsOut);
    let there = palace();
    made(address(&backend, &there), "drawers", Some(model()))
        .apply_batch(&many(20))
        .unwrap();
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let machine = Machine(vec![Bag::new("usual", 5), Bag::new("model", 4)]);
    let mut moving = Moving {
        machine: &machine,
        ..Moving::new(address(&backend, &there), to)
    };
    refuses(
        &moving,
        &home,
        ErrorKind::Unsupported,
        &["reference", "embedded", "--accept-re-embed"],
    );
    moving.flags.accept_re_embed = true;
    let report = moving.go().unwrap();
    assert!(!report.lossless && report.ok, "{report:?}");
    assert_eq!(report.record.kind, "re_embedded");
    let drawers = everything(to, "drawers");
    let expect = Bag::new("model", 4).of("text 7");
    assert_eq!(
        drawers[7].embedding.as_ref(),
        Some(&expect),
        "by the model the source names"
    );
    assert_eq!(
        opened(to, "drawers").info().unwrap().identity,
        IdentityState::Known(model())
    );
}

#[test]
fn a_target_that_keeps_no_vectors_is_refused_by_name() {
    let (from, to) = (reference(), without(&Capability::EmbeddingsPassthrough));
    let (here, there) = (palace(), PalaceRef::from_id("there"));
    furnished(address(&from, &here));
    let mut moving = Moving::new(address(&from, &here), address(&to, &there));
    let home = Home::new();
    refuses(
        &moving,
        &home,
        ErrorKind::Unsupported,
        &["does not keep vectors", "--accept-re-embed"],
    );
    assert!(to.collections(&there).is_err(), "nothing was made there");
    moving.flags.accept_re_embed = true;
    let report = moving.go().unwrap();
    assert_eq!((report.rows, report.lossless), (32, false));
}

#[test]
fn another_model_is_refused_unless_it_is_forced() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    made(from, "drawers", Some(model()))
        .apply_batch(&many(20))
        .unwrap();
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let mut moving = Moving {
        embedder: Some(Bag::new("other", 6)),
        ..Moving::new(from, to)
    };
    let words = ["model (1, 4", "other (1, 6", "--force-model-swap"];
    refuses(&moving, &home, ErrorKind::IdentityMismatch, &words);
    moving.flags.force_model_swap = true;
    let report = moving.go().unwrap();
    assert_eq!((report.lossless, report.record.kind), (false, "model_swap"));
    assert_eq!(
        everything(to, "drawers")[3].embedding,
        Some(Bag::new("other", 6).of("text 3"))
    );
    let compared = compare_palaces(to, from, None, &mut |_| {}).unwrap();
    let codes: Vec<&str> = compared.findings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["other_model"], "{compared:?}");
    moving.embedder = None;
    refuses(&moving, &home, ErrorKind::Invalid, &["--embedder"]);
}

#[test]
fn the_model_that_is_recorded_may_be_asked_for() {
    let backend = reference();
    let there = palace();
    made(address(&backend, &there), "drawers", Some(model()))
        .apply_batch(&many(3))
        .unwrap();
    let home = Home::new();
    let place = home.local("new");
    let moving = Moving {
        embedder: Some(Bag::new("model", 4)),
        ..Moving::new(address(&backend, &there), address(&home.embedded, &place))
    };
    assert!(moving.go().unwrap().lossless);
}

/// Two drawers with a vector and two without.
fn patchy(side: BorrowedAddress<'_>, embedder: Option<EmbedderIdentity>) {
    let drawers = made(side, "drawers", embedder);
    drawers.apply_batch(&many(2)).unwrap();
    let bare = ["x", "y"].map(|called| Write::Add(NewDrawer::new(id(called), format!("words of {called}"))));
    drawers.apply_batch(&bare).unwrap();
}

#[test]
fn drawers_without_a_vector_are_listed_and_embedded_only_on_request() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    patchy(from, Some(model()));
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let report = Moving::new(from, to).go().unwrap();
    assert!(report.lossless && report.ok, "{report:?}");
    assert_eq!(report.record.collections[0].lists.missing_vector.ids, ["x", "y"]);
    assert_eq!(report.collections[0].without_vector, 2);
    assert_eq!(hash(to), hash(from));

    let other = home.local("other");
    let to = address(&home.embedded, &other);
    let mut moving = Moving::new(from, to);
    moving.flags.embed_missing = true;
    refuses(
        &moving,
        &home,
        ErrorKind::NotFound,
        &["model (1, 4", "loci embedder switch"],
    );
    let machine = Machine(vec![Bag::new("model", 4)]);
    moving.machine = &machine;
    let report = moving.go().unwrap();
    assert_eq!(
        (report.record.collections[0].embedded, report.lossless),
        (2, true)
    );
    assert_eq!(
        everything(to, "drawers")[2].embedding,
        Some(Bag::new("model", 4).of("words of x"))
    );
    let compared = compare_palaces(to, from, None, &mut |_| {}).unwrap();
    let codes: Vec<&str> = compared.findings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["embedded_here"], "{compared:?}");
}

#[test]
fn nobody_embeds_for_a_model_that_nobody_knows() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    patchy(from, None);
    let home = Home::new();
    let place = home.local("new");
    let mut moving = Moving::new(from, address(&home.embedded, &place));
    moving.flags.embed_missing = true;
    let words = ["2 drawers", "loci embedder set", "loci embedder switch"];
    refuses(&moving, &home, ErrorKind::IdentityMismatch, &words);
    moving.embedder = Some(Bag::new("model", 4));
    refuses(
        &moving,
        &home,
        ErrorKind::IdentityMismatch,
        &["unrecorded model", "--force-model-swap"],
    );
}

#[test]
fn a_palace_is_not_moved_onto_itself_nor_into_itself() {
    let home = Home::new();
    let old = home.local("old");
    furnished(address(&home.embedded, &old));
    std::os::unix::fs::symlink(home.path("old"), home.path("link")).unwrap();
    for there in ["old", "link", "old/within", "link/within", "."] {
        let place = home.local(there);
        let moving = Moving::new(address(&home.embedded, &old), address(&home.embedded, &place));
        refuses(&moving, &home, ErrorKind::Invalid, &["nothing was changed"]);
    }
    let backend = reference();
    furnished(address(&backend, &palace()));
    let same = palace();
    refuses(
        &Moving::new(address(&backend, &same), address(&backend, &same)),
        &home,
        ErrorKind::Invalid,
        &["both"],
    );
}

#[test]
fn what_stands_at_the_target_is_refused_or_moved_aside_and_never_lost() {
    let home = Home::new();
    let (old, new) = (home.local("old"), home.local("new"));
    let (from, to) = (address(&home.embedded, &old), address(&home.embedded, &new));
    furnished(from);
    std::fs::create_dir(home.path("new")).unwrap();
    let mut moving = Moving::new(from, to);
    moving.go().unwrap();
    assert_eq!(home.names(), ["new", "old"], "an empty folder is no palace");
    made(to, "drawers", Some(model()))
        .apply_batch(&[Write::Add(NewDrawer::new(id("mine"), "own"))])
        .unwrap();
    refuses(&moving, &home, ErrorKind::Conflict, &["--overwrite"]);

    moving.flags.overwrite = true;
    for (round, aside) in ["new.replaced-20260501-093000", "new.replaced-20260501-093000-2"]
        .iter()
        .enumerate()
    {
        let report = moving.go().unwrap();
        assert_eq!(report.replaced.as_deref(), home.path(aside).to_str());
        let replaced = home.local(aside);
        let kept = everything(address(&home.embedded, &replaced), "drawers").len();
        assert_eq!(kept, if round == 0 { 33 } else { 32 }, "the old palace is whole");
    }
    assert_eq!(hash(to), hash(from));
    std::fs::write(home.path("file"), "x").unwrap();
    let file = home.local("file");
    refuses(
        &Moving {
            to: address(&home.embedded, &file),
            ..moving
        },
        &home,
        ErrorKind::Invalid,
        &["is not a folder"],
    );
}

#[test]
fn a_palace_that_takes_no_writes_is_no_target() {
    let (from, to) = (reference(), reference().read_only());
    let there = palace();
    furnished(address(&from, &there));
    let home = Home::new();
    refuses(
        &Moving::new(address(&from, &there), address(&to, &there)),
        &home,
        ErrorKind::Unsupported,
        &["is read-only"],
    );
}
