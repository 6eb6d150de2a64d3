//! The pages of a palace: what a browser shows and sends, made from the reports of `engine`.
//!
//! ```text
//! PageRequest → Site::answer → route → one operation of the palace → its report as HTML → PageReply
//! ```
//!
//! Nothing here opens a port, reads a cookie or knows a protocol: `serve` carries requests and replies. A page works
//! without scripts; the scripts in `assets/` only add comfort. Everything stored is hostile until escaped, so texts
//! reach a page through [`parts::shown`] alone.

mod acts;
mod assets;
mod base;
mod context;
mod host;
mod jobs;
pub mod lobby;
mod offline;
mod pages;
pub mod parts;
mod reply;
mod request;
mod routes;
mod site;
mod visit;

pub use assets::find_asset;
pub use base::SiteBase;
pub use host::{SiteHost, SiteModelRow, SiteToolRow, SpoolRow};
pub use offline::{OfflinePageProgress, OfflinePageReport, OfflinePageRequest, write_offline_page};
pub use pages::problem::http_status;
pub use reply::{PageReply, ReplyBody, ReplyCaching, StreamedBody};
pub use request::{PageFields, PageMethod, PageRequest, ThemeChoice};
pub use site::Site;
pub use visit::Visit;
