//! A whole export of Slack, as a folder and as a zip.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{bundle_format, check, folder, read_bundle, render};

fn read(path: &Path) -> String {
    let (conversations, notes) = read_bundle(bundle_format("slack"), path);
    render::named(&conversations, &notes)
}

pub(crate) fn export() -> PathBuf {
    folder().join("slack/export")
}

const INSIDE: [&str; 7] = [
    "D1/2024-05-06.json",
    "channels.json",
    "dms.json",
    "general/2024-05-06.json",
    "general/2024-05-07.json",
    "integration_logs.json",
    "users.json",
];

/// Zips the export below a folder of this name.
fn zip_of_export(to: &Path, below: &str) {
    let mut writer = ZipWriter::new(File::create(to).unwrap());
    for name in INSIDE {
        writer
            .start_file(format!("{below}{name}"), SimpleFileOptions::default())
            .unwrap();
        writer.write_all(&fs::read(export().join(name)).unwrap()).unwrap();
    }
    writer
        .start_file(
            format!("__MACOSX/{below}general/2024-05-06.json"),
            SimpleFileOptions::default(),
        )
        .unwrap();
    writer.write_all(b"\0\x05").unwrap();
    writer.finish().unwrap();
}

#[test]
fn an_export_is_its_lists_and_days_and_says_what_was_said() {
    let mut files = (bundle_format("slack").files)(&export()).unwrap();
    files.sort();
    let expect: Vec<PathBuf> = INSIDE.iter().map(|name| export().join(name)).collect();
    assert_eq!(files, expect);
    check(&folder().join("slack/export.expected.txt"), &read(&export()));
}

#[test]
fn a_zip_of_an_export_says_the_same_as_its_folder() {
    let place = tempfile::tempdir().unwrap();
    for below in ["", "Team export May 6 2024/"] {
        let zip = place.path().join("export.zip");
        zip_of_export(&zip, below);
        assert_eq!(
            (bundle_format("slack").files)(&zip).unwrap(),
            std::slice::from_ref(&zip)
        );
        assert_eq!(read(&zip), read(&export()), "{below:?}");
    }
    assert_eq!(
        fs::read_dir(place.path()).unwrap().count(),
        1,
        "nothing is unpacked"
    );
}

#[test]
fn a_zip_or_folder_without_slacks_lists_and_days_is_none() {
    let place = tempfile::tempdir().unwrap();
    let zip = place.path().join("other.zip");
    let mut writer = ZipWriter::new(File::create(&zip).unwrap());
    writer
        .start_file("users.json", SimpleFileOptions::default())
        .unwrap();
    writer.finish().unwrap();
    assert_eq!((bundle_format("slack").files)(&zip), None);
    fs::write(place.path().join("broken.zip"), b"PK\x03\x04 and no more").unwrap();
    assert_eq!(
        (bundle_format("slack").files)(&place.path().join("broken.zip")),
        None
    );
    let data = place.path().join("readings");
    fs::create_dir_all(data.join("north")).unwrap();
    fs::write(data.join("users.json"), "[]").unwrap();
    fs::write(data.join("north/2024-05-06.json"), "[{\"celsius\": 5}]").unwrap();
    assert_eq!(
        (bundle_format("slack").files)(&data),
        None,
        "dated files of something else"
    );
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_export_is_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("export");
    fs::create_dir_all(root.join("general")).unwrap();
    fs::copy(export().join("users.json"), root.join("users.json")).unwrap();
    fs::copy(
        export().join("general/2024-05-06.json"),
        root.join("general/2024-05-06.json"),
    )
    .unwrap();
    std::os::unix::fs::symlink(export().join("D1"), root.join("D1")).unwrap();
    std::os::unix::fs::symlink(
        export().join("general/2024-05-07.json"),
        root.join("general/2024-05-07.json"),
    )
    .unwrap();
    assert_eq!((bundle_format("slack").files)(&root).unwrap().len(), 2);
    assert!(!read(&root).contains("Between us"));
}
