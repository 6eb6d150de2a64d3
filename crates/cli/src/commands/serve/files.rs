//! The files that a server keeps: users and tokens, the audit log, and the key of the log.

use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use loci_team::{AuditAct, AuditKey, AuditLog, AuditOutcome, AuditRecord, TeamAccounts, TeamActor};

use super::config::ServeConfig;
use crate::environment::{ProcessEnvironment, now};
use crate::output::TerminalOutput;

/// The options that name the server's files.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ServerPlaceArgs {
    /// The config file of the server, in TOML
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,

    /// The folder of users, tokens and the audit log [default: serve in the folder of palaces]
    #[arg(long, value_name = "FOLDER", global = true)]
    pub(super) data: Option<PathBuf>,
}

/// The files that a server keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerFiles {
    pub(super) accounts: PathBuf,
    pub(super) audit: PathBuf,
    key: PathBuf,
}

impl ServerPlaceArgs {
    /// Reads the config file, if one is named.
    pub(super) fn read_config(&self) -> Result<ServeConfig> {
        let read = self.config.as_deref().map(ServeConfig::read).transpose()?;
        Ok(read.unwrap_or_default())
    }

    /// The files that the options and the config mean.
    pub(super) fn find_files(
        &self,
        config: &ServeConfig,
        environment: &ProcessEnvironment,
    ) -> Result<ServerFiles> {
        let usual = || Some(environment.data.as_ref()?.join("loci").join("serve"));
        let named = self.data.clone().or_else(|| config.data.clone());
        let folder = named.or_else(usual).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "this user has no home folder to keep users and tokens in",
            )
            .with_hint("name a folder with --data")
        })?;
        Ok(ServerFiles {
            // Two servers may share their users; their audit logs have one writer each.
            accounts: config
                .accounts
                .clone()
                .unwrap_or_else(|| folder.join("accounts.json")),
            audit: folder.join("audit.log"),
            key: folder.join("audit.key"),
        })
    }

    /// The files that the options mean, with the config read for them.
    pub(super) fn locate_files(&self, environment: &ProcessEnvironment) -> Result<ServerFiles> {
        self.find_files(&self.read_config()?, environment)
    }
}

impl ServerFiles {
    /// Opens the accounts, which must exist.
    pub(super) fn open_accounts(&self) -> Result<TeamAccounts> {
        if !self.accounts.exists() {
            return Err(no_accounts(&self.accounts));
        }
        TeamAccounts::open(&self.accounts)
    }

    /// Opens the accounts, which are made if there are none.
    pub(super) fn make_accounts(&self) -> Result<TeamAccounts> {
        TeamAccounts::open_or_create(&self.accounts)
    }

    /// Reads the key of the audit log, which must exist.
    pub(super) fn read_key(&self) -> Result<AuditKey> {
        AuditKey::open(&self.key)
    }

    /// Opens the audit log for appending; one process at a time can.
    pub(super) fn open_audit(&self) -> Result<AuditLog> {
        // A new key would not open a log that is there; the error of a missing one tells what to do.
        let key = if self.audit.exists() {
            self.read_key()?
        } else {
            AuditKey::open_or_make(&self.key)?
        };
        AuditLog::open(&self.audit, key, Default::default())
    }

    /// Changes the accounts and records that in the audit log; tells whether it could be recorded.
    ///
    /// A change is made even if it cannot be recorded: it must be possible to revoke a token whatever happened to the log.
    pub(super) fn change_recorded<T>(
        &self,
        act: AuditAct,
        name: &str,
        out: &mut TerminalOutput,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<(T, bool)> {
        let log = match self.open_audit() {
            Ok(log) => Some(log),
            Err(error) if error.kind() == ErrorKind::Locked => {
                out.note("a running server has the audit log open, so this change is not recorded in it");
                None
            }
            Err(error) => {
                out.warn(&format!("this change is not recorded in the audit log: {error}"));
                None
            }
        };
        let record = |outcome| {
            let log = log.as_ref()?;
            let mut record = AuditRecord::new(now(), TeamActor::Server, act.clone(), outcome);
            record.subject.name = Some(name.to_owned());
            log.append(record).and_then(|ticket| ticket.wait_durable()).ok()
        };
        let asked = record(AuditOutcome::Asked);
        let changed = change();
        let outcome = match &changed {
            Ok(_) => AuditOutcome::Done,
            Err(error) => AuditOutcome::Failed(error.kind().into()),
        };
        let ended = record(outcome);
        Ok((changed?, asked.and(ended).is_some()))
    }
}

fn no_accounts(path: &Path) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("there are no users yet: no file {}", path.display()),
    )
    .with_hint("add one with `loci serve user add NAME`, or name the server's folder with --data or --config")
}
