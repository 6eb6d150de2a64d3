//! `loci mcp --http` as clients see it: the real binary, asked in raw bytes over real sockets.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

#[path = "mcp_http/bounds.rs"]
mod bounds;
#[path = "mcp_http/client.rs"]
mod client;
#[path = "mcp_http/doors.rs"]
mod doors;
#[path = "mcp_http/ending.rs"]
mod ending;
#[path = "mcp_http/running.rs"]
mod running;
#[path = "mcp_http/talking.rs"]
mod talking;
#[path = "mcp_http/tokens.rs"]
mod tokens;
#[path = "mcp_http/wire.rs"]
mod wire;
