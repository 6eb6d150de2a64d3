//! Certificates for the tests, made by rcgen: unlike the `openssl` program it is there wherever the tests compile.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An authority that signs certificates.
pub(crate) struct TestAuthority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM texts.
pub(crate) struct IssuedCertificate {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl TestAuthority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Signs a certificate for these hosts; its common name is `common_name`.
    pub(crate) fn issue(&self, common_name: &str, hosts: &[&str]) -> IssuedCertificate {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        IssuedCertificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Uses the authority's own certificate, as `openssl req -x509` makes one.
    pub(crate) fn own_certificate(&self) -> IssuedCertificate {
        IssuedCertificate {
            certificate: self.0.pem(),
            key: self.0.key().serialize_pem(),
        }
    }
}

/// Writes a file of one user.
pub(crate) fn write_private(folder: &Path, name: &str, contents: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, contents).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}
