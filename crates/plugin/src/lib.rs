//! Backends in programs of their own: the wire protocol, the host that starts such a program and keeps it honest, and
//! one function that serves a backend.
//!
//! The host is [`PluginBackend`], a [`loci_core::Backend`] like any other. The author of a plug-in implements the traits
//! of `loci-core` and calls [`serve_backend`]:
//!
//! ```no_run
//! fn run(backend: impl loci_core::Backend + 'static) -> loci_core::Result<()> {
//!     loci_plugin::serve_backend(backend, env!("CARGO_PKG_VERSION"))
//! }
//! ```
//!
//! The bytes are described in `docs/backend-protocol.md`.

mod frame;
mod hello;
mod host;
mod serve;
mod wire;

pub use frame::{FRAME_LIMIT, FrameKind};
pub use hello::{PROTOCOL_VERSION, ProtocolVersion};
pub use host::{PluginBackend, PluginListener, PluginOptions};
pub use serve::{serve_backend, serve_streams};
