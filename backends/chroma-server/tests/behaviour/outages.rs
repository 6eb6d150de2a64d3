//! Servers that are gone.

use loci_core::{Backend, CollectionExt as _, ErrorKind, GetRequest, NewDrawer, PalaceRef};
use loci_testkit::ChromaServer;

use crate::support::{NEWEST, backend, create, fresh_url, id};

#[test]
fn a_server_that_is_gone_is_unavailable_and_named() {
    let mut server = ChromaServer::start_private(NEWEST, &[]);
    let backend = backend();
    let palace = PalaceRef::from_id(fresh_url(server.port()));
    let drawers = create(&backend, &palace);
    drawers.add_drawer(NewDrawer::new(id("a"), "text")).unwrap();
    assert!(backend.health(Some(&palace)).ok);
    server.stop();
    let address = format!("127.0.0.1:{}", server.port());
    for error in [
        drawers.get(&GetRequest::default()).unwrap_err(),
        drawers.add_drawer(NewDrawer::new(id("b"), "text")).unwrap_err(),
        backend.collections(&palace).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains(&address), "{error}");
        assert!(error.hint_text().is_some());
    }
    let health = backend.health(Some(&palace));
    assert!(!health.ok && health.detail.contains(&address), "{health:?}");
}
