//! Plug-ins: executables called `loci-backend-NAME`, found by name and started only when a palace needs one.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::Result;
use loci_plugin::{PluginBackend, PluginOptions};

/// The beginning of a plug-in's file name.
const PREFIX: &str = "loci-backend-";

/// The folders that plug-ins are looked for in, in order of precedence.
#[derive(Debug, Clone, Default)]
pub(crate) struct PluginFolders(Vec<PathBuf>);

/// A plug-in that was found, and not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundPlugin {
    /// The name that a palace reference begins with.
    pub(crate) name: String,
    /// The executable.
    pub(crate) path: PathBuf,
}

impl PluginFolders {
    /// Looks in `loci/backends` of the folder for settings, then in the folders of `PATH`.
    pub(crate) fn new(settings: Option<&Path>, path: Option<&std::ffi::OsStr>) -> Self {
        let own = settings.map(|folder| folder.join("loci").join("backends"));
        let listed = path.into_iter().flat_map(std::env::split_paths);
        // A relative entry would run whatever lies in the folder that a command is used in.
        Self(
            own.into_iter()
                .chain(listed)
                .filter(|folder| folder.is_absolute())
                .collect(),
        )
    }

    /// The executable of the plug-in called `name`.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        if !is_plugin_name(name) {
            return None;
        }
        let files = self.0.iter().map(|folder| folder.join(format!("{PREFIX}{name}")));
        files.into_iter().find(|file| is_executable(file))
    }

    /// Every plug-in, by name; of two with one name the one that is used.
    pub(crate) fn list(&self) -> Vec<FoundPlugin> {
        let entries = self
            .0
            .iter()
            .filter_map(|folder| folder.read_dir().ok())
            .flatten()
            .flatten();
        let names = entries.filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            file.strip_prefix(PREFIX).map(str::to_owned)
        });
        let mut found: Vec<FoundPlugin> = names
            .filter_map(|name| {
                let path = self.find(&name)?;
                Some(FoundPlugin { name, path })
            })
            .collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found.dedup();
        found
    }
}

fn is_plugin_name(name: &str) -> bool {
    // A single letter would be taken for a drive.
    name.len() > 1
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let executable = |data: std::fs::Metadata| data.is_file() && data.permissions().mode() & 0o111 != 0;
    file.metadata().is_ok_and(executable)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

impl FoundPlugin {
    /// Starts the plug-in. What it writes to standard error is shown with its name.
    pub(crate) fn start(&self) -> Result<PluginBackend> {
        let name = self.name.clone();
        let options = PluginOptions {
            listener: Some(Arc::new(move |line: &str| {
                // Text of another program: control characters could rewrite the terminal.
                let shown = crate::escape::escape_line(line);
                drop(writeln!(std::io::stderr(), "{name}: {shown}"));
            })),
            ..PluginOptions::default()
        };
        PluginBackend::start(&self.name, &self.path, [], options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn executables_of_the_right_name_are_plug_ins_and_nothing_else_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let make = |place: &str, mode: u32| {
            let path = folder.path().join(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            path
        };
        let first = make("settings/loci/backends/loci-backend-one", 0o755);
        make("bin/loci-backend-one", 0o755);
        let two = make("bin/loci-backend-two_2", 0o755);
        make("bin/loci-backend-text", 0o644);
        make("bin/loci-backend-", 0o755);
        make("bin/loci-backend-a b", 0o755);
        make("bin/other", 0o755);
        std::fs::create_dir_all(folder.path().join("bin/loci-backend-folder")).unwrap();
        let path = std::env::join_paths([folder.path().join("bin"), "relative".into()]).unwrap();
        let folders = PluginFolders::new(Some(&folder.path().join("settings")), Some(&path));
        let found = |name: &str, path: &PathBuf| FoundPlugin {
            name: name.into(),
            path: path.clone(),
        };
        assert_eq!(folders.list(), [found("one", &first), found("two_2", &two)]);
        assert_eq!(folders.find("../one"), None);
        assert_eq!(folders.0.len(), 2, "relative folders are left out: {folders:?}");
    }
}
