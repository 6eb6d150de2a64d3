//! Finds secrets in text by rule, and names the files that hold credentials.
//!
//! [`SecretScanner::scan`] returns the spans of a text that are secrets: a provider's token, a private key, the password
//! of a connection string, the value given to a name such as `DB_PASSWORD`. It knows nothing about palaces.
//!
//! - A span covers the secret and nothing else: not the name before it, nor the quotes around it. Exceptions are
//!   private keys, which begin with their BEGIN line and end with their END line, and secrets that overlap: one span
//!   then covers all of them, under the kind of the most specific.
//! - A token that has the form its provider publishes is a secret unless it is visibly an example: it contains a word
//!   such as "EXAMPLE" or "your", or repeats a few characters. AWS's documented keys are therefore not secrets.
//! - A value given to a password-like name is a secret if it looks made up of random characters, or, for passwords, mixes
//!   letters with digits or symbols. Placeholders, variables, calls, paths and plain words are not.
//! - Labels that replace secrets (`⟦sealed jwt 0123456789abcdef⟧`) are never secrets, nor is any text that contains one.
//! - The work is linear in the text: one pass finds the anchors of all rules, and a rule reads a bounded number of bytes
//!   around its anchor. Private keys and runs without a blank have no bound, but each of them is read once.

mod anchor_index;
mod anchors;
mod assignment;
mod blocks;
mod byte_set;
mod command_lines;
mod files;
mod headers;
mod judge;
mod kind;
mod named;
mod probe;
mod scanner;
mod separators;
mod tokens;
mod urls;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use files::credential_file;
pub use kind::SecretKind;
pub use scanner::{SecretScanner, SecretSpan};
