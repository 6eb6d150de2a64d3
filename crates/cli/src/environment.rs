//! What the environment says, read once.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use etcetera::BaseStrategy;
use loci_core::Timestamp;

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// `LOCI_PALACE`.
    pub(crate) palace: Option<OsString>,
    /// `LOCI_BACKEND`.
    pub(crate) backend: Option<String>,
    /// This platform's folder for data, where a home is known.
    pub(crate) data: Option<PathBuf>,
    /// The user's home, where one is known.
    pub(crate) home: Option<PathBuf>,
    /// The folder of Codex: `CODEX_HOME`, or within the home.
    pub(crate) codex: Option<PathBuf>,
    /// Where models lie: `LOCI_MODELS`, or within this platform's folder for data.
    pub(crate) models: Option<PathBuf>,
    /// Whether color is unwanted: `NO_COLOR` is set or the terminal is dumb.
    pub(crate) plain: bool,
}

impl Environment {
    /// Reads it. Empty variables count as not set.
    pub(crate) fn read() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let data = etcetera::base_strategy::choose_native_strategy()
            .ok()
            .map(|strategy| strategy.data_dir());
        let home = etcetera::home_dir().ok();
        let codex = home.as_ref().map(|home| home.join(".codex"));
        let usual = data.as_ref().map(|data| data.join("loci").join("models"));
        Self {
            models: set("LOCI_MODELS").map(PathBuf::from).or(usual),
            palace: set("LOCI_PALACE"),
            backend: set("LOCI_BACKEND").map(|name| name.to_string_lossy().into_owned()),
            data,
            codex: set("CODEX_HOME").map(PathBuf::from).or(codex),
            home,
            plain: set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb"),
        }
    }
}

/// The moment this is asked.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(0);
    Timestamp::from_micros(micros).expect("the clock shows a year that times can have")
}
