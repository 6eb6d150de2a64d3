//! Folders that are expensive to make: made by the first test of a build that needs them, read by all others.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Returns the folder `name`, which `make` fills the first time any test of this build asks for it.
///
/// Tests in other processes share it, so it must not be changed. A new build makes it again.
#[track_caller]
pub fn made_once(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // The time of the build tells binaries of one name apart; a stale fixture would test yesterday's code.
    let modified = fs::metadata(&test).unwrap().modified().unwrap();
    let built = modified.duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let program = test.file_name().unwrap().to_string_lossy().into_owned();
    let place = test.with_file_name("made-once").join(program);
    made_in(&place, &built.to_string(), name, make)
}

/// Does the same below `place`, and removes the folders of builds other than `built`.
fn made_in(place: &Path, built: &str, name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    fs::create_dir_all(place).unwrap();
    // Tests run in parallel processes, so only one may check and make; the lock is released with the file. Each folder
    // has its own lock, because making one may need another.
    let lock = File::create(place.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let (own, folder) = (place.join(built), place.join(built).join(name));
    if folder.exists() {
        return folder;
    }
    for entry in fs::read_dir(place).unwrap().flatten() {
        if entry.path().is_dir() && entry.path() != own {
            // Another test may be removing it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    // Filled under another name and renamed, so that a test that dies halfway does not leave a folder that
    // looks complete.
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
