//! The new state of a settings file: written beside it, then put in its place in one step.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::Result;
use rustix::io::Errno;

use super::made_folders::{create_folders, remove_empty_folders};
use super::operation_error;
use crate::settings_file::PlannedEdit;

/// The new state of a settings file, not yet in its place. Dropping it leaves no trace.
pub(crate) struct StagedFile<'a> {
    planned: &'a PlannedEdit,
    /// A path beside the settings file: first of the new file, then of the old one.
    partial: PathBuf,
    /// Whether the file at that path holds text that is nowhere else.
    keeps_partial: bool,
}

impl<'a> StagedFile<'a> {
    /// Writes the new text beside the settings file, with the same permissions, and makes it durable.
    pub(crate) fn write(planned: &'a PlannedEdit) -> Result<Self> {
        let state = &planned.state;
        let staged = Self {
            planned,
            partial: partial_path(&state.target),
            keeps_partial: false,
        };
        // A removal needs no new file: the old one is moved to the partial path and compared there.
        if let Some(after) = &planned.edit.after {
            create_folders(state.folder(), &state.root)
                .map_err(|cause| operation_error("create the folder", state.folder(), cause))?;
            write_durably(&staged.partial, after, &state.target).map_err(|cause| {
                operation_error("write beside", &state.target, cause).with_hint("the file is unchanged")
            })?;
        }
        Ok(staged)
    }

    /// Keeps a copy of the text if that is the original.
    pub(crate) fn back_up_original(&self) -> Result<()> {
        let state = &self.planned.state;
        let Some(text) = state.text.as_ref().filter(|_| self.planned.keeps_original) else {
            return Ok(());
        };
        let backup = state.backup_path();
        let partial = partial_path(&backup);
        // The same way as the settings: a backup that is cut short would be worse than none.
        let written =
            write_durably(&partial, text, &state.target).and_then(|()| fs::rename(&partial, &backup));
        written.map_err(|cause| {
            let _ = fs::remove_file(&partial);
            operation_error("write the backup", &backup, cause).with_hint("the settings file is unchanged")
        })
    }

    /// Puts the new state in place and removes a backup that is no longer needed. False if another program
    /// changed the file since it was read; then that change is in place.
    pub(crate) fn place_file(mut self) -> Result<bool> {
        let state = &self.planned.state;
        // A file that is known to have changed is not touched at all.
        if !state.is_unchanged_at(&state.target) {
            return Ok(false);
        }
        let placed = self.put_in_place()?;
        if placed {
            // The new state is in place even where its folder cannot be synced.
            let _ = File::open(state.folder()).and_then(|folder| folder.sync_all());
            state.remove_backup(self.planned.edit.after.as_deref());
        }
        Ok(placed)
    }

    /// Takes the step. A comparison followed by a plain rename would lose a change made between the two, so
    /// each step either fails where a file is in its way, or takes the old file out to be compared and put
    /// back.
    fn put_in_place(&mut self) -> Result<bool> {
        let state = &self.planned.state;
        // A file that did not exist is only created, so there is nothing to put back.
        let is_removal = self.planned.edit.after.is_none();
        let (is_done, way_back) = if state.text.is_none() {
            (self.create_target(), None)
        } else if is_removal {
            (self.take_target(), Some(RenameMode::NoReplace))
        } else {
            (self.exchange_target(), Some(RenameMode::Exchange))
        };
        let is_done = is_done.map_err(|cause| {
            operation_error("write", &state.target, cause)
                .with_hint("this file is unchanged; run the same command again, or undo with --undo")
        })?;
        // Without exchange there is no old file: the plain rename has replaced it.
        let is_taken = is_done && self.partial.exists();
        match way_back {
            Some(mode) if is_taken && !state.is_unchanged_at(&self.partial) => {
                self.put_back(mode).map(|()| false)
            }
            _ => Ok(is_done),
        }
    }

    /// Moves the new file to its place unless a file is there.
    fn create_target(&self) -> io::Result<bool> {
        let target = &self.planned.state.target;
        match rename_with(&self.partial, target, RenameMode::NoReplace) {
            Err(Errno::EXIST) => Ok(false),
            Err(cause) if is_unsupported(cause) => fs::rename(&self.partial, target).map(|()| true),
            renamed => renamed.map(|()| true).map_err(io::Error::from),
        }
    }

    /// Swaps the new file and the settings file.
    fn exchange_target(&self) -> io::Result<bool> {
        let target = &self.planned.state.target;
        match rename_with(&self.partial, target, RenameMode::Exchange) {
            // The file was removed since it was read, which is a change like any other.
            Err(Errno::NOENT) => Ok(false),
            Err(cause) if is_unsupported(cause) => fs::rename(&self.partial, target).map(|()| true),
            renamed => renamed.map(|()| true).map_err(io::Error::from),
        }
    }

