//! Many palaces for many people and agents: pages, a JSON interface and MCP, each caller with its own rights.
//!
//! ```text
//! connection (TLS, seats) → gate (host, proxy, rate) → caller (cookie or token) → rights in one palace → audit → answer
//! ```
//!
//! A caller gets a `Palace` that is restricted to its rights, and everything behind that is the same code that serves an
//! owner. So what a caller may not see does not exist for it, on any way in.

#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "the router is not built yet")
)]
mod api;
#[cfg_attr(not(test), expect(dead_code, reason = "the router is not built yet"))]
mod metrics;
pub mod settings;

pub use settings::{ProxyRange, ServedPalace, TeamLimits, TeamOptions, TeamSettings, TlsFiles};
