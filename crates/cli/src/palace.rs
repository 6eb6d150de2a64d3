//! The palace a reference means: a name, a path, `backend:path` or the URL of a server; and the palaces that exist by
//! name.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use serde::Deserialize;

use crate::environment::ProcessEnvironment;
use crate::errors;
use crate::registry::{BackendRegistry, ShownUrl};

/// The place of a palace, and the backend its reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PalaceLocation {
    /// The part of the reference before its colon.
    pub(crate) backend: Option<String>,
    /// Its place.
    pub(crate) place: PalacePlace,
}

/// The place of a palace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PalacePlace {
    /// A folder, absolute.
    Folder(PathBuf),
    /// A server.
    Server(ServerUrl),
}

/// The URL of a palace on a server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    given: String,
    shown: ShownUrl,
}

impl ServerUrl {
    /// The URL as given; it may hold a password, so it is never shown.
    pub(crate) fn as_given(&self) -> &str {
        &self.given
    }

    /// The URL as it may be shown.
    pub(crate) fn shown(&self) -> &ShownUrl {
        &self.shown
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerUrl")
    }
}

impl PalaceLocation {
    fn in_folder(backend: Option<String>, folder: PathBuf) -> Self {
        Self {
            backend,
            place: PalacePlace::Folder(folder),
        }
    }

    /// The folder, if the palace has one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.place {
            PalacePlace::Folder(folder) => Some(folder),
            PalacePlace::Server(_) => None,
        }
    }

    /// The folder, or an error if the palace lives on a server.
    pub(crate) fn require_folder(&self) -> Result<&Path> {
        self.folder().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "a palace on a server has no folder")
                .with_hint("nothing was changed; name a palace in a folder with --palace")
        })
    }
}

/// The palace used when none is named.
const DEFAULT: &str = "default";
/// The config file of a palace, within its folder.
const CONFIG: &str = "config.json";

/// Finds the palace `reference` means, or without one the palace of the environment, or the default one.
pub(crate) fn locate_palace(
    reference: Option<&OsStr>,
    environment: &ProcessEnvironment,
    registry: &BackendRegistry,
) -> Result<PalaceLocation> {
    let Some(reference) = reference.or(environment.palace.as_deref()) else {
        return locate_folder(None, named_folder(DEFAULT, environment)?, registry);
    };
    if let Some(location) = locate_url(reference, registry) {
        return Ok(location);
    }
    let (backend, place) = split_backend(reference, registry)?;
    locate_folder(backend, resolve_folder(place, environment)?, registry)
}

/// The palace whose URL is given, if it is one.
fn locate_url(reference: &OsStr, registry: &BackendRegistry) -> Option<PalaceLocation> {
    let url = reference.to_str()?;
    let backend = registry.find_url_backend(url)?;
    Some(PalaceLocation {
        backend: Some(backend.to_owned()),
        place: PalacePlace::Server(ServerUrl {
            given: url.to_owned(),
            shown: registry.show_url(url)?,
        }),
    })
}

/// The palace in a folder, or the one on a server that the config in this folder names.
fn locate_folder(
    backend: Option<String>,
    folder: PathBuf,
    registry: &BackendRegistry,
) -> Result<PalaceLocation> {
    let Some(url) = read_config(&folder)?.and_then(|config| config.url) else {
        return Ok(PalaceLocation::in_folder(backend, folder));
    };
    locate_url(OsStr::new(&url), registry).ok_or_else(|| {
        Error::new(
            ErrorKind::Format,
            format!("{} names no URL of a palace", folder.join(CONFIG).display()),
        )
        .with_hint(r#"write {"url": "postgres://HOST/DATABASE?palace=NAME"}"#)
    })
}

/// Splits a reference into its backend, if it names one, and the rest.
fn split_backend<'a>(
    reference: &'a OsStr,
    registry: &BackendRegistry,
) -> Result<(Option<String>, &'a OsStr)> {
    let parts = reference.to_str().and_then(|text| text.split_once(':'));
    let Some((backend, place)) = parts else {
        return Ok((None, reference));
    };
    if registry.knows(backend) {
        return Ok((Some(backend.to_owned()), OsStr::new(place)));
    }
    // A single letter is a drive, and a path may hold colons: only a word that cannot be a path is refused.
    let is_name = backend.len() > 1
        && backend
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_name && !Path::new(reference).exists() {
        // Fails with the error for an unknown backend, since the name is neither a known one nor that of a plug-in.
        registry.make_backend(backend)?;
    }
    Ok((None, reference))
}

