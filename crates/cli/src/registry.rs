//! Which backends there are, and which one a palace means.

use std::path::Path;
use std::sync::Arc;

use loci_chroma::Chroma;
use loci_core::{Backend, Error, ErrorKind, Result};
use loci_store::Embedded;

#[derive(Debug, Clone, Copy)]
struct Entry {
    name: &'static str,
    make: fn() -> Arc<dyn Backend>,
}

/// The backends this build knows by name.
#[derive(Debug)]
pub(crate) struct Registry {
    entries: Vec<Entry>,
}

/// Where a palace may say which backend it means, first to last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked<'a> {
    /// A flag, or what stands before the colon of a reference.
    pub(crate) flag: Option<&'a str>,
    /// The palace's own config.
    pub(crate) config: Option<&'a str>,
    /// `LOCI_BACKEND`.
    pub(crate) environment: Option<&'a str>,
    /// The palace's folder, whose files may show it.
    pub(crate) folder: Option<&'a Path>,
}

/// The backend of palaces that do not say otherwise.
const DEFAULT: &str = "embedded";

impl Registry {
    /// Every backend of this build.
    pub(crate) fn standard() -> Self {
        Self {
            entries: vec![
                Entry {
                    name: DEFAULT,
                    make: embedded,
                },
                Entry {
                    name: Chroma::NAME,
                    make: chroma,
                },
            ],
        }
    }

    /// The names of all backends, in order of precedence.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.entries.iter().map(|entry| entry.name).collect()
    }

    /// Whether a backend is called `name`.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// Makes the backend called `name`; an unknown name is an error that lists what there is.
    pub(crate) fn make(&self, name: &str) -> Result<Arc<dyn Backend>> {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| unknown(name, &self.names()))?;
        let backend = (entry.make)();
        backend.descriptor().check_version()?;
        Ok(backend)
    }

    /// The name of the backend that is meant, by the first that says so.
    pub(crate) fn choose(&self, asked: Asked<'_>) -> String {
        let named = asked.flag.or(asked.config).or(asked.environment);
        let shown = || asked.folder.and_then(|folder| self.recognise(folder));
        named.or_else(shown).unwrap_or(DEFAULT).to_owned()
    }

    /// The backend whose files lie in `folder`.
    pub(crate) fn recognise(&self, folder: &Path) -> Option<&'static str> {
        let recognises = |entry: &&Entry| {
            let backend = (entry.make)();
            backend.doctor().is_some_and(|doctor| doctor.recognises(folder))
        };
        self.entries.iter().find(recognises).map(|entry| entry.name)
    }
}

fn embedded() -> Arc<dyn Backend> {
    Arc::new(Embedded::new())
}

fn chroma() -> Arc<dyn Backend> {
    Arc::new(Chroma::new())
}

fn unknown(name: &str, known: &[&str]) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("there is no backend called {name:?}"),
    )
    .hint(format!("known backends: {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> Registry {
        let mut registry = Registry::standard();
        registry.entries.push(Entry {
            name: "elsewhere",
            make: chroma,
        });
        registry
    }

    #[test]
    fn the_first_that_says_so_chooses_the_backend() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry();
        let all = Asked {
            flag: Some("flag"),
            config: Some("config"),
            environment: Some("environment"),
            folder: Some(folder.path()),
        };
        assert_eq!(registry.choose(all), "flag");
        assert_eq!(registry.choose(Asked { flag: None, ..all }), "config");
        let environment = Asked {
            flag: None,
            config: None,
            ..all
        };
        assert_eq!(registry.choose(environment), "environment");
        assert_eq!(registry.choose(Asked::default()), DEFAULT);
    }

    #[test]
    fn files_show_the_backend_where_nothing_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry();
        assert_eq!(registry.recognise(folder.path()), None);
        std::fs::write(folder.path().join(Embedded::FILE), b"").unwrap();
        assert_eq!(registry.recognise(folder.path()), Some("embedded"));
        let shown = Asked {
            folder: Some(folder.path()),
            ..Asked::default()
        };
        assert_eq!(registry.choose(shown), "embedded");
    }

    #[test]
    fn an_unknown_backend_is_refused_with_a_list_of_what_there_is() {
        let error = registry().make("nowhere").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("nowhere"), "{error}");
        assert_eq!(
            error.hint_text(),
            Some("known backends: embedded, chroma, elsewhere")
        );
    }

    #[test]
    fn every_backend_is_registered_under_its_own_name() {
        let registry = Registry::standard();
        for name in registry.names() {
            assert_eq!(registry.make(name).unwrap().descriptor().name, name);
        }
    }
}
