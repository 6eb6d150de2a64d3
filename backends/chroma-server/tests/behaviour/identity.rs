//! Tokens, tenants and names.

use loci_chroma_server::ChromaServerBackend;
use loci_core::{
    Backend, CollectionExt as _, CollectionReaderExt as _, CreateMode, ErrorKind, NewDrawer, OpenOptions,
    PalaceRef,
};
use loci_testkit::ChromaServer;

use crate::support::{NEWEST, OLDEST, backend, create, fresh_palace, fresh_url, id, name};

const TOKEN: &str = "hush-0123456789";

/// The server of 0.6 can check tokens by itself; that of 1.x leaves it to what stands before it.
fn check_token(header: &str, parameter: &str) {
    let server = ChromaServer::start_private(
        OLDEST,
        &[
            (
                "CHROMA_SERVER_AUTHN_PROVIDER",
                "chromadb.auth.token_authn.TokenAuthenticationServerProvider",
            ),
            ("CHROMA_SERVER_AUTHN_CREDENTIALS", TOKEN),
            ("CHROMA_AUTH_TOKEN_TRANSPORT_HEADER", header),
        ],
    );
    let palace = PalaceRef::from_id(format!("{}{parameter}", fresh_url(server.port())));
    let with = |token: Option<&str>| ChromaServerBackend::with_token(token.map(str::to_owned));
    let knowing = with(Some(TOKEN));
    let drawers = create(&knowing, &palace);
    drawers.add_drawer(NewDrawer::new(id("a"), "text")).unwrap();
    assert!(drawers.find_drawer(&id("a")).unwrap().is_some());
    assert!(!format!("{knowing:?} {drawers:?}").contains(TOKEN));
    for token in [None, Some("wrong-0123456789")] {
        let error = with(token).collections(&palace).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.hint_text().unwrap().contains("CHROMA_TOKEN"), "{error:?}");
        assert!(!format!("{error:?}").contains("0123456789"), "{error:?}");
    }
}

#[test]
fn a_token_is_sent_as_bearer() {
    check_token("Authorization", "");
}

#[test]
fn a_token_is_sent_in_chromas_own_header_where_the_url_says_so() {
    check_token("X-Chroma-Token", "&token_header=x-chroma-token");
}

#[test]
fn a_token_never_travels_unencrypted_to_another_machine() {
    let backend = ChromaServerBackend::with_token(Some(TOKEN.to_owned()));
    let palace = PalaceRef::from_id("chroma://192.0.2.1:8000/");
    let error = backend.collections(&palace).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.hint_text().unwrap().contains("chroma+https"), "{error:?}");
}

#[test]
fn a_namespace_is_a_tenant_and_the_tenant_of_the_url_is_one_too() {
    let backend = backend();
    let palace = fresh_palace();
    let filed = |palace: &PalaceRef, text: &str| {
        let drawers = create(&backend, palace);
        drawers.upsert_drawer(NewDrawer::new(id("a"), text)).unwrap();
    };
    let read = |palace: &PalaceRef| {
        let drawers = backend
            .open(palace, &name("drawers"), &OpenOptions::default())
            .unwrap();
        drawers.find_drawer(&id("a")).unwrap().unwrap().document.unwrap()
    };
    let hostile = palace.clone().in_namespace("a/../b'\";--\n夢");
    let plain = palace.clone().in_namespace("team");
    let by_url = PalaceRef::from_id(format!("{}&tenant=team", palace.id));
    filed(&palace, "default");
    filed(&hostile, "hostile");
    filed(&plain, "team");
    assert_eq!(
        [read(&palace), read(&hostile), read(&plain), read(&by_url)],
        ["default", "hostile", "team", "team"]
    );
}

#[test]
fn names_that_chroma_refuses_are_kept_and_listed() {
    let backend = backend();
    let port = ChromaServer::shared(NEWEST);
    let database = format!("x%2F..%20%27%C3%BC{}", std::process::id());
    let palace = PalaceRef::from_id(format!("chroma://127.0.0.1:{port}/?database={database}"));
    let long = "n".repeat(128);
    let names = [
        "a",
        "a..b",
        "loci-side-x",
        "1.2.3.4",
        "x.",
        long.as_str(),
        "drawers",
    ];
    for text in names {
        let drawers = backend
            .create(
                &palace,
                &name(text),
                CreateMode::Exclusive,
                &OpenOptions::for_writing(),
            )
            .unwrap();
        // Without a vector: the collection beside it must not be listed.
        drawers.add_drawer(NewDrawer::new(id(text), text)).unwrap();
    }
    let mut expected = names;
    expected.sort_unstable();
    let listed = backend.collections(&palace).unwrap();
    let listed: Vec<(&str, u64)> = listed
        .iter()
        .map(|info| (info.name.as_str(), info.drawers))
        .collect();
    assert_eq!(listed, expected.map(|name| (name, 1)));
    backend.drop_collection(&palace, &name("a")).unwrap();
    assert_eq!(backend.collections(&palace).unwrap().len(), names.len() - 1);
}
