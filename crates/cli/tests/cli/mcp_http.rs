//! `loci mcp --http` as clients see it: the real binary, asked in raw bytes over real sockets.

mod bounds;
pub(crate) mod client;
mod doors;
mod ending;
mod running;
mod talking;
mod tokens;
pub(crate) mod wire;
