//! Embedders: what turns text into vectors. The only crate that knows a model.
//!
//! `builtin` is a static table compiled into the binary, `minilm` the full model on the processor, `http` any
//! server the user names. Each pins its weights, tokeniser and pooling in the revision of its identity, and
//! [`Checked`] stands before all of them: what is zero, not finite, of the wrong length or suspiciously the same
//! is refused at the source.

pub mod builtin;
pub mod checked;
pub mod http;
pub mod minilm;
pub mod models;
pub mod wordpiece;

pub use checked::Checked;