fn resolve_folder(place: &OsStr, environment: &ProcessEnvironment) -> Result<PathBuf> {
    if place.is_empty() {
        return Err(
            Error::invalid("the palace has no name").with_hint("write --palace NAME, PATH or BACKEND:PATH")
        );
    }
    let path = Path::new(place);
    // A folder in the current directory wins over a palace of the same name: its user can see it.
    let bare = place
        .to_str()
        .filter(|name| !name.contains(std::path::is_separator) && !path.exists());
    // Links are kept: the path is also written into settings, where a link may lead elsewhere later.
    match bare {
        Some(name) => named_folder(name, environment),
        None => std::path::absolute(path).map_err(|cause| {
            errors::io_error(format!("cannot make {} an absolute path", path.display()), cause)
        }),
    }
}

fn named_folder(name: &str, environment: &ProcessEnvironment) -> Result<PathBuf> {
    Ok(palaces_folder(environment)?.join(name))
}

/// The folder of the palaces that are known by a name.
pub(crate) fn palaces_folder(environment: &ProcessEnvironment) -> Result<PathBuf> {
    let data = environment.data.as_ref().ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            "this user has no home folder to keep palaces in",
        )
        .with_hint("name a folder with --palace PATH")
    })?;
    Ok(data.join("loci").join("palaces"))
}

/// The palaces that are known by a name, in order of their names. A folder that cannot be read holds none.
pub(crate) fn list_palaces(environment: &ProcessEnvironment, registry: &BackendRegistry) -> Vec<PathBuf> {
    let entries = palaces_folder(environment)
        .ok()
        .and_then(|folder| folder.read_dir().ok());
    let is_palace = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default();
        // A hidden folder is one that `loci migrate` is still building.
        let is_hidden = name.to_string_lossy().starts_with('.');
        !is_hidden && (registry.recognise(folder).is_some() || folder.join(CONFIG).is_file())
    };
    let folders = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut palaces: Vec<PathBuf> = folders.filter(is_palace).collect();
    palaces.sort();
    palaces
}

/// Adds the palaces that exist to the hint of an error for a missing one.
pub(crate) fn name_existing_palaces(
    error: Error,
    environment: &ProcessEnvironment,
    registry: &BackendRegistry,
) -> Error {
    let names_field = |field: &str| error.context().iter().any(|(key, _)| *key == field);
    let is_missing_palace =
        error.kind() == ErrorKind::NotFound && names_field("palace") && !names_field("collection");
    if !is_missing_palace {
        return error;
    }
    let palaces = list_palaces(environment, registry);
    // The hint of the engine stays where it would only lose by a list of nothing.
    let names: Vec<_> = palaces.iter().filter_map(|folder| folder.file_name()).collect();
    if names.is_empty() {
        return error;
    }
    let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
    let hint = format!(
        "existing palaces: {}; name one with --palace, or make a new one with `loci init`",
        names.join(", ")
    );
    error.with_hint(hint)
}

#[derive(Deserialize)]
struct PalaceConfig {
    backend: Option<String>,
    /// The URL of the server that holds the palace.
    url: Option<String>,
}

/// The backend that the config of a palace names, if there is a config.
pub(crate) fn configured_backend(folder: &Path) -> Result<Option<String>> {
    Ok(read_config(folder)?.and_then(|config| config.backend))
}

/// Writes the config of a palace that a plug-in holds, unless it has one: its files would not tell the backend.
pub(crate) fn remember_backend(folder: &Path, backend: &str) -> Result<()> {
    let path = folder.join(CONFIG);
    if path.exists() {
        return Ok(());
    }
    let config = serde_json::json!({ "backend": backend }).to_string();
    // A plug-in on a server makes no folder of its own.
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, config))
        .map_err(|cause| errors::io_error(format!("cannot write {}", path.display()), cause))
}

