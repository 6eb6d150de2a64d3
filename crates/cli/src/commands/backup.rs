//! `loci backup`: one verified copy of the palace, taken while other processes write.

use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use loci_core::{
    Backend, Error, ErrorKind, FindingSeverity, PalaceFinding, PalaceRef, Result, SnapshotReport,
    SnapshotStep, Timestamp,
};
use loci_engine::palace::BorrowedAddress;
use loci_migrate::{VerifyRequest, verify_collections};
use schemars::JsonSchema;
use serde::Serialize;

use crate::environment::now;
use crate::errors::{self, CommandResult, ExitStatus};
use crate::output::TerminalOutput;
use crate::progress::JobProgress;
use crate::render::count_drawers;
use crate::session::CommandSession;

/// Copy the palace into one file, and verify the copy
///
/// Other processes can keep writing. In a folder the copy is named palace-<UTC time>.db, and --keep removes the oldest
/// copies with such a name once the new one is verified. Otherwise DEST is the new file, which must not exist yet.
#[allow(
    rustdoc::invalid_html_tags,
    reason = "the text of --help: a placeholder in brackets"
)]
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci backup ~/backups --keep 7\n  loci backup before-the-move.db")]
pub(crate) struct BackupArgs {
    /// The folder for the copy, or a new file
    #[arg(value_name = "DEST")]
    dest: PathBuf,

    /// Keep only this many copies in the folder; DEST is then a folder, which is created if it is missing
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    keep: Option<usize>,
}

/// A copy of a palace, as it was read back.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct VerifiedCopy {
    /// The file.
    file: String,
    /// The number of drawers in it.
    drawers: u64,
    /// The digest over every drawer, as `loci verify` prints it.
    hash: String,
    /// Whether the copy was verified.
    verified: bool,
}

impl VerifiedCopy {
    /// Combines the report of a backend with the digest of what was read back.
    pub(super) fn new(report: &SnapshotReport, hash: String) -> Self {
        Self {
            file: report.file.to_string_lossy().into_owned(),
            drawers: report.drawers,
            hash,
            verified: report.verified,
        }
    }
}

/// A new copy, and the older ones that it replaces.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BackupReport {
    #[serde(flatten)]
    copy: VerifiedCopy,
    /// The older copies that were removed.
    pruned: Vec<String>,
}

/// Copies the palace and verifies the copy.
pub(crate) fn run(args: &BackupArgs, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    // A missing palace is reported before a folder for its copies is created.
    palace.collections()?;
    let palace = palace.address()?;
    let snapshots = palace
        .backend
        .snapshots()
        .ok_or_else(|| no_snapshots(&palace.backend.descriptor().name))?;
    let dest = choose_destination(args)?;
    let mut progress = session.out.progress(COPYING);
    let report = snapshots.backup(&palace.reference, &dest, &mut |step| {
        show_step(step, &mut progress);
    })?;
    let hash = read_back(session, palace.backend.as_ref(), &report.file, &mut progress)?;
    drop(progress);
    // Older copies go only once the new one has been read back.
    let pruned = match (args.keep, dest.parent()) {
        (Some(keep), Some(folder)) => remove_older(folder, &dest, keep)?,
        _ => Vec::new(),
    };
    if !pruned.is_empty() {
        // A copy that stays listed would be reported as not reached by every `loci forget`.
        snapshots.unlist_copies(&palace.reference, &pruned)?;
    }
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
    let copy = VerifiedCopy::new(&report, hash);
    if session.out.is_json() {
        session.out.write_json(&BackupReport {
            copy: copy.clone(),
            pruned,
        })?;
    }
    print_copy(&copy, &mut session.out)
}

/// The first phase of a backup and of a restore.
pub(super) const COPYING: &str = "pages copied";
const CHECKING: &str = "checks of the copy";

/// Shows a step of a backup or of a restore.
pub(super) fn show_step(step: SnapshotStep, progress: &mut JobProgress) {
    let (phase, done, total) = match step {
        SnapshotStep::Copied(done, total) => (COPYING, done, total),
        SnapshotStep::Verified(done, total) => (CHECKING, done, total),
    };
    progress.begin_phase(phase);
    progress.tick(done, Some(total));
    if matches!(step, SnapshotStep::Copied(..)) && done == total {
        // The first check is reported when it ends, and it may be the longest.
        progress.begin_phase(CHECKING);
    }
}

