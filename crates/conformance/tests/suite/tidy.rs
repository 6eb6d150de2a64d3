//! The house stays as it is drawn: allowed edges, short files, plain names, and the commands the README gives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most lines a source file may have.
const LONGEST_FILE: usize = 500;

/// Which crates of the house each crate may use. An edge that is not drawn is forbidden.
const EDGES: &[(&str, &[&str])] = &[
    ("secrets", &[]),
    ("core", &[]),
    ("index", &["core"]),
    ("store", &["core", "index"]),
    ("embed", &["core"]),
    ("foreign", &["core", "index"]),
    ("mine", &["core", "foreign", "secrets"]),
    ("when", &["core"]),
    ("engine", &["core", "index", "mine", "secrets", "when"]),
    ("migrate", &["core", "engine"]),
    ("benchmark", &["core", "engine", "index"]),
    ("web", &["core", "engine", "migrate"]),
    ("serve", &["core", "engine", "team", "web"]),
    ("connect", &["core"]),
    ("team", &["core"]),
    ("plugin", &["core"]),
    ("conformance", &["core", "plugin"]),
    ("testkit", &[]),
    ("sim", &["core", "store", "testkit"]),
    (
        "cli",
        &[
            "core",
            "store",
            "embed",
            "engine",
            "conformance",
            "migrate",
            "benchmark",
            "serve",
            "connect",
            "chroma",
            "chroma-server",
            "memtomem",
            "mempalace",
            "plugin",
            "postgres",
            "team",
            "web",
        ],
    ),
    ("backends", &["core", "index", "foreign"]),
    ("distill", &["core", "embed"]),
    (
        "bench",
        &[
            "core",
            "index",
            "store",
            "embed",
            "engine",
            "postgres",
            "plugin",
            "conformance",
            "web",
        ],
    ),
];

/// Names that say nothing about what lives in a file.
const EMPTY_NAMES: [&str; 9] = [
    "util", "utils", "helper", "helpers", "common", "misc", "manager", "data", "mod",
];

/// Where `unsafe` may stand: kernels, mapped files, the file layer, and tests that must ask SQLite itself.
const UNSAFE: [&str; 7] = [
    "crates/embed/src/minilm/kernel.rs",
    "crates/embed/src/minilm/mapping.rs",
    "crates/index/src/kernel",
    "crates/sim/src/vfs",
    "crates/store/src/vfs",
    "crates/store/src/plans.rs",
    "crates/store/tests/store/power/",
];

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate lies two folders below the root")
        .to_path_buf()
}

/// Every file below `folder` with this ending, without built and hidden folders.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "target" && name != "corpus" && !name.starts_with('.') {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

pub(super) fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    files(&root, ".rs", &mut found);
    assert!(found.len() > 50, "the sources were not found");
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let name = path
                .strip_prefix(&root)
                .expect("found below the root")
                .to_string_lossy()
                .into_owned();
            (name, fs::read_to_string(path).expect("a source file is text"))
        })
        .collect()
}

pub(super) fn complain(what: &str, offenders: Vec<String>) {
    assert!(offenders.is_empty(), "{what}:\n{}", offenders.join("\n"));
}

/// The lines of one section of a Cargo.toml.
fn section<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let header = format!("[{name}]");
    let after = manifest.lines().skip_while(|line| line.trim() != header).skip(1);
    after.take_while(|line| !line.starts_with('[')).collect()
}

fn manifests() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    files(&root, "Cargo.toml", &mut found);
    let manifests = found.into_iter().filter(|path| *path != root.join("Cargo.toml"));
    manifests
        .filter_map(|path| {
            let folder = path.parent()?;
            let name = folder.file_name()?.to_string_lossy().into_owned();
            let backend = folder.parent()?.ends_with("backends");
            Some((
                if backend { "backends".to_owned() } else { name },
                fs::read_to_string(&path).ok()?,
            ))
        })
        .collect()
}

#[test]
fn crates_use_only_the_edges_that_are_drawn() {
    let drawn: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    let mut offenders = Vec::new();
    for (name, manifest) in manifests().into_iter().filter(|(name, _)| name != "fuzz") {
        let Some(allowed) = drawn.get(name.as_str()) else {
            offenders.push(format!("{name} is not drawn"));
            continue;
        };
        let used = used_crates(&manifest);
        let undrawn = used.iter().filter(|used| !allowed.contains(&used.as_str()));
        offenders.extend(undrawn.map(|used| format!("{name} uses {used}")));
        if !section(&manifest, "lints").contains(&"workspace = true") {
            offenders.push(format!("{name} does not keep the workspace's lints"));
        }
    }
    complain("edges that are not drawn", offenders);
}

