//! Limits, on a server in this process with small ones: slow heads and forms, long forms, connections.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use loci_core::{BackendDescriptor, Embedder, EmbedderIdentity, Error, ErrorKind, Result, Timestamp};
use loci_engine::{EmbedderCatalog, MineRequest, Palace, PalaceAddress};
use loci_serve::web::{WebLimits, WebOptions, serve_web};
use loci_web::{Site, SiteHost, SiteModelRow, SiteToolRow, SpoolRow};

use super::front::check_headers;
use super::running::RawVisitor;
use crate::mcp_http::wire::{Ask, DEADLINE, Wire};

fn missing<T>() -> Result<T> {
    Err(Error::new(ErrorKind::NotFound, "nothing is here"))
}

/// A machine without anything.
#[derive(Debug)]
struct BareMachine;

impl EmbedderCatalog for BareMachine {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(None)
    }

    fn find_embedder(&self, _: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        missing()
    }
}

impl SiteHost for BareMachine {
    fn palace_name(&self) -> String {
        "bare".to_owned()
    }

    fn list_backends(&self) -> Vec<BackendDescriptor> {
        Vec::new()
    }

    fn list_tools(&self) -> Vec<SiteToolRow> {
        Vec::new()
    }

    fn spool(&self) -> Result<Option<SpoolRow>> {
        Ok(None)
    }

    fn list_models(&self) -> Vec<SiteModelRow> {
        Vec::new()
    }

    fn open_model(&self, _: &str) -> Result<Arc<dyn Embedder>> {
        missing()
    }

    fn mine_request(&self, _: PathBuf) -> Result<MineRequest> {
        missing()
    }
}

/// Starts a server on a thread of its own, which ends with the test's process, and signs in.
fn serve_bounded(limits: WebLimits) -> (SocketAddr, RawVisitor) {
    let clock = || Timestamp::from_micros(0).unwrap();
    let palace = Palace::with_locator(missing::<PalaceAddress>, Arc::new(BareMachine), clock);
    let (ready, told) = mpsc::channel();
    let options = WebOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        takes_other_port: false,
        limits,
        ready: Box::new(move |at| ready.send((at.address, at.links.make_link().unwrap())).unwrap()),
    };
    std::thread::spawn(move || serve_web(Site::new(palace, Arc::new(BareMachine)), options));
    let (address, link) = told.recv().unwrap();
    (address, RawVisitor::sign_in(address, &link))
}

/// Limits of which no test waits for the end.
fn patient() -> WebLimits {
    WebLimits {
        head: DEADLINE,
        arrival: DEADLINE,
        ..WebLimits::default()
    }
}

#[test]
fn a_head_that_never_ends_and_a_silent_connection_are_given_up() {
    let (address, visitor) = serve_bounded(WebLimits {
        head: Duration::from_millis(100),
        ..patient()
    });
    let mut silent = Wire::open(address);
    let mut slow = Wire::open(address);
    slow.send(b"GET / HTTP/1.1\r\nHost: localh");
    let mut idle = Wire::open(address);
    idle.ask(&visitor.request("GET", "/")).is(200);
    for wire in [&mut silent, &mut slow, &mut idle] {
        assert!(!wire.rest().starts_with(b"HTTP/1.1 2"));
    }
    visitor.get("/").is(200);
}

#[test]
fn a_form_that_does_not_arrive_is_given_up() {
    let (address, visitor) = serve_bounded(WebLimits {
        arrival: Duration::from_millis(100),
        ..patient()
    });
    let mut wire = Wire::open(address);
    wire.send(&visitor.form("/theme", "").having("Content-Length", "100").bytes());
    wire.send(b"theme=da");
    let answer = wire.answer().is(408);
    check_headers(&answer);
    assert_eq!(answer.header("connection"), Some("close"));
    wire.rest();
    // Of a stranger nothing is awaited.
    let mut stranger = Wire::open(address);
    let form = visitor.form("/theme", "").without("Cookie");
    stranger.send(&form.having("Content-Length", "100").bytes());
    stranger.answer().is(401);
}

#[test]
fn a_form_may_have_so_many_bytes_and_not_one_more() {
    let (address, visitor) = serve_bounded(WebLimits {
        form: 1000,
        ..patient()
    });
    let secret = visitor.form_secret();
    let form = |bytes: usize| {
        let mut body = format!("form_secret={secret}&theme=dark&pad=");
        body.extend(std::iter::repeat_n('x', bytes - body.len()));
        visitor.form("/theme", &body)
    };
    Wire::open(address).ask(&form(1000)).is(303);
    let refused = Wire::open(address).ask(&form(1001)).is(413);
    check_headers(&refused);
    let announced = visitor.form("/theme", "").having("Content-Length", "5000000000");
    let mut wire = Wire::open(address);
    wire.ask(&announced).is(413);
    let asking = announced.with("Expect", "100-continue");
    let answer = Wire::open(address).ask(&asking).is(413);
    assert!(
        !answer.body.contains("100 Continue"),
        "a body that is refused is not asked for"
    );
}

#[test]
fn connections_are_bounded_and_those_of_strangers_keep_no_visitor_out() {
    let (address, visitor) = serve_bounded(WebLimits {
        connections: 2,
        strangers: 4,
        ..patient()
    });
    let mut first = Wire::open(address);
    first.ask(&visitor.request("GET", "/")).is(200);
    let strangers: Vec<Wire> = (0..40)
        .map(|_| {
            let mut wire = Wire::open(address);
            wire.send(b"GET / HTTP/1.1\r\nHost: localh");
            wire
        })
        .collect();
    let mut second = Wire::open(address);
    second.ask(&visitor.request("GET", "/")).is(200);
    first.ask(&visitor.request("GET", "/")).is(200);
    let third = Wire::open(address).ask(&visitor.request("GET", "/")).is(503);
    check_headers(&third);
    assert!(third.header("retry-after").is_some(), "{third:?}");
    // A stranger is answered all the same.
    let ask = Ask::bare("GET", "/").with("Host", &address.to_string());
    Wire::open(address).ask(&ask).is(401);
    drop(strangers);
}
