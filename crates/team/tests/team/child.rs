//! Runs this test program again as another process, for one task in one folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use loci_core::Timestamp;
use loci_team::{AuditAct, AuditKey, AuditLog, AuditLogOptions, AuditOutcome, AuditRecord, TeamActor};

/// The variable that tells the child its task; without it the test that stands for the child does nothing.
const TASK: &str = "LOCI_TEAM_CHILD_TASK";

/// Returns the folder of this process if it is the child for `task`.
pub(crate) fn task_folder(task: &str) -> Option<PathBuf> {
    let given = std::env::var(TASK).ok()?;
    let (given, folder) = given.split_once(' ')?;
    (given == task).then(|| PathBuf::from(folder))
}

/// Returns the command that runs the test `name` as a child for `task`, started by a shell after `before`.
pub(crate) fn child_command(before: &str, name: &str, task: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!(r#"{before}; exec "$0" "$@""#)])
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(TASK, format!("{task} {}", folder.display()));
    command
}

pub(crate) fn log_path(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

pub(crate) fn open_key(folder: &Path) -> AuditKey {
    AuditKey::open_or_make(&folder.join("audit.key")).unwrap()
}

pub(crate) fn open_log(folder: &Path, options: AuditLogOptions) -> AuditLog {
    AuditLog::open(log_path(folder), open_key(folder), options).unwrap()
}

/// A record by which its number among those of one writer can be recognised.
pub(crate) fn record(writer: u64, nth: u64) -> AuditRecord {
    let time = Timestamp::from_micros(1_780_000_000_000_000 + i64::try_from(nth).unwrap()).unwrap();
    let mut record = AuditRecord::new(
        time,
        TeamActor::User("anna".into()),
        AuditAct::ADD,
        AuditOutcome::Asked,
    );
    record.subject.drawers = vec![format!("{writer}-{nth}")];
    record
}
