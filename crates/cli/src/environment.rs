//! The environment of this process, read once at its start.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use etcetera::BaseStrategy;
use loci_chroma::MempalaceInstallation;
use loci_core::Timestamp;

use crate::plugins::PluginFolders;

/// The variables by which MemPalace is told where its palace is.
const MEMPALACE_PATHS: [&str; 3] = ["MEMPALACE_PALACE_PATH", "MEMPALACE_PALACE", "MEMPAL_PALACE_PATH"];

/// The variables and folders that commands depend on.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessEnvironment {
    /// `LOCI_PALACE`.
    pub(crate) palace: Option<OsString>,
    /// `LOCI_BACKEND`.
    pub(crate) backend: Option<String>,
    /// This platform's folder for data; `None` without a home folder.
    pub(crate) data: Option<PathBuf>,
    /// The user's home folder, if there is one.
    pub(crate) home: Option<PathBuf>,
    /// The folder of Codex: `CODEX_HOME`, or `.codex` in the home folder.
    pub(crate) codex: Option<PathBuf>,
    /// The folder of models: `LOCI_MODELS`, or `loci/models` in the folder for data.
    pub(crate) models: Option<PathBuf>,
    /// The folder of keys: `LOCI_KEYS`, or `loci/keys` in the folder for data.
    pub(crate) keys: Option<PathBuf>,
    /// Where MemPalace keeps its files.
    pub(crate) mempalace: MempalaceInstallation,
    /// Where plug-ins are looked for.
    pub(crate) plugins: PluginFolders,
    /// Whether there is a screen on which a browser can open a window.
    pub(crate) has_display: bool,
    /// Whether to print without color: `NO_COLOR` is set, or the terminal is dumb.
    pub(crate) plain: bool,
}

impl ProcessEnvironment {
    /// Reads the environment. An empty variable counts as not set.
    pub(crate) fn read() -> Self {
        // A variable that a script cleared with `LOCI_PALACE=` must not name a palace without a name.
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let data = etcetera::base_strategy::choose_native_strategy()
            .ok()
            .map(|strategy| strategy.data_dir());
        let settings = etcetera::base_strategy::choose_native_strategy()
            .ok()
            .map(|strategy| strategy.config_dir());
        let home = etcetera::home_dir().ok();
        let codex = home.as_ref().map(|home| home.join(".codex"));
        let usual = data.as_ref().map(|data| data.join("loci").join("models"));
        let usual_keys = data.as_ref().map(|data| data.join("loci").join("keys"));
        Self {
            keys: set("LOCI_KEYS").map(PathBuf::from).or(usual_keys),
            models: set("LOCI_MODELS").map(PathBuf::from).or(usual),
            palace: set("LOCI_PALACE"),
            // A name that is not UTF-8 belongs to no backend and is refused later, with the list of known ones.
            backend: set("LOCI_BACKEND").map(|name| name.to_string_lossy().into_owned()),
            plugins: PluginFolders::new(settings.as_deref(), set("PATH").as_deref()),
            data,
            codex: set("CODEX_HOME").map(PathBuf::from).or(codex),
            mempalace: MempalaceInstallation {
                home: home.clone(),
                named_folder: set("MEMPALACE_CONFIG_DIR").map(PathBuf::from),
                config_home: set("XDG_CONFIG_HOME").map(PathBuf::from),
                palaces: MEMPALACE_PATHS
                    .iter()
                    .filter_map(|name| set(name))
                    .map(PathBuf::from)
                    .collect(),
            },
            home,
            has_display: set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some(),
            plain: set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb"),
        }
    }
}

/// The present time.
pub(crate) fn now() -> Timestamp {
    // A clock before 1970 counts as 1970: commands that only read must work on a machine with a dead battery.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(0);
    Timestamp::from_micros(micros).expect("the clock shows a year that times can have")
}