fn read_config(folder: &Path) -> Result<Option<PalaceConfig>> {
    let path = folder.join(CONFIG);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) => {
            // A palace without a config is the usual case, and a palace that does not exist yet has none either.
            return match cause.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Ok(None),
                _ => Err(errors::io_error(format!("cannot read {}", path.display()), cause)),
            };
        }
    };
    let config: PalaceConfig = serde_json::from_str(&text).map_err(|cause| {
        Error::new(
            ErrorKind::Format,
            format!("{} is not the config of a palace", path.display()),
        )
        .caused_by(cause)
        .with_hint(r#"it should read {"backend": "NAME"} or {"url": "postgres://…"}"#)
    })?;
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> ProcessEnvironment {
        ProcessEnvironment {
            data: Some("/data".into()),
            ..ProcessEnvironment::default()
        }
    }

    fn registry() -> BackendRegistry {
        BackendRegistry::standard(&environment().mempalace)
    }

    fn check(reference: &str, backend: Option<&str>, folder: &str) {
        let located = locate_palace(Some(OsStr::new(reference)), &environment(), &registry()).unwrap();
        assert_eq!(located.backend.as_deref(), backend, "{reference}");
        assert_eq!(located.folder(), Some(Path::new(folder)), "{reference}");
    }

    #[test]
    fn names_and_paths_and_backends_are_told_apart() {
        check("work", None, "/data/loci/palaces/work");
        check("/srv/work", None, "/srv/work");
        check("embedded:work", Some("embedded"), "/data/loci/palaces/work");
        check("embedded:/srv/work", Some("embedded"), "/srv/work");
        check("/srv/a:b", None, "/srv/a:b");
        check("抽屉", None, "/data/loci/palaces/抽屉");
    }

    #[test]
    fn a_url_means_a_palace_on_a_server_and_is_never_shown() {
        let registry = registry();
        let locate = |reference: &str| locate_palace(Some(OsStr::new(reference)), &environment(), &registry);
        for url in ["postgres://u:secret@h/d?palace=x", "postgresql:///d"] {
            let located = locate(url).unwrap();
            assert_eq!(located.backend.as_deref(), Some("postgres"), "{url}");
            assert_eq!(located.folder(), None, "{url}");
            assert!(!format!("{located:?}").contains("secret"));
            assert_eq!(
                located.require_folder().unwrap_err().kind(),
                ErrorKind::Unsupported
            );
        }
        let chroma = locate("chroma://u:secret@h/?database=x").unwrap();
        assert_eq!(chroma.backend.as_deref(), Some("chroma-server"));
        let PalacePlace::Server(url) = &chroma.place else {
            panic!("{chroma:?}")
        };
        assert_eq!(
            (url.shown().text.as_str(), url.shown().hides_secret),
            ("chroma://…", true)
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(CONFIG), r#"{"url":"postgres://h/d"}"#).unwrap();
        let named = locate_palace(Some(folder.path().as_os_str()), &environment(), &registry).unwrap();
        assert_eq!(named.backend.as_deref(), Some("postgres"));
        std::fs::write(folder.path().join(CONFIG), r#"{"url":"https://h/d"}"#).unwrap();
        let error = locate_palace(Some(folder.path().as_os_str()), &environment(), &registry).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format);
    }

    #[test]
    fn an_existing_path_is_a_path_even_without_separators() {
        let here = std::env::current_dir().unwrap();
        check("src", None, &here.join("src").to_string_lossy());
        check(".", None, &here.to_string_lossy());
    }

    #[test]
    fn the_flag_comes_before_the_environment_and_both_before_the_default() {
        let registry = registry();
        let mut environment = environment();
        let folder = |reference: Option<&str>, environment: &ProcessEnvironment| {
            locate_palace(reference.map(OsStr::new), environment, &registry)
                .unwrap()
                .require_folder()
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            folder(None, &environment),
            Path::new("/data/loci/palaces/default")
        );
        environment.palace = Some("/from/environment".into());
        assert_eq!(folder(None, &environment), Path::new("/from/environment"));
        assert_eq!(folder(Some("/from/flag"), &environment), Path::new("/from/flag"));
    }

    #[test]
    fn an_unknown_backend_before_the_colon_is_refused() {
        let error = locate_palace(Some(OsStr::new("nowhere:x")), &environment(), &registry()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint_text().unwrap().contains("embedded"));
    }

    #[test]
    fn a_name_needs_a_home_and_a_reference_needs_a_name() {
        let homeless = ProcessEnvironment::default();
        let error = locate_palace(Some(OsStr::new("work")), &homeless, &registry()).unwrap_err();
        assert!(error.hint_text().unwrap().contains("--palace"));
        assert!(locate_palace(Some(OsStr::new("")), &environment(), &registry()).is_err());
        assert!(locate_palace(Some(OsStr::new("embedded:")), &environment(), &registry()).is_err());
    }

    #[test]
    fn the_config_is_read_only_where_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(configured_backend(folder.path()).unwrap(), None);
        assert_eq!(configured_backend(&folder.path().join("missing")).unwrap(), None);
        std::fs::write(folder.path().join(CONFIG), r#"{"backend":"x"}"#).unwrap();
        assert_eq!(configured_backend(folder.path()).unwrap().as_deref(), Some("x"));
        std::fs::write(folder.path().join(CONFIG), "{").unwrap();
        let error = configured_backend(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format);
    }
}
