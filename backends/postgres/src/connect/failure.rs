//! Failures of connecting, in words: which server, why, and the next step. None of them holds a password.

use std::error::Error as StdError;
use std::io;

use loci_core::{Error, ErrorKind};
use rustls::CertificateError;
use tokio_postgres::error::{DbError, SqlState};

use super::host::{HostTarget, ServerPlace};
use super::settings::ConnectionSettings;
use super::tls::TlsSetupError;

/// The most characters of a server's message that are repeated.
const LONGEST_MESSAGE: usize = 400;

/// How far an attempt came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureStage {
    /// The server was not reached, or was lost.
    Network,
    /// TLS could not be agreed on.
    Encryption,
    /// The server refused the session, by the rules for this kind of connection.
    AccessRules,
    /// The server refused the session otherwise, or is not the kind that is wanted.
    Session,
}

/// One failed attempt at one server.
#[derive(Debug, Clone)]
pub(super) struct AttemptFailure {
    pub(super) stage: FailureStage,
    /// Whether the next server may still do: a refusal of this user is final, as in libpq.
    pub(super) moves_on: bool,
    kind: ErrorKind,
    reason: String,
    hint: String,
}

impl AttemptFailure {
    /// A server that cannot be reached now, and perhaps later.
    pub(super) fn unreachable(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            stage: FailureStage::Network,
            moves_on: true,
            kind: ErrorKind::Unavailable,
            reason: reason.into(),
            hint: hint.into(),
        }
    }

    /// A server that answered, but is not the kind that `target_session_attrs` asks for.
    pub(super) fn unwanted(reason: &str) -> Self {
        Self {
            stage: FailureStage::Session,
            ..Self::unreachable(
                reason,
                "list all servers of the cluster in the URL, or change `target_session_attrs=`",
            )
        }
    }

    /// A setting that must be corrected first.
    fn wrong(stage: FailureStage, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            stage,
            moves_on: false,
            kind: ErrorKind::Invalid,
            reason: reason.into(),
            hint: hint.into(),
        }
    }

    /// Puts an error of the client into words.
    pub(super) fn from_client(
        error: &tokio_postgres::Error,
        settings: &ConnectionSettings,
        target: &HostTarget,
    ) -> Self {
        if let Some(refusal) = error.as_db_error() {
            return from_server(refusal, settings, target);
        }
        if let Some(setup) = find_cause::<TlsSetupError>(error) {
            return Self::wrong(FailureStage::Encryption, &setup.reason, &setup.hint);
        }
        if let Some(trouble) = find_cause::<rustls::Error>(error) {
            return from_tls(trouble, target);
        }
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        // The client crate has no kinds for these; the tests with a real server hold its words.
        match cause.as_str() {
            "server does not support TLS" => Self::wrong(
                FailureStage::Encryption,
                "the server does not offer TLS, which `sslmode` requires",
                "switch `ssl` on in postgresql.conf, or use `sslmode=prefer`",
            ),
            "password missing" => Self::wrong(
                FailureStage::Session,
                "the server asks for a password, and none was found",
                password_hint(settings),
            ),
            "server did not use channel binding" => Self::wrong(
                FailureStage::Session,
                "the server did not bind the password to TLS, which `channel_binding=require` asks for",
                "connect with TLS and scram-sha-256, or use `channel_binding=prefer`",
            ),
            _ => from_transport(error, target),
        }
    }

    /// Returns the one of two failures, of the same server with and without TLS, that says more.
    pub(super) fn or_clearer(self, other: Self) -> Self {
        // A refusal by the access rules only says that this kind of connection is not wanted.
        let clarity = |failure: &Self| match failure.stage {
            FailureStage::Network => 0,
            FailureStage::AccessRules => 1,
            FailureStage::Encryption => 2,
            FailureStage::Session => 3,
        };
        if clarity(&other) > clarity(&self) {
            other
        } else {
            self
        }
    }
}

/// Finds a cause of this type, also inside an `io::Error`, which does not show its contents as its source.
fn find_cause<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner as &(dyn StdError + 'static)),
            None => error.source(),
        };
    }
    None
}

fn from_transport(error: &tokio_postgres::Error, target: &HostTarget) -> AttemptFailure {
    let hint = match target.place {
        ServerPlace::SocketFolder(_) => {
            "start the server, or correct the folder of its socket (`?host=/folder`) and the port"
        }
        ServerPlace::NetworkHost { .. } => {
            "start the server, or correct host and port; `listen_addresses` and firewalls can be in the way"
        }
    };
    if let Some(trouble) = find_cause::<io::Error>(error) {
        return AttemptFailure::unreachable(clean(&trouble.to_string()), hint);
    }
    if error.is_closed() {
        return AttemptFailure::unreachable("the server closed the connection", "look into the server's log");
    }
    let cause = error
        .source()
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    AttemptFailure::wrong(
        FailureStage::Session,
        clean(&format!("{error}{cause}")),
        "check that this is a Postgres server, and that it uses scram-sha-256",
    )
}