/// Reads every drawer of a copy back through the contract and returns the hash that `loci verify` prints.
pub(super) fn read_back(
    session: &CommandSession,
    backend: &dyn Backend,
    file: &Path,
    progress: &mut JobProgress,
) -> Result<String> {
    progress.begin_phase("drawers read back");
    let copy = PalaceRef::local(file);
    let address = BorrowedAddress {
        backend,
        reference: &copy,
    };
    // Every drawer is read; a small sample is enough to see that the indexes of the copy answer.
    let request = VerifyRequest { sample: 100 };
    let report = verify_collections(address, None, request, &mut |done, total| {
        progress.tick(done, Some(total));
    });
    // A copy that stays open keeps its log files beside it.
    backend.close_palace(&copy);
    let report = report?;
    let mut grave = report.findings;
    grave.retain(|finding| finding.severity == FindingSeverity::Error);
    // Writes lost before the copy was taken are not a fault of the copy, but its user must know.
    let (lost, faults): (Vec<_>, Vec<_>) = grave
        .into_iter()
        .partition(|finding| finding.code == PalaceFinding::LOST_WRITES);
    session.opened.add_damage(lost);
    match faults.into_iter().next() {
        None => Ok(report.hash),
        Some(finding) => {
            Err(Error::new(ErrorKind::Corrupt, finding.message).with_context("file", file.display()))
        }
    }
}

/// The error of a backend that cannot copy palaces.
pub(super) fn no_snapshots(backend: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("the backend {backend:?} does not copy palaces"),
    )
    .with_hint("copy a server with its own tools (Postgres: `pg_dump -n loci`), or export the drawers: `loci export --all --embeddings`")
}

/// Prints the contents of a copy for people; the two commands print different documents for scripts.
pub(super) fn print_copy(copy: &VerifiedCopy, out: &mut TerminalOutput) -> CommandResult {
    if !out.is_json() {
        out.write_page(|page| {
            page.bold(&copy.file)
                .plain(&format!("  {}, ", count_drawers(copy.drawers)));
            page.plain(if copy.verified { "verified" } else { "not verified" });
            page.dim(&format!("  {}", copy.hash)).end();
        })?;
    }
    Ok(ExitStatus::from_found(copy.verified))
}

fn choose_destination(args: &BackupArgs) -> Result<PathBuf> {
    let dest = &args.dest;
    // A path that ends with a slash means a folder, also where none is there yet.
    let ends_as_folder = dest.to_string_lossy().ends_with(std::path::is_separator);
    let is_folder = dest.is_dir() || ends_as_folder || args.keep.is_some();
    if !is_folder {
        let parent = dest.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(missing) = parent.filter(|parent| !parent.is_dir()) {
            let (problem, next) = if missing.exists() {
                ("is not a folder", "name another place")
            } else {
                ("does not exist", "create it first")
            };
            let message = format!("the folder of the copy, {}, {problem}", missing.display());
            return Err(
                Error::new(ErrorKind::NotFound, message).with_hint(format!("nothing was written; {next}"))
            );
        }
        return Ok(dest.clone());
    }
    std::fs::create_dir_all(dest)
        .map_err(|cause| errors::io_error(format!("cannot create the folder {}", dest.display()), cause))?;
    Ok(dest.join(name_copy(now())))
}

const BEFORE: &str = "palace-";
const BEHIND: &str = "Z.db";
/// The digits of a time and the characters between them. All names have the same length, so they sort by time.
const SHAPE: &str = "00000000T000000.000000";

fn name_copy(time: Timestamp) -> String {
    let text = time.to_string();
    let text = text.trim_end_matches('Z');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.replace(['-', ':'], "");
    format!("{BEFORE}{whole}.{fraction:0<6}{BEHIND}")
}

/// Whether a file has a name that `loci backup` gives to copies. Only such files are ever removed.
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

/// Removes all but the newest copies and returns the removed ones. The copy just made always stays.
fn remove_older(folder: &Path, made: &Path, keep: usize) -> Result<Vec<PathBuf>> {
    let wrong = |cause| {
        errors::io_error(
            format!(
                "the copy is made, but older ones in {} cannot be removed",
                folder.display()
            ),
            cause,
        )
    };
    let mut older = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        // Names decide, not dates: a copy that was moved here from elsewhere keeps its place in time.
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
        let name = |time: &str| name_copy(time.parse().unwrap());
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
        assert_eq!(
            remove_older(folder.path(), &copy(3), 2).unwrap(),
            [copy(0), copy(1)]
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
        assert!(copy(3).exists() && copy(2).exists());
    }
}