/// The crates of the house that a crate uses, from its Cargo.toml.
fn used_crates(manifest: &str) -> BTreeSet<String> {
    let lines = section(manifest, "dependencies").into_iter();
    let names = lines.filter_map(|line| line.strip_prefix("loci-")?.split(['.', ' ', '=']).next());
    names.map(str::to_owned).collect()
}

/// The crates that the last cell of a row of the map names, or `None` if it allows all.
fn drawn_crates(cell: &str, backends: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let mut drawn = BTreeSet::new();
    for name in cell.split(',').map(str::trim) {
        match name {
            "anything" => return None,
            "none of ours" => {}
            "the backends" => drawn.extend(backends.iter().cloned()),
            name => {
                drawn.insert(name.to_owned());
            }
        }
    }
    Some(drawn)
}

#[test]
fn the_map_shows_the_dependencies_of_every_crate() {
    let root = root();
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let rows: BTreeMap<&str, &str> = page
        .lines()
        .skip_while(|line| !line.starts_with("| crate |"))
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| {
            let folder = line.strip_prefix("| `")?.split('`').next()?;
            Some((folder, line.trim_end_matches(" |").rsplit("| ").next()?))
        })
        .collect();
    let mut found = Vec::new();
    files(&root, "Cargo.toml", &mut found);
    let manifests: BTreeMap<String, String> = found
        .iter()
        .filter(|path| !path.starts_with(root.join("fuzz")))
        .filter_map(|path| {
            let folder = path.parent()?.strip_prefix(&root).ok()?;
            Some((
                folder.to_string_lossy().into_owned(),
                fs::read_to_string(path).ok()?,
            ))
        })
        .filter(|(folder, _)| !folder.is_empty())
        .collect();
    let backends = manifests
        .keys()
        .filter_map(|folder| folder.strip_prefix("backends/"));
    let backends = backends.map(str::to_owned).collect();
    let mut offenders = Vec::new();
    for (folder, manifest) in &manifests {
        let used = used_crates(manifest);
        match rows
            .get(folder.as_str())
            .map(|cell| drawn_crates(cell, &backends))
        {
            None => offenders.push(format!("{folder} has no row")),
            Some(Some(drawn)) if drawn != used => {
                offenders.push(format!("{folder}: the map says {drawn:?}, Cargo.toml {used:?}"));
            }
            Some(_) => {}
        }
    }
    let gone = rows
        .keys()
        .filter(|folder| !root.join(folder).join("Cargo.toml").exists());
    offenders.extend(gone.map(|folder| format!("{folder} is not there")));
    complain("the map in ARCHITECTURE.md is not true", offenders);
}

#[test]
fn files_are_short_and_say_what_lives_in_them() {
    let mut offenders = Vec::new();
    for (name, text) in sources() {
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            offenders.push(format!("{name}: {lines} lines"));
        }
        if !text.starts_with("//! ") {
            offenders.push(format!("{name}: does not begin with a //! sentence"));
        }
    }
    complain("files out of shape", offenders);
}

#[test]
fn names_say_something() {
    let nameless = |name: &str| {
        let path = Path::new(name);
        let parts = path.with_extension("");
        parts
            .components()
            .any(|part| EMPTY_NAMES.contains(&part.as_os_str().to_string_lossy().as_ref()))
    };
    complain(
        "empty names",
        sources()
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| nameless(name))
            .collect(),
    );
}

#[test]
fn unsafe_stands_only_in_kernels_and_the_file_layer() {
    let word = ["unsafe ", "{"].concat();
    let allowed = |name: &str| UNSAFE.iter().any(|place| name.starts_with(place));
    let offenders = sources()
        .into_iter()
        .filter(|(name, text)| !allowed(name) && text.contains(&word));
    complain(
        "unsafe where it may not stand",
        offenders.map(|(name, _)| name).collect(),
    );
}

#[test]
fn no_test_is_silenced_and_nothing_is_left_to_do() {
    let silenced = [
        ["#[ig", "nore"].concat(),
        ["#[should", "_panic"].concat(),
        ["to", "do!("].concat(),
    ];
    let mut offenders = Vec::new();
    for (name, text) in sources() {
        offenders.extend(
            silenced
                .iter()
                .filter(|mark| text.contains(mark.as_str()))
                .map(|mark| format!("{name}: {mark}")),
        );
    }
    complain("silenced tests or stubs", offenders);
}

#[test]
fn continuous_integration_runs_the_readmes_test_command_and_nothing_else() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap_or_default();
    let script = read(".ci/run");
    let commands: Vec<&str> = script
        .lines()
        .filter(|line| {
            !line.starts_with('#')
                && !line.starts_with("set ")
                && !line.starts_with("cd ")
                && !line.is_empty()
        })
        .collect();
    let [command] = commands.as_slice() else {
        panic!(".ci/run has other commands: {commands:?}")
    };
    let readme = read("README.md");
    assert!(
        readme.lines().any(|line| line == *command),
        "the README does not give the command {command:?}"
    );
}
