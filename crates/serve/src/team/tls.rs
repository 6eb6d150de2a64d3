//! TLS by certificate files, which are read again when they change.

use std::fs;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use loci_core::{Error, ErrorKind, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::settings::TlsFiles;
use crate::http::connections::TlsOpener;

/// How often the files are looked at.
const PAUSE: Duration = Duration::from_secs(5);

/// The certificate of the moment.
pub(super) struct CertificateKeeper {
    files: TlsFiles,
    current: RwLock<TlsAcceptor>,
}

/// The state of both files, by which a change is noticed.
type FileStamps = [Option<(SystemTime, u64)>; 2];

impl CertificateKeeper {
    /// Reads the certificate and its key.
    pub(super) fn open(files: TlsFiles) -> Result<Self> {
        let acceptor = load(&files)?;
        Ok(Self {
            files,
            current: RwLock::new(acceptor),
        })
    }

    /// Looks at the files for ever, and reads them again when they have changed. A pair that cannot be used is said, and the
    /// last one stays.
    pub(super) async fn watch(self: Arc<Self>, say: Arc<dyn Fn(&str) + Send + Sync>) {
        let mut seen = self.stamps();
        loop {
            tokio::time::sleep(PAUSE).await;
            let stamps = self.stamps();
            if stamps == seen {
                continue;
            }
            // The two files are exchanged one after the other: in between they do not belong together.
            match load(&self.files) {
                Ok(acceptor) => {
                    *self.current.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
                    say("the certificate was read again");
                }
                Err(error) => say(&format!("the changed certificate is not used: {error}")),
            }
            seen = stamps;
        }
    }

    fn stamps(&self) -> FileStamps {
        [&self.files.certificate, &self.files.key].map(|path| {
            let found = fs::metadata(path).ok()?;
            Some((found.modified().ok()?, found.len()))
        })
    }
}

impl TlsOpener for CertificateKeeper {
    fn acceptor(&self) -> TlsAcceptor {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn load(files: &TlsFiles) -> Result<TlsAcceptor> {
    let refused = |path: &std::path::Path, what: &str, cause: String| {
        Error::new(
            ErrorKind::Invalid,
            format!("{} holds no usable {what}: {cause}", path.display()),
        )
        .with_hint(
            "give files in PEM: the chain of certificates, the server's own first, and its private key",
        )
    };
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|cause| refused(&files.certificate, "certificate", cause.to_string()))?;
    if chain.is_empty() {
        let cause = "there is none".to_owned();
        return Err(refused(&files.certificate, "certificate", cause));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|cause| refused(&files.key, "private key", cause.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| refused(&files.key, "private key", cause.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|cause| refused(&files.key, "key of that certificate", cause.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
