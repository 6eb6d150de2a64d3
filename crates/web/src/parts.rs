//! Pieces of pages that several pages share.

pub(crate) mod buttons;
pub(crate) mod card;
pub(crate) mod findings;
pub(crate) mod form_ids;
pub(crate) mod frame;
pub(crate) mod links;
pub(crate) mod place_boxes;
pub(crate) mod preview;
pub(crate) mod scope_form;
pub(crate) mod selection;
pub mod shown;
pub(crate) mod syntax;
pub(crate) mod text_box;
