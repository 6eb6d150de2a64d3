//! Many palaces for many people and agents: pages, a JSON interface and MCP, each caller with its own rights.
//!
//! ```text
//! connection (TLS, seats) → gate (host, proxy, rate) → caller (cookie or token) → rights in one palace → audit → answer
//! ```
//!
//! A caller gets a `Palace` that is restricted to its rights, and everything behind that is the same code that serves an
//! owner. So what a caller may not see does not exist for it, on any way in.

mod admin;
mod api;
mod callers;
mod calls;
mod gate;
mod hall;
mod lobby;
mod mcp_sessions;
mod metrics;
mod pages;
mod rates;
mod router;
mod server;
pub mod settings;
mod status;
mod tls;
mod trail;
mod watch;

pub use server::serve_team;
pub use settings::{ProxyRange, ServedPalace, TeamClock, TeamLimits, TeamOptions, TeamSettings, TlsFiles};
