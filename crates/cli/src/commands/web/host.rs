//! What pages show of this machine: backends, tools, the spool, models.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_connect::{AgentTool, ToolStatus};
use loci_core::{BackendDescriptor, Embedder, Error, ErrorKind, FilingDoor, Result};
use loci_embed::models::ModelState;
use loci_engine::MineRequest;
use loci_engine::spool::EventSpool;
use loci_web::{SiteHost, SiteModelRow, SiteToolRow, SpoolRow};

use crate::commands::connect::find_on_path;
use crate::commands::hook;
use crate::commands::mine::{MineArgs, build_request};
use crate::commands::model::describe_model;
use crate::embedders::InstalledEmbedders;
use crate::environment::ProcessEnvironment;
use crate::palace::{PalaceLocation, PalacePlace};
use crate::registry::BackendRegistry;
use crate::session::CommandSession;
use crate::tool_folders::read_tool_folders;

/// The machine on which `loci web` runs, as its user sees it.
pub(super) struct OwnMachine {
    palace_name: String,
    /// The folder of the palace, which is never mined into itself; none on a server.
    folder: Option<PathBuf>,
    home: Option<PathBuf>,
    environment: ProcessEnvironment,
    embedders: Arc<InstalledEmbedders>,
    spool: Option<EventSpool>,
}

impl fmt::Debug for OwnMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnMachine")
            .field("palace_name", &self.palace_name)
            .finish_non_exhaustive()
    }
}

impl OwnMachine {
    /// Describes the machine of a command, and the place of its palace, which need not exist.
    pub(super) fn new(session: &CommandSession) -> Result<Self> {
        let location = session.location()?;
        let environment = session.environment().clone();
        Ok(Self {
            palace_name: name_palace(&location),
            folder: location.folder().map(Path::to_owned),
            home: environment.home.clone(),
            environment,
            embedders: session.embedders.clone(),
            // Without a home folder there are no hooks either.
            spool: hook::find_spool(session).ok(),
        })
    }

    /// Returns the path as a person types it: with `~` for the home folder, and never relative, because a page does not
    /// show where the server was started.
    fn read_path(&self, path: &Path) -> Result<PathBuf> {
        let path = match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        };
        if !path.is_absolute() {
            let message = format!("{} is not a whole path", path.display());
            return Err(Error::invalid(message).with_hint("nothing was mined; begin it with / or ~"));
        }
        path.canonicalize().map_err(|cause| {
            Error::new(ErrorKind::NotFound, format!("cannot mine {}", path.display()))
                .with_hint("nothing was mined; name a file or folder that exists")
                .caused_by(cause)
        })
    }
}

/// The name of a palace for people: of a folder the last part, of a server the URL without its password.
pub(crate) fn name_palace(location: &PalaceLocation) -> String {
    match &location.place {
        PalacePlace::Folder(folder) => {
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            name.to_string_lossy().into_owned()
        }
        PalacePlace::Server(url) => url.shown().text.clone(),
    }
}

/// The backends of this program.
pub(crate) fn list_own_backends(environment: &ProcessEnvironment) -> Vec<BackendDescriptor> {
    // Plug-ins are left out: a page is no reason to run their programs.
    let registry = BackendRegistry::standard(&environment.mempalace);
    let made = registry
        .names()
        .into_iter()
        .map(|name| registry.make_backend(name));
    made.flatten()
        .map(|backend| backend.descriptor().clone())
        .collect()
}

/// The models that a palace can be switched to.
pub(crate) fn list_usable_models(embedders: &InstalledEmbedders) -> Vec<SiteModelRow> {
    let Ok(models) = embedders.models() else {
        // Without a folder of models there is the one that is part of this program.
        return vec![SiteModelRow {
            name: loci_embed::builtin::NAME.to_owned(),
            description: "part of this program".to_owned(),
        }];
    };
    let listed = models.list_models().into_iter();
    let installed = listed.filter(|model| model.state == ModelState::Installed);
    let rows = installed.map(|model| SiteModelRow {
        description: describe_model(&model),
        name: model.name,
    });
    let servers = models.list_servers().unwrap_or_default().into_iter();
    // A server whose file cannot be read cannot be switched to.
    let servers = servers.filter_map(|(name, config)| Some((name, config.ok()?)));
    let servers = servers.map(|(name, config)| SiteModelRow {
        name,
        description: format!("{} at {}", config.model, config.url),
    });
    rows.chain(servers).collect()
}

/// Opens one of these models.
pub(crate) fn open_named_model(embedders: &InstalledEmbedders, name: &str) -> Result<Arc<dyn Embedder>> {
    embedders.find_by_name(name)?.ok_or_else(|| {
        Error::invalid("`none` makes no vectors, so it cannot be switched to")
            .with_hint("nothing was changed")
    })
}

impl SiteHost for OwnMachine {
    fn palace_name(&self) -> String {
        self.palace_name.clone()
    }

    fn list_backends(&self) -> Vec<BackendDescriptor> {
        list_own_backends(&self.environment)
    }

    fn list_tools(&self) -> Vec<SiteToolRow> {
        let Ok(folders) = read_tool_folders(false) else {
            return Vec::new();
        };
        let describe = |tool: AgentTool| {
            let status = ToolStatus::read(tool, &folders);
            // Settings that cannot be read are there all the same, and count as not connected.
            let has_settings = status.as_ref().map_or(true, |status| status.has_settings);
            let is_here = has_settings || tool.programs().iter().any(|name| find_on_path(name).is_some());
            let settings = match &status {
                Ok(status) => status.files.first().map(|path| path.display().to_string()),
                Err(error) => Some(error.to_string()),
            };
            is_here.then(|| SiteToolRow {
                name: tool.title().to_owned(),
                is_connected: status.as_ref().is_ok_and(ToolStatus::is_connected),
                settings: settings.unwrap_or_default(),
            })
        };
        AgentTool::ALL.into_iter().filter_map(describe).collect()
    }

    fn spool(&self) -> Result<Option<SpoolRow>> {
        let Some(spool) = &self.spool else { return Ok(None) };
        let standing = spool.count_events()?;
        let failed = standing.failed;
        let trouble = (failed > 0).then(|| {
            let folder = spool.folder().display();
            let verb = if failed == 1 {
                "conversation"
            } else {
                "conversations"
            };
            format!("{failed} {verb} could not be filed; {folder}/hook.log tells why")
        });
        Ok(Some(SpoolRow {
            waiting: standing.waiting,
            trouble,
        }))
    }

    fn list_models(&self) -> Vec<SiteModelRow> {
        list_usable_models(&self.embedders)
    }

    fn open_model(&self, name: &str) -> Result<Arc<dyn Embedder>> {
        open_named_model(&self.embedders, name)
    }

    fn mine_request(&self, path: PathBuf) -> Result<MineRequest> {
        let path = self.read_path(&path)?;
        let args = MineArgs::of_paths(vec![path.clone()]);
        let mut request = build_request(&args, vec![path], self.folder.as_deref())?;
        request.door = FilingDoor::Page;
        Ok(request)
    }
}
