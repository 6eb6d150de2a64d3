//! TLS as libpq's `sslmode` and its files mean it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, SupportedProtocolVersion, version};

use super::settings::ParameterSources;
use super::verifier::{ModeVerifier, TrustedRoots};
use crate::address::ConnectionParameter;

/// The protocol name that Postgres expects in the TLS handshake.
const PROTOCOL_NAME: &[u8] = b"postgresql";

/// The word that stands for the certificates of the operating system instead of a file.
const SYSTEM_ROOTS: &str = "system";

/// The demand of `sslmode`, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TlsMode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// The certificates against which a server's is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RootSource {
    /// Those of the operating system.
    System,
    /// Those of a file, if it exists.
    RootFile(PathBuf),
    /// None: without a home folder there is no default file.
    Missing,
}

/// The files of a client certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ClientFiles {
    certificate: PathBuf,
    key: Option<PathBuf>,
    /// Whether the user named the certificate: then it must exist.
    is_named: bool,
}

/// The parameters of TLS.
#[derive(Debug, Clone)]
pub(super) struct TlsSettings {
    pub(super) mode: TlsMode,
    pub(super) is_direct: bool,
    roots: RootSource,
    client: Option<ClientFiles>,
    sends_server_name: bool,
    needs_tls13: bool,
}

/// A reason why TLS cannot be set up on this side, with the next step.
#[derive(Debug, Clone)]
pub(super) struct TlsSetupError {
    pub(super) reason: String,
    pub(super) hint: String,
}

impl std::fmt::Display for TlsSetupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for TlsSetupError {}

fn setup_error(reason: String, hint: &str) -> TlsSetupError {
    TlsSetupError {
        reason,
        hint: hint.to_owned(),
    }
}

impl TlsSettings {
    pub(super) fn read(sources: &ParameterSources<'_>) -> loci_core::Result<Self> {
        let roots = match sources.read(ConnectionParameter::SslRootCertificate) {
            Some(SYSTEM_ROOTS) => RootSource::System,
            Some(file) => RootSource::RootFile(PathBuf::from(file)),
            None => match sources.environment.home_path(".postgresql/root.crt") {
                Some(file) => RootSource::RootFile(file),
                None => RootSource::Missing,
            },
        };
        let mode = read_mode(sources, roots == RootSource::System)?;
        let is_direct = sources.choose(
            ConnectionParameter::SslNegotiation,
            &[("postgres", false), ("direct", true)],
        )?;
        if is_direct && mode < TlsMode::Require {
            return Err(sources.refuse(
                ConnectionParameter::SslNegotiation,
                "possible with an sslmode weaker than require",
            ));
        }
        let versions = [
            ("TLSv1.2", false),
            ("TLSv1", false),
            ("TLSv1.1", false),
            ("TLSv1.3", true),
        ];
        Ok(Self {
            mode,
            is_direct,
            roots,
            client: find_client_files(sources),
            sends_server_name: sources
                .choose(ConnectionParameter::SslServerName, &[("1", true), ("0", false)])?,
            needs_tls13: sources.choose(ConnectionParameter::SslMinimumVersion, &versions)?,
        })
    }

