//! `loci backup`: one verified copy of the palace, taken while others write.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::RangedU64ValueParser;
use loci_core::{Backend, Error, ErrorKind, PalaceRef, Result, Severity, SnapshotReport, Timestamp};
use loci_engine::palace::BorrowedAddress;
use loci_migrate::{VerifyRequest, verify};
use serde_json::json;

use crate::errors::{self, Done, Exit};
use crate::output::Output;
use crate::render::drawers;
use crate::session::Session;

/// Copy the palace into one file, and verify the copy
///
/// Others may go on writing. Into a folder, the copy is called palace-<UTC time>.db, and --keep removes the
/// oldest copies of that name once the new one is verified; otherwise DEST is the new file, which must not
/// exist yet.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci backup ~/backups --keep 7\n  loci backup before-the-move.db")]
pub(crate) struct Args {
    /// A folder, or a new file
    #[arg(value_name = "DEST")]
    dest: PathBuf,

    /// Keep only this many copies in the folder; DEST is then a folder, made if it is missing
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    keep: Option<usize>,
}

/// Copies it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let palace = session.palace()?;
    palace.collections()?;
    let palace = palace.address()?;
    let snapshots = palace
        .backend
        .snapshots()
        .ok_or_else(|| cannot(&palace.backend.descriptor().name))?;
    let dest = destination(args)?;
    let mut progress = session.out.progress("parts copied");
    let report = snapshots.backup(&palace.reference, &dest, &mut |done, total| {
        progress.tick(done, Some(total))
    })?;
    let hash = digest(palace.backend.as_ref(), &report.file)?;
    let pruned = match (args.keep, dest.parent()) {
        (Some(keep), Some(folder)) => prune(folder, &dest, keep)?,
        _ => Vec::new(),
    };
    if !session.out.is_json() {
        for file in &pruned {
            session
                .out
                .note(&format!("removed the older copy {}", file.display()));
        }
    }
    let pruned: Vec<String> = pruned
        .iter()
        .map(|file| file.to_string_lossy().into_owned())
        .collect();
    tell(&report, &hash, json!({ "pruned": pruned }), &mut session.out)
}

/// The digest of a copy, read back through the contract: the one that `loci verify` prints.
pub(super) fn digest(backend: &dyn Backend, file: &Path) -> Result<String> {
    let copy = PalaceRef::local(file);
    let address = BorrowedAddress {
        backend,
        reference: &copy,
    };
    let report = verify(address, None, VerifyRequest { sample: 100 }, &mut |_, _| {});
    backend.close_palace(&copy);
    let report = report?;
    match report
        .findings
        .into_iter()
        .find(|finding| finding.severity == Severity::Error)
    {
        None => Ok(report.hash),
        Some(finding) => Err(Error::new(ErrorKind::Corrupt, finding.message).with("file", file.display())),
    }
}

/// The error of a backend that cannot copy palaces.
pub(super) fn cannot(backend: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("the backend {backend:?} does not copy palaces"),
    )
    .hint("write the drawers with `loci export --all --embeddings` instead")
}

/// Says what a copy holds, with `more` for scripts.
pub(super) fn tell(report: &SnapshotReport, hash: &str, more: serde_json::Value, out: &mut Output) -> Done {
    let file = report.file.to_string_lossy();
    if out.is_json() {
        let mut answer = json!({
            "file": file,
            "drawers": report.drawers,
            "hash": hash,
            "verified": report.verified,
        });
        if let (Some(answer), serde_json::Value::Object(more)) = (answer.as_object_mut(), more) {
            answer.extend(more);
        }
        out.json(&answer)?;
    } else {
        out.page(|page| {
            page.bold(&file)
                .plain(&format!("  {}, ", drawers(report.drawers)));
            page.plain(if report.verified {
                "verified"
            } else {
                "not verified"
            });
            page.dim(&format!("  {hash}")).end();
        })?;
    }
    Ok(Exit::found(report.verified))
}

