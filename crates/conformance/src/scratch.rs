//! Worlds in scratch palaces of any backend: in a temporary folder, or under names of their own on a server.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{Backend, PalaceRef};

use crate::{BackendHarness, TempFolder, TestWorld};

/// The namespaces that cases make collections in.
const NAMESPACES: [&str; 2] = ["one", "two"];

type BackendMaker = dyn Fn() -> Result<Arc<dyn Backend>, String> + Send + Sync;
type PalaceNamer = dyn Fn(&str) -> PalaceRef + Send + Sync;

/// Makes scratch worlds for a backend that is linked in.
pub struct ScratchHarness {
    name: String,
    make: Arc<BackendMaker>,
    /// The palace of a name on a server; without it, palaces are in temporary folders.
    locate: Option<Arc<PalaceNamer>>,
    seed: Option<u64>,
}

impl fmt::Debug for ScratchHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScratchHarness")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ScratchHarness {
    /// Makes worlds in temporary folders for the backend that `make` returns.
    pub fn in_folders(
        name: impl Into<String>,
        make: impl Fn() -> Result<Arc<dyn Backend>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            make: Arc::new(make),
            locate: None,
            seed: None,
        }
    }

    /// Makes worlds on a server instead, in the palaces that `locate` returns for names that nothing else uses.
    #[must_use]
    pub fn on_server(mut self, locate: impl Fn(&str) -> PalaceRef + Send + Sync + 'static) -> Self {
        self.locate = Some(Arc::new(locate));
        self
    }

    /// Chooses the number that the random histories follow from.
    #[must_use]
    pub fn with_seed(mut self, seed: Option<u64>) -> Self {
        self.seed = seed;
        self
    }
}

struct ScratchWorld {
    backend: Arc<dyn Backend>,
    make: Arc<BackendMaker>,
    palaces: [PalaceRef; 2],
    /// Removed with the world.
    folder: Option<TempFolder>,
}

impl BackendHarness for ScratchHarness {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn make_world(&self) -> Result<Box<dyn TestWorld>, String> {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let number = WORLDS.fetch_add(1, Ordering::SeqCst);
        let (folder, palaces) = match &self.locate {
            Some(locate) => {
                let name = |which: &str| format!("loci-test-{}-{number}-{which}", std::process::id());
                (None, [locate(&name("one")), locate(&name("two"))])
            }
            None => {
                let folder = TempFolder::new()?;
                let palace = |which: &str| PalaceRef::local(folder.path().join(which).join("palace"));
                let palaces = [palace("one"), palace("two")];
                (Some(folder), palaces)
            }
        };
        Ok(Box::new(ScratchWorld {
            backend: (self.make)()?,
            make: Arc::clone(&self.make),
            palaces,
            folder,
        }))
    }
}

impl TestWorld for ScratchWorld {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    fn palace(&self) -> PalaceRef {
        self.palaces[0].clone()
    }

    fn another_palace(&self) -> PalaceRef {
        self.palaces[1].clone()
    }

    fn reopen(&self) -> Result<Arc<dyn Backend>, String> {
        (self.make)()
    }
}

impl Drop for ScratchWorld {
    fn drop(&mut self) {
        if self.folder.is_some() {
            return;
        }
        // By an instance of its own: the case may have closed the one under test.
        let Ok(backend) = (self.make)() else { return };
        let spaced = |palace: &PalaceRef| NAMESPACES.map(|namespace| palace.clone().in_namespace(namespace));
        for palace in self.palaces.iter().flat_map(|palace| {
            let own = std::iter::once(palace.clone());
            own.chain(spaced(palace)).collect::<Vec<_>>()
        }) {
            for collection in backend.collections(&palace).unwrap_or_default() {
                drop(backend.drop_collection(&palace, &collection.name));
            }
        }
    }
}
