//! A machine with two models, one of which can be held up, so that a job is seen while it runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use loci_core::{
    Backend as _, BackendDescriptor, Embedder, EmbedderIdentity, Error, ErrorKind, FilingDoor, PalaceRef,
    Result, Timestamp,
};
use loci_engine::keys::KeyFolder;
use loci_engine::{AccessPolicy, EmbedderCatalog, MineRequest, Palace, PalaceAddress};
use loci_store::EmbeddedBackend;
use loci_web::{PageReply, PageRequest, Site, SiteHost, SiteModelRow, SiteToolRow, SpoolRow, Visit};

use crate::scene::{NOW, SiteScene, body_text};

/// Far longer than anything takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A gate that models wait at before they embed.
#[derive(Debug, Default)]
pub(crate) struct ModelGate {
    /// Whether it is shut, and how many times somebody has waited at it.
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl ModelGate {
    pub(crate) fn shut(&self) {
        self.state.lock().unwrap().0 = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().0 = false;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        if state.0 {
            state.1 += 1;
            self.changed.notify_all();
        }
        drop(self.changed.wait_while(state, |state| state.0).unwrap());
    }

    /// Waits until a model has come to the gate that is shut.
    #[track_caller]
    pub(crate) fn wait_for_somebody(&self) {
        let state = self.state.lock().unwrap();
        let (state, waited) = self
            .changed
            .wait_timeout_while(state, PATIENCE, |state| state.1 == 0)
            .unwrap();
        assert!(!waited.timed_out(), "nobody embeds: {state:?}");
    }
}

/// Counts words in buckets, once the gate lets it.
#[derive(Debug, Clone)]
pub(crate) struct GatedModel {
    identity: EmbedderIdentity,
    gate: Arc<ModelGate>,
}

impl GatedModel {
    fn new(model: &str, dimension: usize, gate: &Arc<ModelGate>) -> Self {
        Self {
            identity: EmbedderIdentity {
                model: model.into(),
                revision: "1".into(),
                dimension,
            },
            gate: Arc::clone(gate),
        }
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.01; self.identity.dimension];
        for word in text.split_whitespace() {
            let salted = self.identity.model.bytes().chain(word.bytes());
            let hash = salted.fold(7_usize, |hash, byte| {
                hash.wrapping_mul(31).wrapping_add(byte.into())
            });
            vector[hash % self.identity.dimension] += 1.0;
        }
        vector
    }
}

impl Embedder for GatedModel {
    fn identity(&self) -> &EmbedderIdentity {
        &self.identity
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.gate.pass();
        Ok(texts.iter().map(|text| self.embed(text)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(self.embed(text))
    }
}

/// The machine: its first model is the usual one.
#[derive(Debug, Clone)]
pub(crate) struct TwoModels {
    models: [GatedModel; 2],
    pub(crate) gate: Arc<ModelGate>,
}

impl Default for TwoModels {
    fn default() -> Self {
        let gate = Arc::default();
        Self {
            models: [
                GatedModel::new("first", 8, &gate),
                GatedModel::new("second", 16, &gate),
            ],
            gate,
        }
    }
}

impl TwoModels {
    fn find(&self, is_it: impl Fn(&EmbedderIdentity) -> bool) -> Result<Arc<dyn Embedder>> {
        let found = self.models.iter().find(|model| is_it(&model.identity));
        found
            .map(|model| Arc::new(model.clone()) as _)
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "this model is not installed"))
    }
}

impl EmbedderCatalog for TwoModels {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        self.find(|identity| identity.model == "first").map(Some)
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        self.find(|known| known == identity)
    }
}

impl SiteHost for TwoModels {
    fn palace_name(&self) -> String {
        "workshop".to_owned()
    }

    fn list_backends(&self) -> Vec<BackendDescriptor> {
        vec![EmbeddedBackend::new().descriptor().clone()]
    }

    fn list_tools(&self) -> Vec<SiteToolRow> {
        vec![SiteToolRow {
            name: "A tool <b>".to_owned(),
            is_connected: true,
            settings: "/etc/tool.json".to_owned(),
        }]
    }

