//! Registered servers: one file `NAME.json` each, written whole or not at all.

use std::fs::{self, File};
use std::io::{self as stdio, Write};
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};

use super::lock::{FolderLock, ScratchFolder, sync_folder};
use super::{ModelFolder, ServerConfig, io_error};

/// Reserved names, which have another meaning as a model.
const TAKEN: [&str; 3] = ["builtin", "minilm", "none"];

/// The longest name of a server.
const LONGEST_NAME: usize = 64;

/// The ending of the files.
const ENDING: &str = ".json";

impl ModelFolder {
    /// Stores a server under its name; reports whether it replaced an earlier one.
    pub fn register_server(&self, server: &ServerConfig) -> Result<bool> {
        let place = self.server_file(&server.name)?;
        check_variable(server)?;
        let text = serde_json::to_string_pretty(server).map_err(|cause| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot store the server `{}`", server.name),
            )
            .caused_by(cause)
        })?;
        let _lock = FolderLock::acquire_lock(&self.folder, &mut || {})?;
        let scratch = ScratchFolder::new(&self.folder, &server.name)?;
        let ready = scratch.path().join("ready");
        let there = place.symlink_metadata().is_ok();
        let written = write_durably(&ready, &text).and_then(|()| fs::rename(&ready, &place));
        written.map_err(|cause| io_error("cannot write", &place, cause))?;
        sync_folder(&self.folder)?;
        Ok(there)
    }

    /// Reads the configuration of the server of this name.
    pub fn read_server(&self, name: &str) -> Result<ServerConfig> {
        let place = self.server_file(name)?;
        let text = match fs::read_to_string(&place) {
            Ok(text) => text,
            Err(cause) if cause.kind() == stdio::ErrorKind::NotFound => {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("no server is registered as `{name}`"),
                )
                .with_hint("see what there is with `loci model list`"));
            }
            Err(cause) if cause.kind() == stdio::ErrorKind::InvalidData => {
                return Err(unreadable_error(name, &place).caused_by(cause));
            }
            Err(cause) => return Err(io_error("cannot read", &place, cause)),
        };
        let server: ServerConfig =
            serde_json::from_str(&text).map_err(|cause| unreadable_error(name, &place).caused_by(cause))?;
        // A copied or renamed file would answer to a name that its vectors were not registered under.
        if server.name != name {
            return Err(
                unreadable_error(name, &place).caused_by(format!("it says its name is `{}`", server.name))
            );
        }
        Ok(server)
    }

    /// Lists every registered server by name, in order; one that cannot be read does not hide the others.
    pub fn list_servers(&self) -> Result<Vec<(String, Result<ServerConfig>)>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == stdio::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(io_error("cannot read the folder", &self.folder, cause)),
        };
        let files = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = files
            .filter_map(|file| Some(file.strip_suffix(ENDING)?.to_owned()))
            // Other files in the folder, such as notes of the user, are skipped without complaint.
            .filter(|name| check_name(name).is_ok())
            .collect();
        names.sort();
        let read = |name: String| {
            let server = self.read_server(&name);
            (name, server)
        };
        Ok(names.into_iter().map(read).collect())
    }

    /// Returns the file of the server of this name; refuses names that no server may have.
    pub(super) fn server_file(&self, name: &str) -> Result<PathBuf> {
        check_name(name)?;
        Ok(self.folder.join(format!("{name}{ENDING}")))
    }
}

fn write_durably(path: &Path, text: &str) -> stdio::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let wrong = if TAKEN.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
        "that name is reserved"
    } else if name.is_empty() || name.len() > LONGEST_NAME {
        "a name has 1 to 64 characters"
    } else if !name.chars().all(plain) {
        "a name consists of the letters a to z, digits, `-`, `_` and `.`"
    } else if name.starts_with('.') {
        "a name must not begin with a dot"
    } else {
        return Ok(());
    };
    Err(
        Error::invalid(format!("{name:?} is not a valid server name: {wrong}"))
            .with_hint("nothing was changed; choose a name such as `desk`"),
    )
}

/// Refuses an invalid variable name without repeating it: it may be the key itself.
fn check_variable(server: &ServerConfig) -> Result<()> {
    let Some(variable) = &server.key_env else {
        return Ok(());
    };
    let begins = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // A key pasted in place of the variable's name usually fails here, and must not end up in a file or
    // message.
    if begins && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(Error::invalid(format!("the given name of the key variable of `{}` is not a valid variable name", server.name))
        .with_hint("nothing was written; put the key into a variable such as EMBED_KEY and give that name, never the key"))
}

fn unreadable_error(name: &str, place: &Path) -> Error {
    Error::new(ErrorKind::Corrupt, format!("cannot parse {}", place.display())).with_hint(format!(
        "nothing was changed; correct the file, or remove the server `{name}` and register it again"
    ))
}