fn destination(args: &Args) -> Result<PathBuf> {
    let dest = &args.dest;
    let ends_as_folder = dest.to_string_lossy().ends_with(std::path::is_separator);
    let is_folder = dest.is_dir() || ends_as_folder || args.keep.is_some();
    if !is_folder {
        let parent = dest.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(missing) = parent.filter(|parent| !parent.is_dir()) {
            let message = format!("there is no folder {}", missing.display());
            return Err(Error::new(ErrorKind::NotFound, message).hint("make it first; nothing was written"));
        }
        return Ok(dest.clone());
    }
    std::fs::create_dir_all(dest)
        .map_err(|cause| errors::io(format!("cannot make the folder {}", dest.display()), cause))?;
    Ok(dest.join(file_name(now()?)))
}

fn now() -> Result<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.ok().and_then(|since| i64::try_from(since.as_micros()).ok());
    Timestamp::from_micros(micros.unwrap_or_default())
}

const BEFORE: &str = "palace-";
const BEHIND: &str = "Z.db";
/// The digits of a moment and what stands between them; names of copies sort as their times do.
const SHAPE: &str = "00000000T000000.000000";

fn file_name(time: Timestamp) -> String {
    let text = time.to_string();
    let text = text.trim_end_matches('Z');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.replace(['-', ':'], "");
    format!("{BEFORE}{whole}.{fraction:0<6}{BEHIND}")
}

/// Whether a file is called as copies in a folder are.
fn is_copy(name: &str) -> bool {
    let moment = name
        .strip_prefix(BEFORE)
        .and_then(|name| name.strip_suffix(BEHIND));
    moment.is_some_and(|moment| {
        let same = |(c, shape): (char, char)| {
            if shape == '0' {
                c.is_ascii_digit()
            } else {
                c == shape
            }
        };
        moment.len() == SHAPE.len() && moment.chars().zip(SHAPE.chars()).all(same)
    })
}

/// Removes all but the newest copies; the one just made always stays.
fn prune(folder: &Path, made: &Path, keep: usize) -> Result<Vec<PathBuf>> {
    let wrong = |cause| {
        errors::io(
            format!("the copy is made, but {} cannot be tidied", folder.display()),
            cause,
        )
    };
    let mut older = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(is_copy) && path != made && path.is_file() {
            older.push(path);
        }
    }
    older.sort();
    older.truncate(older.len().saturating_sub(keep.saturating_sub(1)));
    for path in &older {
        std::fs::remove_file(path).map_err(wrong)?;
    }
    Ok(older)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_named_by_their_moment_and_recognised_by_it() {
        let name = |time: &str| file_name(time.parse().unwrap());
        assert_eq!(name("2026-05-01T09:30:00Z"), "palace-20260501T093000.000000Z.db");
        assert_eq!(
            name("2026-05-01T09:30:00.0125Z"),
            "palace-20260501T093000.012500Z.db"
        );
        assert!(is_copy(&name("2026-05-01T09:30:00.123456Z")));
        for other in [
            "palace.db",
            "palace-x.db",
            "palace-20260501T093000.00000aZ.db",
            "palace-20260501T093000Z.db",
        ] {
            assert!(!is_copy(other), "{other}");
        }
    }

    #[test]
    fn pruning_removes_only_the_oldest_copies() {
        let folder = tempfile::tempdir().unwrap();
        let copy = |second: u32| {
            folder
                .path()
                .join(format!("palace-20260501T0930{second:02}.000000Z.db"))
        };
        for second in 0..4 {
            std::fs::write(copy(second), "").unwrap();
        }
        std::fs::write(folder.path().join("palace-mine.db"), "").unwrap();
        assert_eq!(prune(folder.path(), &copy(3), 2).unwrap(), [copy(0), copy(1)]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
        assert!(copy(3).exists() && copy(2).exists());
    }
}
