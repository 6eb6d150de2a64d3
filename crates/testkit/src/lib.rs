//! Shared test support: seeded random numbers, campaigns, a home to run the binary in, prepared folders, fixtures that
//! are made once, Postgres and Chroma servers, and a real browser.
//!
//! Only ever a dev-dependency. It depends on no other crate of the workspace, so that every crate's tests may use it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "this crate is only ever a test: a panic is a red line"
)]

mod browser;
mod campaign;
mod chroma_server;
mod command;
mod home;
mod made_once;
mod postgres;
mod prepared;
mod random;

pub use browser::{Browser, BrowserPage, BrowserPageOptions, BrowserTheme, PageMessage};
pub use campaign::{campaign_rounds, campaign_seed, campaign_setting};
pub use chroma_server::ChromaServer;
pub use command::{CommandOutcome, run_command};
pub use home::TempHome;
pub use made_once::made_once;
pub use postgres::{FreshDatabase, PostgresServer, PrivatePostgres, PrivatePostgresPlan};
pub use prepared::{
    chroma_folder, chroma_python, left_out_releases, mcp_clients_folder, mcp_python, minilm_folder,
};
pub use random::SeededRandom;
