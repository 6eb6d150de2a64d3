//! The pages, one file each.

pub(crate) mod activity;
pub(crate) mod add;
pub(crate) mod changing;
pub(crate) mod diary;
pub(crate) mod doctor;
pub(crate) mod drawer;
pub(crate) mod embedder;
pub(crate) mod exporting;
pub(crate) mod forgetting;
pub(crate) mod home;
pub(crate) mod job;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod mine;
pub(crate) mod moving;
pub(crate) mod problem;
pub(crate) mod removing;
pub(crate) mod search;
pub(crate) mod source;
pub(crate) mod theme;
pub(crate) mod timeline;
pub(crate) mod undoing;
pub(crate) mod wake_up;
pub(crate) mod why_not;
