//! HTTP/1.1 on loopback, as the servers of this crate share it.
//!
//! ```text
//! connection (head bounded in size and time) → service (who asks?) → seat → body (bounded)
//! ```

pub(crate) mod bodies;
pub(crate) mod connections;
pub(crate) mod host_names;
pub(crate) mod listen;
pub(crate) mod peer_user;
pub(crate) mod random;
pub(crate) mod refusal;
pub(crate) mod seats;
