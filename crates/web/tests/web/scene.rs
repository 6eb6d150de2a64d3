//! A real palace in a temporary folder, its site, and a visitor.

use std::sync::Arc;

use loci_core::{
    BackendDescriptor, DrawerId, Embedder, EmbedderIdentity, Error, FilingDoor, NewDrawer, OriginKind,
    PalaceRef, Provenance, Result, Timestamp,
};
use loci_embed::builtin::BuiltinEmbedder;
use loci_engine::add::AddRequest;
use loci_engine::keys::KeyFolder;
use loci_engine::{AccessPolicy, EmbedderCatalog, MineRequest, Palace, PalaceAddress};
use loci_store::EmbeddedBackend;
use loci_web::{
    PageFields, PageReply, PageRequest, ReplyBody, Site, SiteHost, SiteModelRow, SiteToolRow, SpoolRow, Visit,
};
use tempfile::TempDir;

/// The time at which the tests happen.
pub(crate) const NOW: &str = "2026-06-01T09:00:00Z";

/// The embedder of the binary and no other.
#[derive(Debug)]
struct BuiltinOnly(Arc<dyn Embedder>);

impl EmbedderCatalog for BuiltinOnly {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(Arc::clone(&self.0)))
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if self.0.identity() == identity {
            Ok(Arc::clone(&self.0))
        } else {
            Err(Error::invalid(format!("the vectors are of {identity}")))
        }
    }
}

/// A machine with the built-in model and nothing else.
#[derive(Debug)]
struct PlainHost;

impl SiteHost for PlainHost {
    fn palace_name(&self) -> String {
        "garden".to_owned()
    }

    fn list_backends(&self) -> Vec<BackendDescriptor> {
        Vec::new()
    }

    fn list_tools(&self) -> Vec<SiteToolRow> {
        Vec::new()
    }

    fn spool(&self) -> Result<Option<SpoolRow>> {
        Ok(None)
    }

    fn list_models(&self) -> Vec<SiteModelRow> {
        let name = "builtin".to_owned();
        vec![SiteModelRow {
            name,
            description: "the table of the binary".to_owned(),
        }]
    }

    fn open_model(&self, name: &str) -> Result<Arc<dyn Embedder>> {
        match name {
            "builtin" => Ok(Arc::new(BuiltinEmbedder::new()?)),
            other => Err(Error::invalid(format!("no model is called {other:?}"))),
        }
    }

    fn mine_request(&self, path: std::path::PathBuf) -> Result<MineRequest> {
        Ok(MineRequest::for_paths([path]))
    }
}

/// A palace in a temporary folder and what serves its pages.
pub(crate) struct SiteScene {
    pub(crate) folder: TempDir,
    pub(crate) palace: Palace,
    pub(crate) site: Site,
    pub(crate) visit: Visit,
}

impl SiteScene {
    /// Makes an empty palace whose visitor may do everything.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let palace = open_palace(&folder);
        Self {
            site: Site::new(palace.clone(), Arc::new(PlainHost)),
            visit: Visit::begin().unwrap(),
            palace,
            folder,
        }
    }

    /// Returns the site of the same palace for a visitor with other rights.
    pub(crate) fn site_for(&self, access: AccessPolicy) -> Site {
        Site::new(
            open_palace(&self.folder).restricted_to(access),
            Arc::new(PlainHost),
        )
    }

    /// Files a drawer by hand; its id is the given one.
    pub(crate) fn add(&self, id: &str, wing: &str, text: &str) {
        self.add_with(id, wing, text, |_| {});
    }

    /// Files a drawer by hand, after `change` has filled in the rest of it.
    pub(crate) fn add_with(&self, id: &str, wing: &str, text: &str, change: impl FnOnce(&mut NewDrawer)) {
        let mut drawer = NewDrawer::new(DrawerId::new(id).unwrap(), text);
        drawer.place.wing = Some(wing.to_owned());
        drawer.provenance = Some(Provenance::new(FilingDoor::Terminal, OriginKind::Hand));
        change(&mut drawer);
        let request = AddRequest {
            drawer,
            upsert: false,
        };
        self.palace.add(&request).unwrap();
    }

    /// Opens a page.
    pub(crate) fn get(&self, target: &str) -> PageReply {
        self.site.answer(&PageRequest::get(target), &self.visit)
    }

    /// Opens a page that must be there, and returns its HTML.
    #[track_caller]
    pub(crate) fn html(&self, target: &str) -> String {
        let reply = self.get(target);
        let (status, body) = (reply.status, body_text(reply));
        assert_eq!(status, 200, "{target}: {body}");
        body
    }

    /// Sends a form of this visit.
    pub(crate) fn post(&self, target: &str, fields: &[(&str, &str)]) -> PageReply {
        let secret = ("form_secret", self.visit.form_secret());
        let form: PageFields = fields.iter().copied().chain([secret]).collect();
        self.site.answer(&PageRequest::post(target, form), &self.visit)
    }
}

fn open_palace(folder: &TempDir) -> Palace {
    let now: Timestamp = NOW.parse().unwrap();
    let address = PalaceAddress {
        backend: Arc::new(EmbeddedBackend::new()),
        reference: PalaceRef::local(folder.path().join("palace")),
    };
    let builtin: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::new().unwrap());
    Palace::new(address, Arc::new(BuiltinOnly(builtin)), move || now)
        .entering_through(FilingDoor::Terminal)
        .with_keys(KeyFolder::new(folder.path().join("keys")))
}

/// Returns the whole body of a reply as text.
pub(crate) fn body_text(reply: PageReply) -> String {
    let bytes = match reply.body {
        ReplyBody::Whole(bytes) => bytes,
        ReplyBody::Streamed(write) => {
            let mut bytes = Vec::new();
            write(&mut bytes).unwrap();
            bytes
        }
    };
    String::from_utf8(bytes).unwrap()
}
