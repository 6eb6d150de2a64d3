//! What MemPalace keeps around a palace: the files beside it, the models it recorded, and the keys of its drawers.

mod installation;
mod models;
mod place;
mod sidecars;

pub use installation::MempalaceInstallation;
pub use models::{RecordedModels, read_recorded_models};
pub use place::{parse_time, place_from_metadata};
pub use sidecars::{SIDECAR_COLLECTION, SidecarFiles, SidecarSearch};
