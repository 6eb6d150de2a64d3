//! Which palace a reference means: a name, a path, or `backend:path`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use serde::Deserialize;

use crate::environment::Environment;
use crate::errors;
use crate::registry::Registry;

/// Where a palace is, and the backend its reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    /// What stood before the colon.
    pub(crate) backend: Option<String>,
    /// Its folder, absolute.
    pub(crate) folder: PathBuf,
}

/// The palace used when none is named.
const DEFAULT: &str = "default";
/// A palace's own config, within its folder.
const CONFIG: &str = "config.json";

/// Finds the palace `reference` means, or without one the palace of the environment, or the default one.
pub(crate) fn locate(
    reference: Option<&OsStr>,
    environment: &Environment,
    registry: &Registry,
) -> Result<Located> {
    let Some(reference) = reference.or(environment.palace.as_deref()) else {
        return Ok(Located {
            backend: None,
            folder: named(DEFAULT, environment)?,
        });
    };
    let (backend, place) = split(reference, registry)?;
    Ok(Located {
        backend,
        folder: folder(place, environment)?,
    })
}

/// Takes the backend off the front of a reference.
fn split<'a>(reference: &'a OsStr, registry: &Registry) -> Result<(Option<String>, &'a OsStr)> {
    let parts = reference.to_str().and_then(|text| text.split_once(':'));
    let Some((backend, place)) = parts else {
        return Ok((None, reference));
    };
    if registry.knows(backend) {
        return Ok((Some(backend.to_owned()), OsStr::new(place)));
    }
    // One letter is a drive, and a path may hold colons.
    let is_name = backend.len() > 1
        && backend
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match is_name && !Path::new(reference).exists() {
        true => registry.make(backend).map(|_| (None, reference)),
        false => Ok((None, reference)),
    }
}

fn folder(place: &OsStr, environment: &Environment) -> Result<PathBuf> {
    if place.is_empty() {
        return Err(
            Error::invalid("the palace has no name").hint("write --palace NAME, PATH or BACKEND:PATH")
        );
    }
    let path = Path::new(place);
    let bare = place
        .to_str()
        .filter(|name| !name.contains(std::path::is_separator) && !path.exists());
    match bare {
        Some(name) => named(name, environment),
        None => std::path::absolute(path)
            .map_err(|cause| errors::io(format!("cannot tell where {} is", path.display()), cause)),
    }
}

fn named(name: &str, environment: &Environment) -> Result<PathBuf> {
    let data = environment.data.as_ref().ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            "this user has no home folder to keep palaces in",
        )
        .hint("name a folder with --palace PATH")
    })?;
    Ok(data.join("loci").join("palaces").join(name))
}

#[derive(Deserialize)]
struct Config {
    backend: Option<String>,
}

/// The backend the palace's own config names, if there is a config.
pub(crate) fn configured_backend(folder: &Path) -> Result<Option<String>> {
    let path = folder.join(CONFIG);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) => {
            return match cause.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Ok(None),
                _ => Err(errors::io(format!("cannot read {}", path.display()), cause)),
            };
        }
    };
    let config: Config = serde_json::from_str(&text).map_err(|cause| {
        Error::new(
            ErrorKind::Format,
            format!("{} is not a palace's config", path.display()),
        )
        .caused_by(cause)
        .hint(r#"it should read {"backend": "NAME"}"#)
    })?;
    Ok(config.backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment {
            data: Some("/data".into()),
            ..Environment::default()
        }
    }

    fn check(reference: &str, backend: Option<&str>, folder: &str) {
        let located = locate(Some(OsStr::new(reference)), &environment(), &Registry::standard()).unwrap();
        assert_eq!(located.backend.as_deref(), backend, "{reference}");
        assert_eq!(located.folder, Path::new(folder), "{reference}");
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
    fn an_existing_path_is_a_path_even_without_separators() {
        let here = std::env::current_dir().unwrap();
        check("src", None, &here.join("src").to_string_lossy());
        check(".", None, &here.to_string_lossy());
    }

    #[test]
    fn the_flag_comes_before_the_environment_and_both_before_the_default() {
        let registry = Registry::standard();
        let mut environment = environment();
        let folder = |reference: Option<&str>, environment: &Environment| {
            locate(reference.map(OsStr::new), environment, &registry)
                .unwrap()
                .folder
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
        let error = locate(
            Some(OsStr::new("nowhere:x")),
            &environment(),
            &Registry::standard(),
        )
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint_text().unwrap().contains("embedded"));
    }

    #[test]
    fn a_name_needs_a_home_and_a_reference_needs_a_name() {
        let homeless = Environment::default();
        let error = locate(Some(OsStr::new("work")), &homeless, &Registry::standard()).unwrap_err();
        assert!(error.hint_text().unwrap().contains("--palace"));
        assert!(locate(Some(OsStr::new("")), &environment(), &Registry::standard()).is_err());
        assert!(
            locate(
                Some(OsStr::new("embedded:")),
                &environment(),
                &Registry::standard()
            )
            .is_err()
        );
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
