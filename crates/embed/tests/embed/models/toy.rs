//! A model small enough for a test, and the zips and folders it comes in.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use loci_embed::models::{
    CatalogueModel, InstallOutcome, InstallSource, InstallStage, ModelFolder, PinnedFile, known_models,
};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A folder for one test, with models in one corner of it.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) models: ModelFolder,
}

/// The toy's files.
pub(crate) fn files() -> Vec<(&'static str, Vec<u8>)> {
    let weights = (0..300_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    vec![
        ("config.json", b"{\"layers\": 2}".to_vec()),
        ("weights.bin", weights),
        ("1_Pooling/config.json", b"{\"mean\": true}".to_vec()),
    ]
}

fn model() -> CatalogueModel {
    let pin = |(path, bytes): (&str, Vec<u8>)| PinnedFile {
        path: path.to_owned(),
        size: bytes.len() as u64,
        sha256: sha256(&bytes),
    };
    CatalogueModel {
        name: "toy".to_owned(),
        licence: "CC0-1.0".to_owned(),
        package: None,
        files: files().into_iter().map(pin).collect(),
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Place {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let known = known_models().into_iter().chain([model()]).collect();
        let models = ModelFolder::with_catalogue(home.path().join("deep/models"), known);
        Self { home, models }
    }

    /// A zip of these files in the home folder.
    pub(crate) fn zip(&self, name: &str, files: &[(impl AsRef<str>, impl AsRef<[u8]>)]) -> PathBuf {
        let path = self.home.path().join(name);
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        for (name, bytes) in files {
            zip.start_file(name.as_ref(), SimpleFileOptions::default())
                .unwrap();
            zip.write_all(bytes.as_ref()).unwrap();
        }
        zip.finish().unwrap();
        path
    }

    /// The toy as a wheel would bring it: below folders, beside other files.
    pub(crate) fn wheel(&self) -> PathBuf {
        let mut all = vec![
            ("toy/__init__.py".to_owned(), b"raise".to_vec()),
            ("toy/config.json".to_owned(), b"another".to_vec()),
        ];
        all.extend(
            files()
                .into_iter()
                .map(|(name, bytes)| (format!("toy/model/{name}"), bytes)),
        );
        self.zip("toy.whl", &all)
    }

    /// The toy in a folder below `name`.
    pub(crate) fn unpacked(&self, name: &str) -> PathBuf {
        let path = self.home.path().join(name);
        for (name, bytes) in files() {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        path
    }

    pub(crate) fn install(&self, from: &Path) -> loci_core::Result<InstallOutcome> {
        self.models.install_model(
            "toy",
            &InstallSource::Path(from.to_owned()),
            &mut |_, _, _: InstallStage| {},
        )
    }

    /// Returns the folder of the installed toy.
    pub(crate) fn toy(&self) -> PathBuf {
        self.models.folder().join("toy")
    }

    /// Lists the models folder without the lock.
    pub(crate) fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.models.folder()) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| name != ".lock");
        names.sort();
        names
    }

    /// Asserts that the toy is there byte for byte, and nothing else.
    pub(crate) fn assert_whole(&self) {
        assert_eq!(self.names(), ["toy"]);
        for (name, bytes) in files() {
            assert!(
                fs::read(self.toy().join(name)).unwrap() == bytes,
                "{name} differs"
            );
        }
        assert!(
            self.models
                .verify_model("toy")
                .unwrap()
                .iter()
                .all(|finding| finding.is_good())
        );
    }
}
