//! Folders that are expensive to make: made by the first test of a build that needs them, read by all others.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The folder `name`, which `make` fills the first time any test of this build asks for it.
///
/// Tests that run in processes of their own share it, so nothing may be changed in it. A new build makes it anew.
#[track_caller]
pub fn made_once(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let modified = fs::metadata(&test).unwrap().modified().unwrap();
    let built = modified.duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let program = test.file_name().unwrap().to_string_lossy().into_owned();
    let place = test.with_file_name("made-once").join(program);
    made_in(&place, &built.to_string(), name, make)
}

/// The same below `place`, where what another build than `built` left is removed.
fn made_in(place: &Path, built: &str, name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    fs::create_dir_all(place).unwrap();
    // One test at a time looks and makes; the lock goes with the file. Each folder has its own, since making one may
    // need another.
    let lock = File::create(place.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let (own, folder) = (place.join(built), place.join(built).join(name));
    if folder.exists() {
        return folder;
    }
    for entry in fs::read_dir(place).unwrap().flatten() {
        if entry.path().is_dir() && entry.path() != own {
            // Another test may be removing it, too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let unfinished = own.join(format!("{name}-unfinished"));
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished).unwrap();
    make(&unfinished);
    fs::rename(&unfinished, &folder).unwrap();
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_file(folder: &Path) {
        fs::write(folder.join("file"), "made").unwrap();
    }

    #[test]
    fn a_folder_is_made_once_for_a_build_and_anew_for_the_next() {
        let place = tempfile::tempdir().unwrap();
        let first = made_in(place.path(), "1", "some", write_file);
        let second = made_in(place.path(), "1", "some", |_| panic!("it was there"));
        assert_eq!(first, second);
        assert_eq!(fs::read(first.join("file")).unwrap(), b"made");
        let next = made_in(place.path(), "2", "some", write_file);
        assert!(next.exists() && !first.exists());
    }

    #[test]
    fn a_folder_whose_making_failed_is_made_again() {
        let place = tempfile::tempdir().unwrap();
        let failed = std::panic::catch_unwind(|| made_in(place.path(), "1", "some", |_| panic!("it failed")));
        assert!(failed.is_err());
        assert!(
            made_in(place.path(), "1", "some", write_file)
                .join("file")
                .exists()
        );
    }
}
