//! Where MemPalace keeps its files on this machine, by the rules of its own configuration.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// The folder that MemPalace writes into whatever its configuration says.
const HOME_FOLDER: &str = ".mempalace";
/// The name of its folder within a folder for configuration.
const CONFIG_FOLDER: &str = "mempalace";
/// Its settings, which may name the palace.
const SETTINGS: &str = "config.json";
/// The files that make the folder in the home folder the configuration of an older installation.
const OLDER_MARKS: [&str; 3] = [SETTINGS, "people_map.json", "palace/chroma.sqlite3"];
/// The largest settings that are read.
const LARGEST: u64 = 1 << 20;

/// The folders and variables that decide where MemPalace keeps its files. Nothing is read before a palace is.
#[derive(Debug, Clone, Default)]
pub struct MempalaceInstallation {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// `MEMPALACE_CONFIG_DIR`.
    pub named_folder: Option<PathBuf>,
    /// The folder for configuration that `XDG_CONFIG_HOME` names.
    pub config_home: Option<PathBuf>,
    /// The palaces that its variables name.
    pub palaces: Vec<PathBuf>,
}

/// A folder of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstalledFolder {
    /// Its name in the ids of drawers, where two folders hold files of one name.
    pub(super) label: &'static str,
    /// Its path.
    pub(super) path: PathBuf,
}

impl MempalaceInstallation {
    /// Returns the folders that hold its files: the one of its configuration, and the one in the home folder.
    pub(super) fn folders(&self) -> Vec<InstalledFolder> {
        let mut folders = Vec::new();
        let home = self.home.as_ref().map(|home| home.join(HOME_FOLDER));
        if let Some(path) = self.config_folder().filter(|path| Some(path) != home.as_ref()) {
            folders.push(InstalledFolder {
                label: "config",
                path,
            });
        }
        // The graph, the identity and the names of entities are written here even if the palace is elsewhere.
        folders.extend(home.map(|path| InstalledFolder { label: "home", path }));
        folders
    }

    /// Returns the folder of its configuration, in the order in which MemPalace looks for it.
    fn config_folder(&self) -> Option<PathBuf> {
        if let Some(named) = &self.named_folder {
            return Some(self.expand_home(named));
        }
        let older = self.home.as_ref().map(|home| home.join(HOME_FOLDER));
        if let Some(older) = older.filter(|older| OLDER_MARKS.iter().any(|mark| older.join(mark).is_file())) {
            return Some(older);
        }
        let config_home = self.config_home.as_ref().map(|path| self.expand_home(path));
        // MemPalace ignores a relative path here, as the specification demands.
        let config_home = config_home.filter(|path| path.is_absolute());
        let usual = || self.home.as_ref().map(|home| home.join(".config"));
        Some(config_home.or_else(usual)?.join(CONFIG_FOLDER))
    }

    /// Returns whether `palace` is one of this installation: within its folders, or named by its settings or variables.
    pub(super) fn owns_palace(&self, palace: &Path) -> bool {
        let palace = resolve_links(palace);
        let folders = self.folders();
        let within = |folder: &InstalledFolder| palace.starts_with(resolve_links(&folder.path));
        let configured = || {
            folders
                .iter()
                .filter_map(|folder| read_palace_setting(&folder.path))
        };
        let mut named = self.palaces.iter().cloned().chain(configured());
        folders.iter().any(within) || named.any(|named| resolve_links(&self.expand_home(&named)) == palace)
    }

    fn expand_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_path_buf(),
        }
    }
}

/// Resolves links, so that two ways to one folder are equal; a path that leads nowhere stays as it is.
pub(super) fn resolve_links(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

fn read_palace_setting(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(SETTINGS);
    let small = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    let settings = small.then(|| fs::read(&path).ok()).flatten()?;
    let settings: Json = serde_json::from_slice(&settings).ok()?;
    settings.get("palace_path")?.as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(installation: &MempalaceInstallation) -> Vec<(&'static str, PathBuf)> {
        let folders = installation.folders().into_iter();
        folders.map(|folder| (folder.label, folder.path)).collect()
    }

    #[test]
    fn a_fresh_installation_has_two_folders_and_an_older_one_has_one() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let installation = MempalaceInstallation {
            home: Some(home.path().to_owned()),
            ..MempalaceInstallation::default()
        };
        let fresh = vec![("config", at(".config/mempalace")), ("home", at(".mempalace"))];
        assert_eq!(paths(&installation), fresh);
        // The graph alone, which a fresh installation keeps there, too, does not make it an older one.
        fs::create_dir(at(".mempalace")).unwrap();
        fs::write(at(".mempalace/knowledge_graph.sqlite3"), b"").unwrap();
        assert_eq!(paths(&installation), fresh);
        fs::write(at(".mempalace/config.json"), b"{}").unwrap();
        assert_eq!(paths(&installation), [("home", at(".mempalace"))]);
    }

    #[test]
    fn variables_name_the_folder_and_relative_ones_are_ignored() {
        let named = |named: Option<&str>, config_home: Option<&str>| {
            let installation = MempalaceInstallation {
                home: Some("/home/ada".into()),
                named_folder: named.map(PathBuf::from),
                config_home: config_home.map(PathBuf::from),
                palaces: Vec::new(),
            };
            paths(&installation).remove(0).1
        };
        assert_eq!(named(Some("~/mem"), Some("/x")), Path::new("/home/ada/mem"));
        assert_eq!(named(None, Some("/x")), Path::new("/x/mempalace"));
        assert_eq!(named(None, Some("x")), Path::new("/home/ada/.config/mempalace"));
    }

    #[test]
    fn a_palace_belongs_if_it_lies_within_or_is_named() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for folder in [".mempalace/palace", "elsewhere", "named", "other"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let settings = format!(r#"{{"palace_path": {:?}}}"#, at("elsewhere"));
        fs::write(at(".mempalace/config.json"), settings).unwrap();
        let installation = MempalaceInstallation {
            home: Some(home.path().to_owned()),
            palaces: vec!["~/named".into()],
            ..MempalaceInstallation::default()
        };
        let owns = |name: &str| installation.owns_palace(&at(name));
        assert!(owns(".mempalace/palace") && owns("elsewhere") && owns("named"));
        assert!(!owns("other"));
        assert!(!MempalaceInstallation::default().owns_palace(&at("elsewhere")));
    }
}
