//! Pieces of pages that several pages share.

pub(crate) mod buttons;
pub(crate) mod card;
pub(crate) mod findings;
pub(crate) mod frame;
pub(crate) mod links;
pub(crate) mod scope_form;
pub mod shown;
pub(crate) mod syntax;