    /// Builds what rustls needs for a connection to `host`. Files are read each time, so that renewed ones count.
    pub(super) fn build_config(&self, host: &str) -> Result<ClientConfig, TlsSetupError> {
        let versions: &[&'static SupportedProtocolVersion] = if self.needs_tls13 {
            &[&version::TLS13]
        } else {
            &[&version::TLS13, &version::TLS12]
        };
        let provider = Arc::new(default_provider());
        let verifier = ModeVerifier {
            provider: Arc::clone(&provider),
            roots: self.load_roots()?,
            host: (self.mode == TlsMode::VerifyFull).then(|| host.to_owned()),
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| setup_error(error.to_string(), "leave ssl_min_protocol_version out"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = self.add_client_certificate(builder)?;
        config.alpn_protocols = vec![PROTOCOL_NAME.to_vec()];
        config.enable_sni = self.sends_server_name;
        Ok(config)
    }

    fn load_roots(&self) -> Result<Option<TrustedRoots>, TlsSetupError> {
        let must_verify = self.mode >= TlsMode::VerifyCa;
        match &self.roots {
            RootSource::System => load_system_roots().map(Some),
            // As in libpq, a root file that exists is used in every mode.
            RootSource::RootFile(file) if file.exists() => load_root_file(file).map(Some),
            RootSource::RootFile(file) if must_verify => Err(setup_error(
                format!("the root certificate file {} does not exist", file.display()),
                "put the certificate of the authority there, name another file in `sslrootcert=`, or use `sslrootcert=system`",
            )),
            RootSource::Missing if must_verify => Err(setup_error(
                "the default root certificate file needs a home folder, and none is known".to_owned(),
                "name a file in `sslrootcert=`, or use `sslrootcert=system`",
            )),
            RootSource::RootFile(_) | RootSource::Missing => Ok(None),
        }
    }

    fn add_client_certificate(
        &self,
        builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    ) -> Result<ClientConfig, TlsSetupError> {
        let files = self
            .client
            .as_ref()
            .filter(|files| files.is_named || files.certificate.exists());
        let Some(files) = files else {
            return Ok(builder.with_no_client_auth());
        };
        let certificates = load_certificates(&files.certificate, "client certificate file")?;
        let key = files.key.as_deref().ok_or_else(|| {
            setup_error(
                format!(
                    "the client certificate {} has no key",
                    files.certificate.display()
                ),
                "name the key in `sslkey=`",
            )
        })?;
        let key = load_key(key)?;
        builder.with_client_auth_cert(certificates, key).map_err(|error| {
            setup_error(
                format!(
                    "the client certificate {} cannot be used: {error}",
                    files.certificate.display()
                ),
                "check that `sslkey=` is the key of `sslcert=`",
            )
        })
    }
}

/// Reads `sslmode`. The roots of the system would vouch for any server of the world, so they need `verify-full`.
fn read_mode(sources: &ParameterSources<'_>, has_system_roots: bool) -> loci_core::Result<TlsMode> {
    if has_system_roots && sources.read(ConnectionParameter::SslMode).is_none() {
        return Ok(TlsMode::VerifyFull);
    }
    let mode = sources.choose(
        ConnectionParameter::SslMode,
        &[
            ("prefer", TlsMode::Prefer),
            ("disable", TlsMode::Disable),
            ("allow", TlsMode::Allow),
            ("require", TlsMode::Require),
            ("verify-ca", TlsMode::VerifyCa),
            ("verify-full", TlsMode::VerifyFull),
        ],
    )?;
    if has_system_roots && mode != TlsMode::VerifyFull {
        let wanted = "verify-full, which `sslrootcert=system` needs";
        return Err(sources.refuse(ConnectionParameter::SslMode, wanted));
    }
    Ok(mode)
}

fn find_client_files(sources: &ParameterSources<'_>) -> Option<ClientFiles> {
    let environment = sources.environment;
    let named = sources
        .read(ConnectionParameter::SslCertificate)
        .map(PathBuf::from);
    let key = sources.read(ConnectionParameter::SslKey).map(PathBuf::from);
    Some(ClientFiles {
        is_named: named.is_some(),
        certificate: named.or_else(|| environment.home_path(".postgresql/postgresql.crt"))?,
        key: key.or_else(|| environment.home_path(".postgresql/postgresql.key")),
    })
}

fn load_certificates(file: &Path, role: &str) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let fail = |reason: String| {
        setup_error(
            format!("the {role} {} cannot be read: {reason}", file.display()),
            "make it a readable file with certificates in PEM format",
        )
    };
    let certificates = certificates.map_err(|error| fail(error.to_string()))?;
    if certificates.is_empty() {
        return Err(fail("it holds no certificate".to_owned()));
    }
    Ok(certificates)
}

fn load_root_file(file: &Path) -> Result<TrustedRoots, TlsSetupError> {
    let certificates = load_certificates(file, "root certificate file")?;
    let mut store = RootCertStore::empty();
    // A file may hold old certificates that rustls cannot read; the others still count.
    store.add_parsable_certificates(certificates.iter().cloned());
    Ok(TrustedRoots { store, certificates })
}

fn load_system_roots() -> Result<TrustedRoots, TlsSetupError> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    let (added, _) = store.add_parsable_certificates(loaded.certs);
    if added == 0 {
        return Err(setup_error(
            "the system has no root certificates".to_owned(),
            "install them (often the package `ca-certificates`), or name a file in `sslrootcert=`",
        ));
    }
    Ok(TrustedRoots {
        store,
        certificates: Vec::new(),
    })
}

/// Reads a private key, unless others may read it too.
fn load_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsSetupError> {
    let fail =
        |reason: &str, hint: &str| setup_error(format!("the key file {} {reason}", file.display()), hint);
    let metadata = fs::metadata(file).map_err(|error| {
        fail(
            &format!("cannot be read: {error}"),
            "correct `sslkey=`, or make the file readable",
        )
    })?;
    if !metadata.is_file() {
        return Err(fail("is not a plain file", "name a file in `sslkey=`"));
    }
    // A key that belongs to root may be readable by a group, so that services can share it.
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.permissions().mode() & forbidden != 0 {
        return Err(fail(
            "was refused because others have access to it",
            "`chmod 600` it, or 640 if it belongs to root",
        ));
    }
    PrivateKeyDer::from_pem_file(file).map_err(|error| {
        // The error names the kind of damage, never the contents.
        fail(
            &format!("cannot be read: {error}"),
            "make it an unencrypted key in PEM format; Loci does not ask for passphrases",
        )
    })
}
