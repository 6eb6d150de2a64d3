//! The Model Context Protocol: tools, resources and prompts for agents.
//!
//! ```text
//! transport → server (names, cancellation, progress) → arguments → tool → reply within its budget
//! ```
//!
//! What answers `initialize` and the lists knows no palace. A tool runs on a thread of its own and returns a report; what
//! goes wrong is an answer of the tool, with a kind and a hint, and never an error of the protocol.

mod arguments;
mod budget;
mod compat;
mod http;
mod prompts;
mod reply;
mod resources;
mod schema;
mod server;
mod signals;
mod stdio;
mod tool;
mod tools;
mod words;

pub use http::{Limits, Listening, Rate, address, serve as serve_http};
pub use server::{Dialect, Server};
pub use stdio::serve as serve_stdio;
