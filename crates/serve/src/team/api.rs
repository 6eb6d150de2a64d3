//! The JSON interface: a tool of the MCP server is an operation, `POST /api/v1/p/{palace}/{tool}`.
//!
//! ```text
//! body → ApiCall → the tool, on a palace with the caller's rights → ApiReply: its value, or a problem
//! ```
//!
//! Nothing here opens a connection or knows who calls. The rights are those of the palace that is handed in, and a tool
//! that they do not allow is unknown, as any other name is.

mod call;
mod describe;
mod listing;
mod problem;
mod schemas;
mod subject;

#[cfg(test)]
mod tests;

pub(crate) use call::{ApiCall, ApiReply, run_api_call};
pub(crate) use describe::describe_api;
pub(crate) use listing::PalaceListing;
pub(crate) use subject::audit_subject;
