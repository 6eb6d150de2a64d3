//! Serves a palace: to agents over MCP, and to browsers as pages. The only crate with an async runtime beside
//! `backends/postgres`.
//!
//! Everything that touches a palace is synchronous and runs on blocking threads; the runtime only carries
//! messages.

mod http;
pub mod mcp;
mod signals;
pub mod team;
pub mod web;
