//! The pages, asked of a real palace in a temporary folder.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "this whole crate is a test: a panic is a red line"
)]

mod activity;
mod acts;
mod diary;
mod doctor;
mod jobs;
mod machine;
mod models;
mod offline;
mod reading;
mod scene;
mod source;
