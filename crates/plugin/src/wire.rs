//! The forms in which requests and answers travel: JSON without floats, and vectors as binary behind it.

pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod drawer;
pub(crate) mod failure;
pub(crate) mod filter;
pub(crate) mod request;
pub(crate) mod scalar;
pub(crate) mod upkeep;
pub(crate) mod write;

/// The result of reading what the other side sent: a value, or the words for what is wrong with it.
pub(crate) type WireResult<T> = Result<T, String>;
