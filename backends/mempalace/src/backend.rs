//! The backend `sqlite_exact`: a read-only view of MemPalace's palaces in one SQLite file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    CollectionInfo, Error, ErrorKind, FixInfo, FixReport, FixRequest, Metric, PalaceDiagnosis, PalaceFinding,
    Result,
};
use loci_foreign::mempalace::MempalaceInstallation;
use loci_foreign::scan::{ForeignPalace, ScannedBackend};

use crate::palace::{ExactPalace, LoadedExact};
use crate::{database, examine};

/// Reads and examines `sqlite_exact` palaces. Nothing is opened before a palace is asked for.
pub type ExactBackend = ScannedBackend<ExactPalace>;

impl ForeignPalace for ExactPalace {
    /// The name of the backend, as MemPalace calls it.
    const NAME: &'static str = "sqlite_exact";
    /// MemPalace compares by the cosine whatever the model.
    const METRICS: &'static [Metric] = &[Metric::Cosine];
    const FIXES: &'static [FixInfo] = &[];

    fn in_folder(folder: &Path, installation: Arc<MempalaceInstallation>) -> Self {
        Self::new(folder, installation)
    }

    fn describe_collections(&self) -> Result<Vec<CollectionInfo>> {
        self.with_loaded(|loaded| {
            let names = loaded.collection_names();
            names.iter().map(|name| loaded.collection_info(name)).collect()
        })
    }

    fn check_readable(&self) -> Result<()> {
        self.with_loaded(|_| Ok(()))
    }

    fn list_damage(&self) -> Vec<PalaceFinding> {
        let damage = self.opened.ask_content(LoadedExact::list_damage);
        damage.unwrap_or_default()
    }

    fn close(&self) {
        self.opened.close();
    }

    fn recognises(path: &Path) -> bool {
        database::holds_palace(path)
    }

    fn examine(backend: &ExactBackend, path: &Path) -> Result<PalaceDiagnosis> {
        examine::examine_path(backend, path)
    }

    fn judge_by_age(_backend: &ExactBackend, _path: &Path, _age: Duration) -> Result<Vec<PalaceFinding>> {
        // Rows and vectors are in one row, so nothing can be older than its rows.
        Ok(Vec::new())
    }

    fn fix(_backend: &ExactBackend, _path: &Path, request: &FixRequest<'_>) -> Result<FixReport> {
        let message = format!("sqlite_exact palaces have no step {:?}", request.step);
        Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("nothing was changed; move the palace with `loci migrate --from PATH --to NEW`"))
    }
}
