//! The backends of this build, and the choice of the one that holds a palace.

use std::path::Path;
use std::sync::Arc;

use loci_chroma::{ChromaBackend, MempalaceInstallation};
use loci_chroma_server::ChromaServerBackend;
use loci_core::{Backend, Error, ErrorKind, PalaceFinding, PalaceRef, Result};
use loci_engine::PalaceAddress;
use loci_mempalace::ExactBackend;
use loci_postgres::PostgresBackend;
use loci_store::EmbeddedBackend;

use crate::plugins::{FoundPlugin, PluginFolders};

/// The number of drawers of a palace, and the damage it has on record.
type PalaceGlance = (u64, Vec<PalaceFinding>);

#[derive(Debug, Clone, Copy)]
struct BackendEntry {
    name: &'static str,
    make: fn(&MempalaceInstallation) -> Arc<dyn Backend>,
    /// How its palaces are found.
    home: PalaceHome,
}

/// The kind of place in which a backend keeps its palaces.
#[derive(Debug, Clone, Copy)]
enum PalaceHome {
    /// Folders. Counts the drawers of the palace in one, and lists the damage it has on record, without changing anything.
    Folder(fn(&Path) -> Result<PalaceGlance>),
    /// Servers, addressed by URLs.
    Server(ServerHome),
}

/// How the palaces on servers of one kind are addressed.
#[derive(Debug, Clone, Copy)]
struct ServerHome {
    /// The schemes of its URLs.
    schemes: &'static [&'static str],
    /// The palace that a URL means.
    find: fn(&str) -> Result<PalaceAddress>,
    /// A URL as it may be shown.
    show: fn(&str) -> ShownUrl,
}

/// The URL of a palace without anything secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownUrl {
    pub(crate) text: String,
    /// Whether the URL that was given holds something that is not shown.
    pub(crate) hides_secret: bool,
}

/// The backends this build knows by name, and the plug-ins that can be found.
#[derive(Debug, Clone)]
pub(crate) struct BackendRegistry {
    entries: Vec<BackendEntry>,
    plugins: PluginFolders,
    /// Where the user's MemPalace keeps the files that belong to its palaces.
    installation: MempalaceInstallation,
}

/// The places that may name the backend of a palace, in order of precedence.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BackendSources<'a> {
    /// A flag, or the part of a reference before its colon.
    pub(crate) flag: Option<&'a str>,
    /// The palace's own config.
    pub(crate) config: Option<&'a str>,
    /// `LOCI_BACKEND`.
    pub(crate) environment: Option<&'a str>,
    /// The palace's folder, whose files may tell.
    pub(crate) folder: Option<&'a Path>,
}

/// The backend of a palace for which nothing names another.
const DEFAULT: &str = "embedded";

impl BackendRegistry {
    /// Every backend of this build, with the folders of this user's MemPalace.
    pub(crate) fn standard(installation: &MempalaceInstallation) -> Self {
        Self {
            installation: installation.clone(),
            plugins: PluginFolders::default(),
            // The order decides for a folder that two backends recognise.
            entries: vec![
                BackendEntry {
                    name: DEFAULT,
                    make: make_embedded,
                    home: PalaceHome::Folder(EmbeddedBackend::count_drawers),
                },
                BackendEntry {
                    name: ChromaBackend::NAME,
                    make: make_chroma,
                    home: PalaceHome::Folder(count_in_chroma),
                },
                BackendEntry {
                    name: ExactBackend::NAME,
                    make: make_exact,
                    home: PalaceHome::Folder(count_in_exact),
                },
                BackendEntry {
                    name: PostgresBackend::NAME,
                    make: make_postgres,
                    home: PalaceHome::Server(ServerHome {
                        schemes: &PostgresBackend::SCHEMES,
                        find: find_in_postgres,
                        show: show_postgres_url,
                    }),
                },
                BackendEntry {
                    name: ChromaServerBackend::NAME,
                    make: make_chroma_server,
                    home: PalaceHome::Server(ServerHome {
                        schemes: &ChromaServerBackend::SCHEMES,
                        find: find_in_chroma_server,
                        show: show_chroma_url,
                    }),
                },
            ],
        }
    }

    /// Looks for plug-ins in these folders as well.
    #[must_use]
    pub(crate) fn with_plugins(mut self, plugins: &PluginFolders) -> Self {
        self.plugins = plugins.clone();
        self
    }

    /// Lets writers of this process that come at the same time share a commit, where the backend can.
    #[must_use]
    pub(crate) fn grouping_writes(mut self) -> Self {
        let embedded = self.entries.iter_mut().filter(|entry| entry.name == DEFAULT);
        embedded.for_each(|entry| entry.make = make_grouping);
        self
    }

