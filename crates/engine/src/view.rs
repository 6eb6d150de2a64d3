//! The one view: drawers, hits and scopes as every interface shows and accepts them.
//!
//! `--json`, export, MCP and the web page serialise these types, so a field has one name everywhere.

pub mod address;
mod cursor;
mod drawer;
mod flags;
mod hit;
mod marks;
mod names;
mod nullable;
mod scope;

pub use cursor::{cursor_behind, format_position, parse_position};
pub(crate) use drawer::shorten_name;
pub use drawer::{DrawerView, TrustMark};
pub use flags::find_flags;
pub use hit::{HitView, NearTwinView};
pub use marks::defuse_name;
pub use names::suggest_names;
pub(crate) use nullable::NullableValue;
pub(crate) use scope::find_sources;
pub use scope::{DrawerScope, ScopeFields, ScopeNote, parse_bound, parse_time};
