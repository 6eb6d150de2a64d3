//! What habit leaves out: other people's code, what tools can make again, lock files, palaces.

use std::path::Path;

use super::listing::Listing;
use crate::stat::read_whole;

/// Folders in which version control keeps its own.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Folders that hold other people's code or can be made again, wherever they lie. Sorted.
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

/// Files that make a `vendor` beside them a copy of other people's code.
const VENDORING: [&str; 3] = ["Cargo.toml", "composer.json", "go.mod"];

/// Files in which package managers keep what they chose. Sorted.
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

/// The file of a palace.
const PALACE: &str = "palace.db";

/// How a file called `CACHEDIR.TAG` must begin to be one.
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Whether this name belongs to version control.
pub(super) fn is_version_control(name: &str) -> bool {
    VERSION_CONTROL.contains(&name)
}

/// Whether a folder of this name is left out, seeing what lies beside it.
pub(super) fn by_name(name: &str, beside: &Listing) -> bool {
    FOLDERS.binary_search(&name).is_ok()
        || (name == "vendor" && VENDORING.iter().any(|file| beside.holds_file(file)))
}

/// Whether a folder is left out for what lies in it: a cache, a Python environment, a Rust build.
pub(super) fn by_content(folder: &Path, listing: &Listing) -> bool {
    let tagged = listing.holds_file("CACHEDIR.TAG");
    listing.holds_file("pyvenv.cfg")
        || (folder.ends_with("target") && (tagged || listing.holds_file(".rustc_info.json")))
        || (tagged && is_cache(&folder.join("CACHEDIR.TAG")))
}

fn is_cache(tag: &Path) -> bool {
    read_whole(tag, 64 << 10).is_ok_and(|(bytes, _)| bytes.starts_with(CACHE_SIGNATURE))
}

/// Whether a file of this name is a package manager's.
pub(super) fn is_lock_file(name: &str) -> bool {
    LOCK_FILES.binary_search(&name).is_ok()
}

/// Whether a palace lies in this folder.
pub(super) fn is_palace(listing: &Listing) -> bool {
    listing.holds_file(PALACE)
}

/// Whether a palace lies in this folder, for one who has not listed it.
pub(super) fn holds_palace(folder: &Path) -> bool {
    folder.join(PALACE).is_file()
}

/// Whether this is the file of a palace or one beside it. Such a file must never be opened but by its store: closing
/// it again would drop the locks this process holds on it.
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
