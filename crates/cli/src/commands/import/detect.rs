//! The format of a file to import, by its content.

use std::path::Path;

use loci_chroma::ChromaBackend;
use loci_core::{Error, ErrorKind, Result};
use loci_memtomem::MemtomemDatabase;
use loci_store::EmbeddedBackend;

use super::memtomem::MemtomemMemory;
use crate::escape::quote_for_shell;
use crate::input::is_sqlite_file;
use crate::registry::BackendRegistry;

/// The format of a file.
pub(super) enum ImportFormat {
    /// Lines of JSON, as `loci export` writes them.
    JsonLines,
    /// A memtomem database.
    Memtomem(Box<MemtomemMemory>),
}

/// Detects the format of the file at `path`. The error for a palace names the command that takes it.
pub(super) fn detect_format(path: &Path, registry: &BackendRegistry) -> Result<ImportFormat> {
    if path.is_dir() {
        return Err(refuse_folder(path, registry));
    }
    // Standard input, pipes and missing files are left to the reader of lines, which reports what is wrong with them.
    if !is_sqlite_file(path) {
        return Ok(ImportFormat::JsonLines);
    }
    if EmbeddedBackend::is_palace_file(path) {
        let message = format!("{} is a palace of Loci, not an export", path.display());
        return Err(refuse(
            message,
            &format!("loci restore {} --palace NAME", quote(path)),
        ));
    }
    let database = match MemtomemDatabase::open(path) {
        Ok(database) => database,
        Err(error) => return Err(explain_database(error, path, registry)),
    };
    // The survey comes first: a database without a readable chunk must not make a palace.
    let memory = MemtomemMemory::survey_database(database, path)?;
    Ok(ImportFormat::Memtomem(Box::new(memory)))
}

fn refuse_folder(path: &Path, registry: &BackendRegistry) -> Error {
    let name = path.display();
    let Some(backend) = registry.recognise(path) else {
        return refuse(
            format!("{name} is a folder, not an export"),
            &format!("loci mine {}", quote(path)),
        );
    };
    let message = if backend == ChromaBackend::NAME {
        format!("{name} is a ChromaDB folder, not an export")
    } else {
        format!("{name} is a palace of Loci, not an export")
    };
    refuse(message, &format!("loci migrate --from {} --to NAME", quote(path)))
}

/// Explains why a database is not imported. Chroma's is known by the folder it is in.
fn explain_database(error: Error, path: &Path, registry: &BackendRegistry) -> Error {
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return error,
    };
    // Chroma needs the graph files beside its database, so the whole folder is what to migrate.
    if registry.recognise(folder) == Some(ChromaBackend::NAME) {
        let message = format!("{} is a ChromaDB database, not an export", path.display());
        let command = format!("loci migrate --from {} --to NAME", quote(folder));
        return refuse(message, &command);
    }
    if error.kind() == ErrorKind::Format {
        return error.with_hint(
            "nothing was imported; loci imports its own exports (JSON lines) and memtomem databases",
        );
    }
    error
}

fn refuse(message: String, command: &str) -> Error {
    Error::invalid(message).with_hint(format!("nothing was imported; type `{command}`"))
}

fn quote(path: &Path) -> String {
    quote_for_shell(&path.to_string_lossy())
}