    /// Every plug-in, by name. One that has the name of a backend of this build is left out: it is never used.
    pub(crate) fn list_plugins(&self) -> Vec<FoundPlugin> {
        let mut found = self.plugins.list();
        found.retain(|plugin| self.find_entry(&plugin.name).is_err());
        found
    }

    /// The plug-in called `name`, unless a backend of this build has the name.
    pub(crate) fn find_plugin(&self, name: &str) -> Option<FoundPlugin> {
        let is_own = self.entries.iter().any(|entry| entry.name == name);
        let path = self.plugins.find(name).filter(|_| !is_own)?;
        Some(FoundPlugin {
            name: name.to_owned(),
            path,
        })
    }

    /// The names of the backends of this build, in order of precedence.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.entries.iter().map(|entry| entry.name).collect()
    }

    /// Whether a backend is called `name`.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name) || self.find_plugin(name).is_some()
    }

    fn find_entry(&self, name: &str) -> Result<&BackendEntry> {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        entry.ok_or_else(|| unknown_backend(name, &self.names()))
    }

    /// Counts the drawers of the palace in `folder`, which the backend called `name` holds, and lists the damage it has
    /// on record. Changes nothing.
    pub(crate) fn count_drawers(&self, name: &str, folder: &Path) -> Result<PalaceGlance> {
        if self.find_plugin(name).is_some() {
            // A list is no reason to run a program.
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("not counted: the plug-in {name:?} is not started for a list"),
            ));
        }
        match self.find_entry(name)?.home {
            PalaceHome::Folder(count) => count(folder),
            PalaceHome::Server(_) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("the backend {name:?} keeps no palaces in folders"),
            )),
        }
    }

    /// The backend that a URL addresses, by its scheme.
    pub(crate) fn find_url_backend(&self, url: &str) -> Option<&'static str> {
        self.find_server_home(url).map(|(name, _)| name)
    }

    fn find_server_home(&self, url: &str) -> Option<(&'static str, ServerHome)> {
        let (scheme, _) = url.split_once("://")?;
        self.entries.iter().find_map(|entry| match entry.home {
            PalaceHome::Server(home) if home.schemes.contains(&scheme) => Some((entry.name, home)),
            _ => None,
        })
    }

    /// The address of the palace on a server that `url` means.
    pub(crate) fn find_server_palace(&self, url: &str) -> Result<PalaceAddress> {
        let home = self.find_server_home(url);
        // The URL itself is not repeated: it may hold a password.
        let (_, home) =
            home.ok_or_else(|| Error::invalid("no backend of this build has palaces at such a URL"))?;
        (home.find)(url)
    }

    /// A URL of a palace as it may be shown.
    pub(crate) fn show_url(&self, url: &str) -> Option<ShownUrl> {
        self.find_server_home(url).map(|(_, home)| (home.show)(url))
    }

    /// The palace in Postgres that `url` means, for what only Postgres has.
    pub(crate) fn find_postgres_palace(&self, url: &str) -> Result<(PostgresBackend, PalaceRef)> {
        let backend = PostgresBackend::new();
        let reference = backend.adopt_url(url)?;
        Ok((backend, reference))
    }

    /// Makes the backend called `name`; the error for an unknown name lists the known ones.
    pub(crate) fn make_backend(&self, name: &str) -> Result<Arc<dyn Backend>> {
        if let Some(plugin) = self.find_plugin(name) {
            return Ok(Arc::new(plugin.start()?));
        }
        let entry = self.find_entry(name)?;
        let backend = (entry.make)(&self.installation);
        // A backend of another version of the contract would fail later, and less clearly.
        backend.descriptor().check_version()?;
        Ok(backend)
    }

    /// The name of the backend to use, by the first source that tells.
    pub(crate) fn choose_backend(&self, sources: BackendSources<'_>) -> String {
        let named = sources.flag.or(sources.config).or(sources.environment);
        // Files are looked at last: a name that was given must win over a folder that holds two kinds of palace.
        let recognised = || sources.folder.and_then(|folder| self.recognise(folder));
        named.or_else(recognised).unwrap_or(DEFAULT).to_owned()
    }

    /// The backend whose files are in `folder`.
    pub(crate) fn recognise(&self, folder: &Path) -> Option<&'static str> {
        // Making a backend costs nothing: none does I/O before a palace is opened.
        let recognises = |entry: &&BackendEntry| {
            let backend = (entry.make)(&self.installation);
            backend.doctor().is_some_and(|doctor| doctor.recognises(folder))
        };
        self.entries.iter().find(recognises).map(|entry| entry.name)
    }
}

fn make_embedded(_: &MempalaceInstallation) -> Arc<dyn Backend> {
    Arc::new(EmbeddedBackend::new())
}

fn make_grouping(_: &MempalaceInstallation) -> Arc<dyn Backend> {
    Arc::new(EmbeddedBackend::new().grouping_writes())
}