fn from_server(refusal: &DbError, settings: &ConnectionSettings, target: &HostTarget) -> AttemptFailure {
    let code = refusal.code();
    let reason = format!("{} ({})", clean(refusal.message()), code.code());
    let user = settings.user.escape_debug();
    let database = settings.database.escape_debug();
    // Messages may be translated; the name of the server's routine is not.
    let routine = refusal.routine().unwrap_or_default();
    let wrong = |stage, hint: String| AttemptFailure::wrong(stage, reason.as_str(), hint);
    if *code == SqlState::INVALID_PASSWORD {
        return wrong(FailureStage::Session, password_hint(settings));
    }
    if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION && routine == "InitializeSessionUserId" {
        let hint = format!(
            "name another user in the URL, or let an administrator run `CREATE ROLE \"{user}\" LOGIN`"
        );
        return wrong(FailureStage::Session, hint);
    }
    if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        let ways = match target.place {
            ServerPlace::SocketFolder(_) => "over the socket",
            ServerPlace::NetworkHost { .. } => "from this address, with or without TLS (`sslmode=`)",
        };
        let hint =
            format!("admit the user in the server's pg_hba.conf {ways}, or name another user in the URL");
        return wrong(FailureStage::AccessRules, hint);
    }
    if *code == SqlState::INVALID_CATALOG_NAME {
        let hint = format!("create it with `createdb \"{database}\"`, or name another database in the URL");
        return wrong(FailureStage::Session, hint);
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        let hint = format!("let the owner run `GRANT CONNECT ON DATABASE \"{database}\" TO \"{user}\"`");
        return wrong(FailureStage::Session, hint);
    }
    // Classes 08, 53, 57 and 58: the connection, resources, an operator, the system. They may pass.
    if ["08", "53", "57", "58"]
        .iter()
        .any(|class| code.code().starts_with(class))
    {
        return AttemptFailure {
            stage: FailureStage::Session,
            moves_on: *code == SqlState::CANNOT_CONNECT_NOW,
            ..AttemptFailure::unreachable(reason, "try again in a moment")
        };
    }
    wrong(FailureStage::Session, "look into the server's log".to_owned())
}

fn password_hint(settings: &ConnectionSettings) -> String {
    let hint = "give the password in PGPASSWORD, ~/.pgpass, a service file or the URL";
    match &settings.ignored_password_file {
        Some(ignored) => format!("{ignored}; else {hint}"),
        None => hint.to_owned(),
    }
}

fn from_tls(trouble: &rustls::Error, target: &HostTarget) -> AttemptFailure {
    let name = match &target.place {
        ServerPlace::NetworkHost { name, .. } => name.as_str(),
        ServerPlace::SocketFolder(folder) => folder.as_str(),
    };
    let (reason, hint) = match trouble {
        rustls::Error::InvalidCertificate(certificate) => describe_certificate(certificate, name),
        rustls::Error::AlertReceived(alert) => (
            format!("the server refused the TLS handshake: {alert:?}"),
            "check the client certificate (`sslcert=`, `sslkey=`) and the server's log".to_owned(),
        ),
        other => (
            format!("the TLS handshake failed: {other}"),
            "check that the server speaks TLS 1.2 or 1.3".to_owned(),
        ),
    };
    AttemptFailure::wrong(FailureStage::Encryption, clean(&reason), hint)
}

fn describe_certificate(trouble: &CertificateError, name: &str) -> (String, String) {
    let roots =
        "add the certificate of its authority to ~/.postgresql/root.crt or the file of `sslrootcert=`";
    match trouble {
        CertificateError::UnknownIssuer => (
            "the server's certificate is not trusted: its authority is unknown".to_owned(),
            roots.to_owned(),
        ),
        CertificateError::BadSignature => (
            "the server's certificate is not trusted: a signature does not match".to_owned(),
            roots.to_owned(),
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let presented = match trouble {
                CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
                    format!(", but to {}", presented.join(", "))
                }
                _ => String::new(),
            };
            (
                format!("the server's certificate is not made out to {name:?}{presented}"),
                "use the host name that the certificate has, or `sslmode=verify-ca`".to_owned(),
            )
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "the server's certificate is expired or not yet valid".to_owned(),
            "renew the server's certificate, or set the clock".to_owned(),
        ),
        other => (
            format!("the server's certificate cannot be checked: {other}"),
            "issue it as an X.509 version 3 certificate with the host in its subjectAltName".to_owned(),
        ),
    }
}

/// Makes a text of a server safe to print: one line, no control characters, not too long.
fn clean(text: &str) -> String {
    let safe = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    safe.take(LONGEST_MESSAGE).collect()
}

/// Joins the failures of all servers into one error; the last one decides its kind and hint.
pub(super) fn join_failures(settings: &ConnectionSettings, failures: &[(String, AttemptFailure)]) -> Error {
    let user = &settings.user;
    let database = &settings.database;
    let Some((last_server, last)) = failures.last() else {
        return Error::new(ErrorKind::Internal, "no server was tried");
    };
    let message = if failures.len() == 1 {
        let reason = &last.reason;
        format!(
            "cannot connect to Postgres at {last_server} as user {user:?} to database {database:?}: {reason}"
        )
    } else {
        let each: Vec<String> = failures
            .iter()
            .map(|(server, failure)| format!("{server}: {}", failure.reason))
            .collect();
        format!(
            "cannot connect to Postgres as user {user:?} to database {database:?}: {}",
            each.join("; ")
        )
    };
    Error::new(last.kind, format!("{message}; nothing was changed"))
        .with_context("server", last_server)
        .with_context("user", user)
        .with_context("database", database)
        .with_hint(last.hint.as_str())
}
