//! Serves a palace to agents: its tools, resources and prompts over MCP. The only crate with an async
//! runtime.
//!
//! Everything that touches a palace is synchronous and runs on blocking threads; the runtime only carries
//! messages.

pub mod mcp;
