//! The checks that libpq's `sslmode` makes of a server's certificate.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::certificate::{is_in_date, read_lone_common_name};

/// The certificates that are trusted to sign a server's.
#[derive(Debug)]
pub(super) struct TrustedRoots {
    pub(super) store: RootCertStore,
    /// The same certificates as they were read: a server may show one of them as its own.
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

/// Checks as much of a certificate as the mode asks for.
#[derive(Debug)]
pub(super) struct ModeVerifier {
    pub(super) provider: Arc<CryptoProvider>,
    /// Without roots any certificate is taken.
    pub(super) roots: Option<TrustedRoots>,
    /// The host as the user wrote it, if the certificate must be made out to it.
    pub(super) host: Option<String>,
}

impl ModeVerifier {
    fn check_chain(
        &self,
        roots: &TrustedRoots,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        // A self-signed certificate that the user copied into the root file. webpki refuses it because it is marked
        // as an authority; OpenSSL, and so libpq, takes it.
        if roots.certificates.iter().any(|root| root == certificate) {
            return match is_in_date(certificate, now) {
                Some(true) => Ok(()),
                Some(false) => Err(CertificateError::Expired.into()),
                None => Err(CertificateError::BadEncoding.into()),
            };
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, &roots.store, intermediates, now, algorithms)
    }
}

/// Checks that a certificate is made out to `host`.
fn check_host(certificate: &CertificateDer<'_>, host: &str) -> Result<(), Error> {
    let name = ServerName::try_from(host).map_err(|_| CertificateError::NotValidForName)?;
    let parsed = ParsedCertificate::try_from(certificate)?;
    let checked = verify_server_name(&parsed, &name);
    if checked.is_ok() {
        return Ok(());
    }
    match read_lone_common_name(certificate) {
        Some(pattern) if matches_pattern(&pattern, host) => Ok(()),
        _ => checked,
    }
}

/// Whether a common name means `host`; a star stands for the first label only.
fn matches_pattern(pattern: &str, host: &str) -> bool {
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    let (Some(pattern), Some((first, host))) = (pattern.strip_prefix("*."), host.split_once('.')) else {
        return false;
    };
    !first.is_empty() && pattern.eq_ignore_ascii_case(host)
}

impl ServerCertVerifier for ModeVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            self.check_chain(roots, end_entity, intermediates, now)?;
        }
        if let Some(host) = &self.host {
            check_host(end_entity, host)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    // The two signatures are checked in every mode: they prove that the server has the key of its certificate, without
    // which channel binding would bind to a certificate that anyone can copy.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_common_name_stands_for_one_label() {
        for (pattern, host, is_match) in [
            ("db.example", "DB.example", true),
            ("*.palaces.example", "db.palaces.example", true),
            ("*.palaces.example", "a.db.palaces.example", false),
            ("*.palaces.example", "palaces.example", false),
            ("*.example", "db.example", true),
            ("*", "db", false),
            ("db*.palaces.example", "db1.palaces.example", false),
        ] {
            assert_eq!(matches_pattern(pattern, host), is_match, "{pattern} {host}");
        }
    }
}
