//! The Model Context Protocol: tools, resources and prompts for agents.
//!
//! ```text
//! transport → server (names, cancellation, progress) → arguments → tool → reply within its budget
//! ```
//!
//! `initialize` and the lists are answered without touching a palace. A tool runs on a blocking thread and
//! returns a report; a failure is the tool's answer, with a kind and a hint, and never a protocol error.

mod arguments;
pub(crate) mod budget;
mod compat;
mod drawer_keys;
mod http;
mod prompts;
mod reply;
mod resources;
pub(crate) mod schema;
mod server;
mod stdio;
pub(crate) mod tool;
pub(crate) mod tools;
pub(crate) mod words;

pub use http::{HttpLimits, HttpOptions, RequestRate, parse_listen_address, serve as serve_http};
pub use server::{McpServer, ToolDialect};
pub use stdio::serve as serve_stdio;
