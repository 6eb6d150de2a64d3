//! The folders that `bash scripts/prepare` fills for tests: model weights, real ChromaDB folders and servers, MCP clients,
//! Postgres servers, a browser.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One of the prepared folders.
struct PreparedFolder {
    /// The environment variable that overrides its location.
    variable: &'static str,
    /// Its path below the target folder.
    place: &'static str,
    /// A file that exists only once the folder is complete.
    proof: &'static str,
    /// A description of its content, for messages.
    holds: &'static str,
}

/// Returns the folder with the weights of the full model.
#[track_caller]
pub fn minilm_folder() -> PathBuf {
    find_prepared(&PreparedFolder {
        variable: "LOCI_TEST_MINILM",
        place: "models/minilm",
        proof: "model.safetensors",
        holds: "the weights of the full model",
    })
}

/// Returns the folder with data written by releases of ChromaDB.
#[track_caller]
pub fn chroma_folder() -> PathBuf {
    find_prepared(&PreparedFolder {
        variable: "LOCI_TEST_CHROMA",
        place: "chroma",
        proof: "left-out",
        holds: "the folders that releases of ChromaDB write",
    })
}

/// Returns the folder with the official MCP clients.
#[track_caller]
pub fn mcp_clients_folder() -> PathBuf {
    find_prepared(&PreparedFolder {
        variable: "LOCI_TEST_MCP",
        place: "mcp-clients",
        proof: "node/bin/node",
        holds: "the official MCP clients",
    })
}

/// Returns the folder that names the browser and holds axe-core.
#[track_caller]
pub(crate) fn browser_folder() -> PathBuf {
    find_prepared(&PreparedFolder {
        variable: "LOCI_TEST_BROWSER",
        place: "browser",
        proof: "complete",
        holds: "a browser and axe-core",
    })
}

/// Returns the folder with the programs of the Postgres servers and an initialised data folder.
#[track_caller]
pub(crate) fn postgres_folder() -> PathBuf {
    find_prepared(&PreparedFolder {
        variable: "LOCI_TEST_POSTGRES",
        place: "postgres",
        proof: "complete",
        holds: "the programs of the Postgres servers",
    })
}

/// Returns the folder with the packages of Chroma's servers.
#[track_caller]
pub(crate) fn chroma_server_folder() -> PathBuf {
    find_prepared(&PreparedFolder {
        variable: "LOCI_TEST_CHROMA_SERVER",
        place: "chroma-server",
        proof: "complete",
        holds: "the packages of Chroma's servers",
    })
}

/// Returns a Python command with the package of a release of ChromaDB.
#[track_caller]
pub fn chroma_python(release: &str) -> Command {
    let folder = chroma_folder();
    let mut command = prepared_python(&folder.join(format!("venv-{release}")), &folder);
    command.env("ANONYMIZED_TELEMETRY", "False");
    command
}

/// Returns a Python command with the official MCP client and an otherwise empty environment.
#[track_caller]
pub fn mcp_python() -> Command {
    let folder = mcp_clients_folder();
    let mut command = prepared_python(&folder.join("venv"), &folder);
    command
        .env_clear()
        .env("PYTHONPYCACHEPREFIX", folder.join("pycache"));
    command
}

/// Returns a Python command that caches compiled modules in the prepared folder: compiling imports is half the cost of a
/// short script, and the source tree stays free of caches.
fn prepared_python(environment: &Path, prepared: &Path) -> Command {
    let mut command = Command::new(environment.join("bin/python"));
    command
        .env_remove("PYTHONDONTWRITEBYTECODE")
        .env("PYTHONPYCACHEPREFIX", prepared.join("pycache"));
    command
}

/// Returns the releases of ChromaDB that the installed Python cannot run, each with the reason.
#[track_caller]
pub fn left_out_releases() -> Vec<(String, String)> {
    let list = std::fs::read_to_string(chroma_folder().join("left-out")).unwrap_or_default();
    let pairs = list.lines().filter_map(|line| line.split_once(' '));
    pairs
        .map(|(release, reason)| (release.to_owned(), reason.to_owned()))
        .collect()
}

#[track_caller]
fn find_prepared(wanted: &PreparedFolder) -> PathBuf {
    let named = std::env::var_os(wanted.variable).map(PathBuf::from);
    match choose_folder(wanted, named, &target_folders()) {
        Ok(folder) => folder,
        // Missing preparation fails the test: a skipped one would look like a pass.
        Err(sentence) => panic!("{sentence}"),
    }
}

/// Returns the named folder, or the first complete one below `targets`; otherwise a message with the command to run.
fn choose_folder(
    wanted: &PreparedFolder,
    named: Option<PathBuf>,
    targets: &[PathBuf],
) -> Result<PathBuf, String> {
    let PreparedFolder {
        variable,
        place,
        proof,
        holds,
    } = wanted;
    let is_whole = |folder: &PathBuf| folder.join(proof).exists();
    // A variable that is set must be right; falling back would test something else than the user asked for.
    if let Some(folder) = named {
        return is_whole(&folder).then_some(folder).ok_or_else(|| {
            format!("{variable} names a folder without {holds}; run `bash scripts/prepare`, or unset it")
        });
    }
    let places = targets.iter().map(|target| target.join(place));
    places
        .into_iter()
        .find(is_whole)
        .ok_or_else(|| format!("{holds} are not there yet; run `bash scripts/prepare` once"))
}

/// Returns the build folders: the one this test was built in, then the defaults of cargo and of the scripts.
fn target_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = root.ancestors().nth(2).unwrap_or(root);
    let mut folders = Vec::new();
    if let Ok(test) = std::env::current_exe() {
        // Cargo puts this tag into the root of each target folder.
        let built = test
            .ancestors()
            .find(|folder| folder.join("CACHEDIR.TAG").exists());
        folders.extend(built.map(Path::to_owned));
    }
    folders.extend([root.join("target"), root.join("../loci-target")]);
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: PreparedFolder = PreparedFolder {
        variable: "LOCI_TEST_SOMETHING",
        place: "some/thing",
        proof: "whole",
        holds: "some things",
    };

    #[test]
    fn the_folder_a_variable_names_goes_before_those_in_target_folders() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        for place in [
            first.join("some/thing"),
            second.join("some/thing"),
            folder.path().join("own"),
        ] {
            std::fs::create_dir_all(&place).unwrap();
            if !place.starts_with(&first) {
                std::fs::write(place.join("whole"), "").unwrap();
            }
        }
        let targets = [first, second.clone()];
        assert_eq!(
            choose_folder(&WANTED, None, &targets),
            Ok(second.join("some/thing"))
        );
        let own = folder.path().join("own");
        assert_eq!(choose_folder(&WANTED, Some(own.clone()), &targets), Ok(own));
    }

    #[test]
    fn a_missing_folder_is_one_sentence_that_names_the_command() {
        for named in [None, Some(PathBuf::from("/nowhere"))] {
            let sentence = choose_folder(&WANTED, named, &[]).unwrap_err();
            assert!(sentence.contains("some things"), "{sentence}");
            assert!(sentence.contains("`bash scripts/prepare`"), "{sentence}");
        }
    }

    #[test]
    fn this_test_knows_the_target_folder_it_was_built_in() {
        let test = std::env::current_exe().unwrap();
        assert!(test.starts_with(&target_folders()[0]), "{:?}", target_folders());
    }
}
