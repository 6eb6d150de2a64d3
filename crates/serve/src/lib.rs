//! What Loci serves to others: the tools, resources and prompts of a palace over MCP. The only crate with an async
//! runtime.
//!
//! Everything that touches a palace is synchronous and runs on threads of its own; the runtime only carries messages.

mod house;
pub mod mcp;

pub use house::{Found, House, Scope};
