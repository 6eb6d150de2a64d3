//! The interface, asked of a real palace in a temporary folder.

mod calls;
mod description;
mod scene;
mod subjects;