    /// Moves the settings file out of its place.
    fn take_target(&self) -> io::Result<bool> {
        match fs::rename(&self.planned.state.target, &self.partial) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
            renamed => renamed.map(|()| true),
        }
    }

    /// Puts a settings file back that turned out to have changed.
    fn put_back(&mut self, mode: RenameMode) -> Result<()> {
        let target = &self.planned.state.target;
        let renamed = match rename_with(&self.partial, target, mode) {
            // A file written meanwhile is newer than the one that was taken out.
            Err(Errno::EXIST) => Ok(()),
            Err(cause) if is_unsupported(cause) => fs::rename(&self.partial, target),
            renamed => renamed.map_err(io::Error::from),
        };
        renamed.map_err(|cause| {
            self.keeps_partial = true;
            let hint = format!("its text is in {}", self.partial.display());
            operation_error("put back", target, cause).with_hint(hint)
        })
    }
}

impl Drop for StagedFile<'_> {
    fn drop(&mut self) {
        let state = &self.planned.state;
        if !self.keeps_partial {
            let _ = fs::remove_file(&self.partial);
        }
        // Runs after a success as well: an undo may have removed the last file of a folder that we created.
        remove_empty_folders(state.folder(), &state.root);
    }
}

/// A rename that takes care of a file at its destination.
#[derive(Debug, Clone, Copy)]
enum RenameMode {
    /// Swaps the two files.
    Exchange,
    /// Fails if the destination exists.
    NoReplace,
}

#[cfg(any(target_vendor = "apple", target_os = "linux", target_os = "android"))]
fn rename_with(from: &Path, to: &Path, mode: RenameMode) -> rustix::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let flags = match mode {
        RenameMode::Exchange => RenameFlags::EXCHANGE,
        RenameMode::NoReplace => RenameFlags::NOREPLACE,
    };
    renameat_with(CWD, from, CWD, to, flags)
}

#[cfg(not(any(target_vendor = "apple", target_os = "linux", target_os = "android")))]
fn rename_with(_: &Path, _: &Path, _: RenameMode) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

/// Whether the system or the file system lacks such renames. A plain rename must do there.
fn is_unsupported(cause: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&cause)
}

/// A hidden name beside `path` that no other process or thread uses.
fn partial_path(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{number}.partial", std::process::id()));
    path.with_file_name(name)
}

/// Writes a new file with the permissions of `model`, if that exists, and syncs it.
fn write_durably(path: &Path, text: &str, model: &Path) -> io::Result<()> {
    let permissions = fs::metadata(model).ok().map(|metadata| metadata.permissions());
    // A file of that name was left behind by a process that died.
    let _ = fs::remove_file(path);
    let mut options = File::options();
    options.write(true).create_new(true);
    // Settings may hold secrets: until the file has its permissions, other users must not read it.
    if permissions.is_some() {
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::JsonEntry;
    use crate::json::JsonValue;
    use crate::settings_file::SettingsFile;

    const ENTRY: &str = "{\"servers\": {\"loci\": {\"command\": \"loci\"}}}";

    fn settings(path: &Path) -> SettingsFile {
        let fields = vec![("command".to_owned(), JsonValue::text("loci"))];
        let list = "servers";
        SettingsFile::json(path.to_owned(), [JsonEntry::Server { list, fields }])
    }

    /// Puts a text, or nothing, at `path`.
    fn put(path: &Path, text: Option<&str>) {
        let _ = fs::remove_file(path);
        if let Some(text) = text {
            fs::write(path, text).unwrap();
        }
    }

    /// Changes the file between the plan and `step`: that change must be in place, and nothing else beside
    /// it.
    #[track_caller]
    fn check(undo: bool, before: Option<&str>, meanwhile: Option<&str>, step: fn(StagedFile<'_>) -> bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        put(&path, before);
        let settings = settings(&path);
        let plan = if undo {
            settings.plan_undo(folder.path())
        } else {
            settings.plan_connect(folder.path())
        };
        let planned = plan.unwrap();
        let staged = StagedFile::write(&planned).unwrap();
        put(&path, meanwhile);
        assert!(!step(staged), "{before:?} {meanwhile:?}");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), meanwhile);
        let files = fs::read_dir(folder.path()).unwrap();
        assert_eq!(files.count(), usize::from(meanwhile.is_some()));
    }

    #[test]
    fn a_change_by_another_program_is_never_lost() {
        let steps: [fn(StagedFile<'_>) -> bool; 2] = [
            |staged| staged.place_file().unwrap(),
            // The change comes after the check, right before the step itself.
            |mut staged| staged.put_in_place().unwrap(),
        ];
        for step in steps {
            check(false, Some("{\"a\": 1}"), Some("{\"a\": 2}"), step);
            check(false, Some("{}"), None, step);
            check(false, None, Some("{}"), step);
            check(true, Some(ENTRY), Some("{\"a\": 2}"), step);
            check(true, Some(ENTRY), None, step);
        }
    }
}