fn make_chroma(installation: &MempalaceInstallation) -> Arc<dyn Backend> {
    Arc::new(ChromaBackend::with_installation(installation.clone()))
}

fn make_exact(installation: &MempalaceInstallation) -> Arc<dyn Backend> {
    Arc::new(ExactBackend::with_installation(installation.clone()))
}

fn make_postgres(_: &MempalaceInstallation) -> Arc<dyn Backend> {
    Arc::new(PostgresBackend::new())
}

fn make_chroma_server(_: &MempalaceInstallation) -> Arc<dyn Backend> {
    Arc::new(ChromaServerBackend::new())
}

fn find_in_postgres(url: &str) -> Result<PalaceAddress> {
    let backend = PostgresBackend::new();
    let reference = backend.adopt_url(url)?;
    Ok(PalaceAddress {
        backend: Arc::new(backend),
        reference,
    })
}

fn find_in_chroma_server(url: &str) -> Result<PalaceAddress> {
    let backend = ChromaServerBackend::new();
    let reference = backend.adopt_url(url)?;
    Ok(PalaceAddress {
        backend: Arc::new(backend),
        reference,
    })
}

fn show_postgres_url(url: &str) -> ShownUrl {
    let text = loci_postgres::redact_url(url);
    ShownUrl {
        hides_secret: text != url,
        text,
    }
}

fn show_chroma_url(url: &str) -> ShownUrl {
    ShownUrl {
        text: loci_chroma_server::redact_url(url),
        // A URL that can be read has no room for a secret.
        hides_secret: loci_chroma_server::ChromaUrl::parse(url).is_err(),
    }
}

fn count_in_chroma(folder: &Path) -> Result<PalaceGlance> {
    count_in_foreign(&ChromaBackend::new(), folder)
}

fn count_in_exact(folder: &Path) -> Result<PalaceGlance> {
    count_in_foreign(
        &ExactBackend::with_installation(MempalaceInstallation::default()),
        folder,
    )
}

/// The palaces of other programs are only ever read.
fn count_in_foreign(backend: &dyn Backend, folder: &Path) -> Result<PalaceGlance> {
    let palace = PalaceRef::local(folder);
    let collections = backend.collections(&palace)?;
    let drawers = collections.iter().map(|info| info.drawers).sum();
    Ok((drawers, backend.list_damage(&palace)))
}

fn unknown_backend(name: &str, known: &[&str]) -> Error {
    Error::new(ErrorKind::Unsupported, format!("unknown backend {name:?}")).with_hint(format!(
        "known backends: {}; a plug-in is an executable loci-backend-{name} on the PATH",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> BackendRegistry {
        let mut registry = BackendRegistry::standard(&MempalaceInstallation::default());
        registry.entries.push(BackendEntry {
            name: "elsewhere",
            make: make_chroma,
            home: PalaceHome::Folder(count_in_chroma),
        });
        registry
    }

    #[test]
    fn the_first_that_says_so_chooses_the_backend() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry();
        let all = BackendSources {
            flag: Some("flag"),
            config: Some("config"),
            environment: Some("environment"),
            folder: Some(folder.path()),
        };
        assert_eq!(registry.choose_backend(all), "flag");
        assert_eq!(
            registry.choose_backend(BackendSources { flag: None, ..all }),
            "config"
        );
        let environment = BackendSources {
            flag: None,
            config: None,
            ..all
        };
        assert_eq!(registry.choose_backend(environment), "environment");
        assert_eq!(registry.choose_backend(BackendSources::default()), DEFAULT);
    }

    #[test]
    fn files_show_the_backend_where_nothing_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry();
        assert_eq!(registry.recognise(folder.path()), None);
        std::fs::write(folder.path().join(EmbeddedBackend::FILE), b"").unwrap();
        assert_eq!(registry.recognise(folder.path()), Some("embedded"));
        let shown = BackendSources {
            folder: Some(folder.path()),
            ..BackendSources::default()
        };
        assert_eq!(registry.choose_backend(shown), "embedded");
    }

    #[test]
    fn an_unknown_backend_is_refused_with_a_list_of_what_there_is() {
        let error = registry().make_backend("nowhere").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("nowhere"), "{error}");
        assert_eq!(
            error.hint_text(),
            Some(
                "known backends: embedded, chroma, sqlite_exact, postgres, chroma-server, elsewhere; \
                 a plug-in is an executable loci-backend-nowhere on the PATH"
            )
        );
    }

    #[test]
    fn every_backend_is_registered_under_its_own_name() {
        let registry = BackendRegistry::standard(&MempalaceInstallation::default());
        for name in registry.names() {
            assert_eq!(registry.make_backend(name).unwrap().descriptor().name, name);
        }
    }
}
