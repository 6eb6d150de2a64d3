//! A client of the protocol: a session and what is said in it.

use std::net::SocketAddr;

use serde_json::{Value as Json, json};

use super::wire::{Answer, Ask, Wire};

/// What opens a session.
pub(crate) fn hello() -> Json {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bytes", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

pub(crate) fn call(id: u64, tool: &str, arguments: &Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// A client with a session.
pub(crate) struct Client {
    pub(crate) wire: Wire,
    token: String,
    pub(crate) session: String,
    next: u64,
}

impl Client {
    #[track_caller]
    pub(crate) fn open(address: SocketAddr, token: &str) -> Self {
        let mut wire = Wire::open(address);
        let answer = wire.ask(&Ask::message(token, &hello())).is(200);
        let opened = answer.message();
        assert_eq!(opened["result"]["serverInfo"]["name"], "loci", "{opened}");
        let mut client = Self {
            session: answer.header("mcp-session-id").unwrap().to_owned(),
            token: token.to_owned(),
            wire,
            next: 1,
        };
        let said = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.wire.ask(&client.message(&said)).is(202);
        client
    }

    /// A message of this session.
    pub(crate) fn message(&self, message: &Json) -> Ask {
        self.within(Ask::message(&self.token, message))
    }

    /// A request of this session.
    pub(crate) fn request(&self, method: &str) -> Ask {
        let ask = Ask::new(method, "/mcp").bearing(&self.token);
        self.within(ask.with("Accept", "text/event-stream"))
    }

    fn within(&self, ask: Ask) -> Ask {
        ask.with("Mcp-Session-Id", &self.session)
            .with("Mcp-Protocol-Version", "2025-06-18")
    }

    /// Asks for something and returns its result.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: &Json) -> Json {
        let id = self.next;
        self.next += 1;
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer: Answer = self.wire.ask(&self.message(&asked)).is(200);
        let said = answer.message();
        assert_eq!(said["id"], id, "{said}");
        said["result"].clone()
    }

    /// Calls a tool and returns what it gives.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Json) -> Json {
        let done = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_ne!(done["isError"], true, "{done}");
        done["structuredContent"].clone()
    }
}
