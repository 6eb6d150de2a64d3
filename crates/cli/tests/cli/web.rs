//! `loci web` as its owner and others meet it: the real binary, raw bytes over real sockets, and a real browser.

mod acts;
mod bounds;
pub(crate) mod content;
mod crowd;
mod forged;
mod front;
mod hostile;
mod keys;
mod reading;
mod running;
pub(crate) mod scene;
mod sockets;
mod starting;