    fn spool(&self) -> Result<Option<SpoolRow>> {
        Ok(Some(SpoolRow {
            waiting: 1,
            trouble: Some("2 conversations could not be filed".to_owned()),
        }))
    }

    fn list_models(&self) -> Vec<SiteModelRow> {
        let row = |model: &GatedModel| SiteModelRow {
            name: model.identity.model.clone(),
            description: "counts <words>".to_owned(),
        };
        self.models.iter().map(row).collect()
    }

    fn open_model(&self, name: &str) -> Result<Arc<dyn Embedder>> {
        self.find(|identity| identity.model == name)
    }

    fn mine_request(&self, path: PathBuf) -> Result<MineRequest> {
        if !path.is_absolute() {
            return Err(Error::invalid("this is not a whole path").with_hint("nothing was mined"));
        }
        let path = path.canonicalize().map_err(|cause| {
            Error::new(ErrorKind::NotFound, "nothing is there")
                .with_hint("nothing was mined")
                .caused_by(cause)
        })?;
        Ok(MineRequest::for_paths([path]))
    }
}

/// Makes an empty palace on a machine with two models.
pub(crate) fn scene() -> (SiteScene, TwoModels) {
    let (folder, machine) = (tempfile::tempdir().unwrap(), TwoModels::default());
    let palace = open_palace(folder.path(), &machine);
    let scene = SiteScene {
        site: Site::new(palace.clone(), Arc::new(machine.clone())),
        visit: Visit::begin().unwrap(),
        palace,
        folder,
    };
    (scene, machine)
}

/// Returns the site of the same palace, opened anew, for a visitor with other rights.
pub(crate) fn site_for(scene: &SiteScene, machine: &TwoModels, access: AccessPolicy) -> Site {
    let palace = open_palace(scene.folder.path(), machine).restricted_to(access);
    Site::new(palace, Arc::new(machine.clone()))
}

/// Opens the palace of a folder anew, as another process would.
pub(crate) fn open_palace(folder: &Path, machine: &TwoModels) -> Palace {
    let now: Timestamp = NOW.parse().unwrap();
    let address = PalaceAddress {
        backend: Arc::new(EmbeddedBackend::new()),
        reference: PalaceRef::local(folder.join("palace")),
    };
    Palace::new(address, Arc::new(machine.clone()), move || now)
        .entering_through(FilingDoor::Terminal)
        .with_keys(KeyFolder::new(folder.join("keys")))
}

/// Asks for a page of another site with the visit of a scene.
pub(crate) fn ask(site: &Site, scene: &SiteScene, target: &str) -> (u16, String) {
    let reply = site.answer(&PageRequest::get(target), &scene.visit);
    (reply.status, body_text(reply))
}

/// Sends a form to another site with the visit of a scene.
pub(crate) fn send(site: &Site, scene: &SiteScene, target: &str, fields: &[(&str, &str)]) -> PageReply {
    let secret = ("form_secret", scene.visit.form_secret());
    let form = fields.iter().copied().chain([secret]).collect();
    site.answer(&PageRequest::post(target, form), &scene.visit)
}

/// Returns the address of the job that a form began.
#[track_caller]
pub(crate) fn job_address(reply: PageReply) -> String {
    let (status, location) = (reply.status, reply.location.clone());
    assert_eq!(status, 303, "{}", body_text(reply));
    let location = location.unwrap();
    assert!(location.starts_with("/job?number="), "{location}");
    location
}

/// Asks for the page of a job until it has ended, and returns the last one.
#[track_caller]
pub(crate) fn wait_for_end(scene: &SiteScene, job: &str) -> String {
    let begun = Instant::now();
    loop {
        let html = scene.html(&format!("{job}&part=1"));
        if !html.contains("data-job=") {
            return html;
        }
        assert!(begun.elapsed() < PATIENCE, "it never ends: {html}");
        std::thread::yield_now();
    }
}

/// Returns the values of an attribute, in order.
pub(crate) fn attribute_values(html: &str, attribute: &str) -> Vec<String> {
    let start = format!(" {attribute}=\"");
    html.split(&start)
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .collect()
}
