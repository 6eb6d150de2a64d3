//! Built-in lists of what is left out: third-party code, generated files, lock files, palaces.

use std::path::Path;

use super::listing::FolderListing;
use crate::stat::read_whole;

/// Folders of version control systems.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Folders of third-party code or generated files, at any depth. Sorted.
const FOLDERS: [&str; 18] = [
    ".cache",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".pytest_cache",
    ".ruff_cache",
    ".terraform",
    ".tox",
    ".venv",
    "Carthage",
    "Pods",
    "__pycache__",
    "bower_components",
    "elm-stuff",
    "node_modules",
    "site-packages",
];

/// Files that mark a `vendor` folder beside them as third-party code.
const VENDORING: [&str; 3] = ["Cargo.toml", "composer.json", "go.mod"];

/// Lock files of package managers. Sorted.
const LOCK_FILES: [&str; 22] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// The database file of a palace.
const PALACE: &str = "palace.db";

/// The first bytes that make a `CACHEDIR.TAG` valid, by the Cache Directory Tagging Specification.
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Returns whether this is the name of a version control folder.
pub(super) fn is_version_control(name: &str) -> bool {
    VERSION_CONTROL.contains(&name)
}

/// Returns whether a folder of this name is vendored, given the files beside it.
pub(super) fn is_vendored_name(name: &str, beside: &FolderListing) -> bool {
    FOLDERS.binary_search(&name).is_ok()
        // `vendor` alone may well be a folder about vendors.
        || (name == "vendor" && VENDORING.iter().any(|file| beside.holds_file(file)))
}

/// Returns whether a folder is vendored by its content: a cache, a Python environment, a Rust build.
pub(super) fn is_vendored_folder(folder: &Path, listing: &FolderListing) -> bool {
    let tagged = listing.holds_file("CACHEDIR.TAG");
    listing.holds_file("pyvenv.cfg")
        // Cargo's folder is recognised without reading its tag; `target` alone is too common a name to go by.
        || (folder.ends_with("target") && (tagged || listing.holds_file(".rustc_info.json")))
        || (tagged && is_cache(&folder.join("CACHEDIR.TAG")))
}

fn is_cache(tag: &Path) -> bool {
    read_whole(tag, 64 << 10).is_ok_and(|(bytes, _)| bytes.starts_with(CACHE_SIGNATURE))
}

/// Returns whether this is the name of a lock file.
pub(super) fn is_lock_file(name: &str) -> bool {
    LOCK_FILES.binary_search(&name).is_ok()
}

/// Returns whether this folder holds a palace.
pub(super) fn is_palace(listing: &FolderListing) -> bool {
    listing.holds_file(PALACE)
}

/// Returns whether this folder holds a palace, without a listing.
pub(super) fn holds_palace(folder: &Path) -> bool {
    folder.join(PALACE).is_file()
}

/// Returns whether this is the file of a palace or one beside it. Only the store may open such a file: POSIX locks are
/// dropped when any descriptor of the file is closed, so opening it here would release the store's.
pub(super) fn is_palace_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(PALACE.as_bytes()) && path.parent().is_some_and(holds_palace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_to_be_found() {
        assert!(FOLDERS.is_sorted());
        assert!(LOCK_FILES.is_sorted());
    }
}
