//! Embedders, which turn text into vectors. The only crate that knows a model.
//!
//! `builtin` is a static table compiled into the binary, `minilm` the full model on the processor, `http` any
//! server the user registers. Each pins its weights, tokeniser and pooling in the revision of its identity.
//! [`CheckedEmbedder`] wraps all of them and refuses vectors that are zero, not finite, of the wrong length or suspiciously
//! equal.

pub mod builtin;
pub mod checked;
pub mod http;
pub mod minilm;
pub mod models;
pub mod wordpiece;

pub use checked::CheckedEmbedder;
