//! `loci key`: the key of a palace, kept outside of it.

use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, PalaceId, Result};
use loci_engine::Palace;
use loci_engine::keys::{KeyFolder, PalaceKey, parse_keys, write_keys};
use loci_engine::seal::RotationReport;
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{self, CommandResult, ExitStatus};
use crate::page::format_count;
use crate::session::CommandSession;

/// See, copy or bring the key of a palace
///
/// The key opens sealed secrets, and reads the list of what was deleted. It is made when it is first needed, in a file
/// outside the palace, and is in no backup: copy it to every machine that shall use the palace. Without it the secrets and
/// the list are lost, and nothing else.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci key show\n  loci key export ~/palace.key\n  loci key import ~/palace.key"
)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KeyCommand {
    /// Show the id of the palace and the file of its key
    ///
    /// The key itself is not shown.
    #[command(after_long_help = "Example:\n  loci key show --json")]
    Show,
    /// Write the key to a new file that only you may read
    ///
    /// Made now if there is none yet. The file opens what the key protects, so keep it as you keep a password.
    #[command(after_long_help = "Example:\n  loci key export ~/palace.key")]
    Export {
        /// The new file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Bring a key that was exported elsewhere
    ///
    /// It is kept beside the key that the palace already has here, if there is one.
    #[command(after_long_help = "Example:\n  loci key import ~/palace.key")]
    Import {
        /// The file that `loci key export` has written
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Make a new key and encrypt every sealed secret under it
    ///
    /// The old key stays in the key file: it reads older backups and the list of deletions. Rewrites the palace, so that
    /// no byte is left that the old key opens. An interrupted rotation loses nothing; run it again to finish it.
    #[command(after_long_help = "Example:\n  loci key rotate")]
    Rotate,
}

/// The key of a palace.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyReport {
    /// The id of the palace.
    palace: String,
    /// The file that holds its key.
    key_file: String,
    /// Eight digits of each key by which to tell them apart, the one in use first; empty if there is none yet.
    keys: Vec<String>,
    /// The outcome of a rotation, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    rotated: Option<RotationReport>,
}

/// Shows, exports or imports the key.
pub(crate) fn run(args: &KeyArgs, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    palace.existing_address()?;
    let id = palace.palace_id()?.ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            "the backend gives this palace no id, so that it has no key",
        )
    })?;
    let folder = palace.key_folder().cloned().ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            "this user has no home folder to keep keys in",
        )
        .with_hint("name a folder in the variable LOCI_KEYS")
    })?;
    let mut rotated = None;
    let said = match &args.command {
        KeyCommand::Rotate => {
            let mut progress = session.out.progress("steps of rewriting");
            let report = palace.rotate_key(&mut |done, total| progress.tick(done, Some(total)))?;
            drop(progress);
            let said = describe_rotation(&report);
            rotated = Some(report);
            Some(said)
        }
        KeyCommand::Show => None,
        KeyCommand::Export { file } => Some(export(&palace, &folder, id, file)?),
        KeyCommand::Import { file } => Some(import(&palace, file)?),
    };
    let report = KeyReport {
        palace: id.to_string(),
        key_file: folder.file_of(id).display().to_string(),
        keys: folder.find_keys(id)?.iter().map(PalaceKey::fingerprint).collect(),
        rotated,
    };
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            page.plain("palace ").bold(&report.palace).end();
            page.plain("key    ").plain(&report.key_file);
            if report.keys.is_empty() {
                page.dim("  (none yet; made when it is first needed)");
            }
            page.end();
        })?;
    }
    if let Some(said) = said {
        out.note(&said);
    }
    Ok(ExitStatus::Done)
}

fn describe_rotation(report: &RotationReport) -> String {
    let mut said = format!(
        "{} encrypted under the new key {}",
        format_count(report.secrets, "secret"),
        report.key
    );
    if report.left > 0 {
        said.push_str(&format!(
            "; {} left under keys that are not on this machine",
            report.left
        ));
    }
    said
}

fn export(palace: &Palace, folder: &KeyFolder, id: PalaceId, file: &Path) -> Result<String> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt;
    palace.own_key()?;
    let keys = folder.find_keys(id)?;
    let wrong = |cause| errors::io_error(format!("cannot write {}", file.display()), cause);
    let mut opened = std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .map_err(wrong)?;
    opened
        .write_all(write_keys(id, &keys).as_bytes())
        .map_err(wrong)?;
    opened.sync_all().map_err(wrong)?;
    Ok(format!(
        "wrote {}; keep it as you keep a password",
        file.display()
    ))
}

fn import(palace: &Palace, file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file)
        .map_err(|cause| errors::io_error(format!("cannot read {}", file.display()), cause))?;
    let keys = parse_keys(&text).ok_or_else(|| {
        Error::new(ErrorKind::Format, format!("{} is not a key file", file.display()))
            .with_hint("nothing was changed; name a file that `loci key export` has written")
    })?;
    let new = palace.import_keys(&keys)?;
    Ok(match new {
        0 => "the palace has this key already".to_owned(),
        new => format!("{} imported", format_count(new as u64, "key")),
    })
}
