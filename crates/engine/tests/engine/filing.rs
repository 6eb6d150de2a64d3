//! Filing: who embeds for a collection, and whose vectors are taken.

use loci_core::{
    CollectionExt as _, DrawerFields, DrawerPatch, ErrorKind, GetRequest, IdentityState, NewDrawer, Write,
};
use loci_engine::palace::given_identity;

use crate::embedders::{Bag, Machine};
use crate::{id, name, open_palace, palace, reference};

const TEXT: &str = "the ship leaves on friday at dawn";

fn drawer(key: &str, text: &str, vector: Option<Vec<f32>>) -> NewDrawer {
    NewDrawer {
        embedding: vector,
        ..NewDrawer::new(id(key), text)
    }
}

fn machine() -> Machine {
    Machine(vec![Bag::new("usual", 8), Bag::new("other", 8)])
}

/// Files one drawer and returns what embeds there afterwards, with the vector that was stored.
fn file(
    backend: &loci_conformance::Reference,
    machine: &Machine,
    new: NewDrawer,
) -> loci_core::Result<(IdentityState, Option<Vec<f32>>)> {
    let key = new.id.clone();
    let brings = Some(&new).filter(|new| new.embedding.is_some());
    let filing = open_palace(backend, machine).open_filing(brings)?;
    filing.apply(vec![Write::Add(new)])?;
    let request = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::by_ids([key])
    };
    let stored = filing.collection().get(&request)?.remove(0);
    Ok((filing.collection().info()?.identity, stored.embedding))
}

#[test]
fn a_new_collection_gets_the_usual_embedder() {
    let (backend, machine) = (reference(), machine());
    let (identity, vector) = file(&backend, &machine, drawer("a", TEXT, None)).unwrap();
    assert_eq!(identity, IdentityState::Known(machine.0[0].0.clone()));
    assert_eq!(vector, Some(machine.0[0].of(TEXT)));
}

#[test]
fn a_collection_left_to_keywords_stays_so() {
    let backend = reference();
    file(&backend, &Machine::default(), drawer("a", TEXT, None)).unwrap();
    let (identity, vector) = file(&backend, &machine(), drawer("b", TEXT, None)).unwrap();
    assert_eq!((identity, vector), (IdentityState::Unset, None));
}

#[test]
fn a_model_that_is_not_here_leaves_new_drawers_without_a_vector_and_says_so() {
    let (backend, machine) = (reference(), machine());
    file(&backend, &machine, drawer("a", TEXT, None)).unwrap();
    let filing = open_palace(&backend, &Machine::default())
        .open_filing(None)
        .unwrap();
    assert!(filing.lacking().unwrap().contains("usual is not installed"));
    let receipt = filing.apply(vec![Write::Add(drawer("b", TEXT, None))]).unwrap();
    assert_eq!(receipt.without_vector, [id("b")]);
}

#[test]
fn vectors_that_users_bring_first_make_a_collection_of_given_vectors() {
    let (backend, machine) = (reference(), machine());
    let (identity, vector) = file(&backend, &machine, drawer("a", TEXT, Some(vec![1.0, 2.0]))).unwrap();
    assert_eq!(identity, IdentityState::Known(given_identity(2)));
    assert_eq!(vector, Some(vec![1.0, 2.0]));
    let (_, vector) = file(&backend, &machine, drawer("b", TEXT, None)).unwrap();
    assert_eq!(vector, None, "nobody can embed for given vectors");
}

#[test]
fn brought_vectors_join_the_collections_own_only_where_they_agree_with_its_model() {
    let (backend, machine) = (reference(), machine());
    let (usual, other) = (&machine.0[0], &machine.0[1]);
    file(&backend, &machine, drawer("a", TEXT, None)).unwrap();
    let (_, vector) = file(
        &backend,
        &machine,
        drawer("b", "so it is said", Some(usual.of("so it is said"))),
    )
    .unwrap();
    assert_eq!(vector, Some(usual.of("so it is said")));
    let foreign = file(&backend, &machine, drawer("c", TEXT, Some(other.of(TEXT)))).unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::IdentityMismatch, "{foreign}");
    let short = file(&backend, &machine, drawer("d", TEXT, Some(vec![1.0]))).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::DimensionMismatch, "{short}");
}

#[test]
fn a_model_without_a_vector_yet_gives_way_to_vectors_that_are_brought() {
    let (backend, machine) = (reference(), machine());
    let how = loci_core::OpenOptions {
        embedder: Some(machine.0[0].0.clone()),
        ..loci_core::OpenOptions::for_writing()
    };
    let mode = loci_core::CreateMode::OpenExisting;
    loci_core::Backend::create(&backend, &palace(), &name("drawers"), mode, &how).unwrap();
    let (identity, _) = file(&backend, &machine, drawer("a", TEXT, Some(vec![1.0, 2.0]))).unwrap();
    assert_eq!(identity, IdentityState::Known(given_identity(2)));
}

#[test]
fn what_is_there_already_is_not_embedded_again() {
    let (backend, machine) = (reference(), machine());
    file(&backend, &machine, drawer("a", TEXT, None)).unwrap();
    let filing = open_palace(&backend, &machine).open_filing(None).unwrap();
    let mut batch = vec![
        Write::Add(drawer("a", TEXT, None)),
        Write::Add(drawer("b", TEXT, None)),
    ];
    filing.embed(&mut batch).unwrap();
    let embedded = batch
        .iter()
        .map(|write| matches!(write, Write::Add(new) if new.embedding.is_some()));
    assert_eq!(embedded.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_changed_text_gets_its_vector_and_a_changed_place_keeps_it() {
    let (backend, machine) = (reference(), machine());
    file(&backend, &machine, drawer("a", TEXT, None)).unwrap();
    let filing = open_palace(&backend, &machine).open_filing(None).unwrap();
    let vector_after = |mut patch: DrawerPatch| {
        filing.embed_patch(&mut patch).unwrap();
        filing.collection().apply_batch(&[Write::Update(patch)]).unwrap();
        let request = GetRequest {
            include: DrawerFields::EVERYTHING,
            ..GetRequest::by_ids([id("a")])
        };
        filing.collection().get(&request).unwrap().remove(0).embedding
    };
    let mut moved = DrawerPatch::new(id("a"));
    moved.place.room = Some("harbour".into());
    assert_eq!(vector_after(moved), Some(machine.0[0].of(TEXT)));
    let mut said = DrawerPatch::new(id("a"));
    said.document = Some("the ship is late".into());
    assert_eq!(vector_after(said), Some(machine.0[0].of("the ship is late")));
}
