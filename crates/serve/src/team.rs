//! Many palaces for many people and agents: pages, a JSON interface and MCP, each caller with its own rights.
//!
//! ```text
//! connection (TLS, seats) → gate (host, proxy, rate) → caller (cookie or token) → rights in one palace → audit → answer
//! ```
//!
//! A caller gets a `Palace` that is restricted to its rights, and everything behind that is the same code that serves an
//! owner. So what a caller may not see does not exist for it, on any way in.

pub mod settings;

pub use settings::{ProxyRange, ServedPalace, TeamLimits, TeamOptions, TeamSettings, TlsFiles};

use loci_core::{Error, ErrorKind, Result};

/// Serves palaces to a team until the process is asked to end.
pub fn serve_team(settings: TeamSettings, options: TeamOptions) -> Result<()> {
    let _ = (settings, options);
    Err(Error::new(
        ErrorKind::Unsupported,
        "this build cannot serve a team yet",
    ))
}
