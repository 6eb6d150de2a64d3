//! The backend `chroma`: a read-only view of folders that ChromaDB 0.4 to 1.5 wrote.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    CollectionInfo, FindingSeverity, FixInfo, FixReport, FixRequest, Metric, PalaceDiagnosis, PalaceFinding,
    Result,
};
use loci_foreign::mempalace::MempalaceInstallation;
use loci_foreign::scan::{ForeignPalace, ScannedBackend};

use crate::palace::{ChromaPalace, LoadedFolder};
use crate::{examine, fix, folder};

/// Reads, examines and repairs folders that ChromaDB wrote. Nothing is opened before a palace is asked for.
pub type ChromaBackend = ScannedBackend<ChromaPalace>;

impl ForeignPalace for ChromaPalace {
    const NAME: &'static str = "chroma";
    const METRICS: &'static [Metric] = &Metric::ALL;
    const FIXES: &'static [FixInfo] = fix::STEPS;

    fn in_folder(folder: &Path, installation: Arc<MempalaceInstallation>) -> Self {
        Self::with_installation(folder, installation)
    }

    fn describe_collections(&self) -> Result<Vec<CollectionInfo>> {
        self.with_loaded(|loaded, folder| {
            let names = loaded.collection_names();
            names
                .iter()
                .map(|name| loaded.collection_info(folder, name))
                .collect()
        })
    }

    fn check_readable(&self) -> Result<()> {
        self.with_loaded(|_, _| Ok(()))
    }

    fn list_damage(&self) -> Vec<PalaceFinding> {
        let warnings = self.opened.ask_content(LoadedFolder::warnings);
        let mut damage = warnings.unwrap_or_default();
        damage.retain(|finding| finding.severity == FindingSeverity::Error);
        damage
    }

    fn close(&self) {
        self.opened.close();
    }

    fn recognises(path: &Path) -> bool {
        folder::detect_format(path).is_some()
    }

    fn examine(backend: &ChromaBackend, path: &Path) -> Result<PalaceDiagnosis> {
        examine::examine_path(backend, path)
    }

    fn judge_by_age(backend: &ChromaBackend, path: &Path, age: Duration) -> Result<Vec<PalaceFinding>> {
        backend
            .open_palace(path)?
            .with_loaded(|loaded, folder| examine::graphs::judge_by_age(loaded, folder, age))
    }

    fn fix(backend: &ChromaBackend, path: &Path, request: &FixRequest<'_>) -> Result<FixReport> {
        fix::run_step(backend, path, request)
    }
}
