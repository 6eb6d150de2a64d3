//! Exchanges of the palace's files under running processes: what a user, a script or a backup tool may do to them.
//!
//! The palace's file counts what its log holds, and is not synced for that with every commit: after a power cut it may
//! count less, until the next opener has counted again and waited for the disk. A log that loses its end to the power cut
//! and to a user at once therefore takes commits along that no file knows of, and no check could tell. So a log is taken
//! only after the palace was opened in this life, and after the system has written the file back as it is.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;

use loci_testkit::SeededRandom;

use crate::process::PALACE;
use crate::stock;
use crate::world::SimWorld;

/// One thing done to the files from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileExchange {
    RemoveMemory,
    RemoveLog,
    RemoveBoth,
    CutMemory,
    CutLog,
    /// Renames another palace's file over this one's.
    ReplaceDatabase,
}

impl FileExchange {
    pub(crate) fn choose(random: &mut SeededRandom) -> Self {
        random.pick(&[
            Self::RemoveMemory,
            Self::RemoveLog,
            Self::RemoveBoth,
            Self::CutMemory,
            Self::CutLog,
            Self::ReplaceDatabase,
        ])
    }

    /// Whether it takes a part of the log.
    pub(crate) fn takes_log(self) -> bool {
        matches!(self, Self::RemoveLog | Self::RemoveBoth | Self::CutLog)
    }

    /// Does it, between two calls of the file layer; returns whether there was something to do it to.
    pub(crate) fn carry_out(self, world: &SimWorld) -> bool {
        if self.takes_log() && write_back(world).is_err() {
            return false;
        }
        let done = match self {
            Self::RemoveMemory => remove(world, "palace.db-shm"),
            Self::RemoveLog => remove(world, "palace.db-wal"),
            Self::RemoveBoth => {
                let memory = remove(world, "palace.db-shm");
                remove(world, "palace.db-wal").or(memory)
            }
            Self::CutMemory => cut(world, "palace.db-shm"),
            Self::CutLog => cut(world, "palace.db-wal"),
            Self::ReplaceDatabase => replace(world),
        };
        done.is_ok()
    }
}

fn path_in(world: &SimWorld, name: &str) -> PathBuf {
    world.folder().join(PALACE).join(name)
}

fn name_in(name: &str) -> String {
    format!("{PALACE}/{name}")
}

fn remove(world: &SimWorld, name: &str) -> io::Result<()> {
    fs::remove_file(path_in(world, name))?;
    world.lock().disk.remove_name(&name_in(name));
    Ok(())
}

/// Lets the system write the palace's file back as it shows it, also what a failed sync had lost.
fn write_back(world: &SimWorld) -> io::Result<()> {
    let (path, name) = (path_in(world, "palace.db"), name_in("palace.db"));
    let bytes = fs::read(&path)?;
    let mut state = world.lock();
    let file = state.disk.find_file(&name, &path)?;
    state.disk.write(file, 0, &bytes);
    state.disk.sync(file);
    Ok(())
}

/// Cuts a file to half its length.
fn cut(world: &SimWorld, name: &str) -> io::Result<()> {
    let path = path_in(world, name);
    let length = fs::metadata(&path)?.len() / 2;
    OpenOptions::new().write(true).open(&path)?.set_len(length)?;
    if name.ends_with("-wal") {
        let mut state = world.lock();
        let file = state.disk.find_file(&name_in(name), &path)?;
        state.disk.truncate(file, length);
    }
    Ok(())
}

fn replace(world: &SimWorld) -> io::Result<()> {
    let (path, name) = (path_in(world, "palace.db"), name_in("palace.db"));
    fs::metadata(&path)?;
    let beside = path_in(world, "other.db");
    fs::write(&beside, &stock::other_palace().bytes)?;
    fs::rename(&beside, &path)?;
    let mut state = world.lock();
    state.disk.remove_name(&name);
    // Found in the folder, its bytes are new to the disk; the rename made it last.
    let file = state.disk.find_file(&name, &path)?;
    state.disk.sync(file);
    state.disk.sync_folder(PALACE);
    Ok(())
}
