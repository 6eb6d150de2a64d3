//! A server that shows a copied certificate without having its key is refused, even where any certificate would do.

use std::sync::Arc;

use loci_core::ErrorKind;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::authority::{IssuedCertificate, TestAuthority};
use super::server::{check_error, connect_to};

/// Answers one request for TLS with this certificate and this key.
async fn answer_once(listener: TcpListener, certificate: &str, key: &str) {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let key = ring::sign::any_supported_type(&key).unwrap();
    let shown = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(shown));
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = [0; 8];
    stream.read_exact(&mut request).await.unwrap();
    stream.write_all(b"S").await.unwrap();
    // After the handshake, if there is one, the stream closes.
    let _ = TlsAcceptor::from(Arc::new(config)).accept(stream).await;
}

#[tokio::test]
async fn a_copied_certificate_is_refused_in_the_mode_that_takes_any() {
    let authority = TestAuthority::new("Test Authority");
    let [honest, thief]: [IssuedCertificate; 2] = [(); 2].map(|()| authority.issue("db", &["localhost"]));
    let try_key = async |key: String| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let certificate = honest.certificate.clone();
        let answer = tokio::spawn(async move { answer_once(listener, &certificate, &key).await });
        let error = connect_to(&format!("postgres://ada:hush@127.0.0.1:{port}/d?sslmode=require"))
            .await
            .unwrap_err();
        answer.await.unwrap();
        error
    };
    let error = try_key(honest.key.clone()).await;
    assert_eq!(
        error.kind(),
        ErrorKind::Unavailable,
        "the handshake works, and the stream closes: {error}"
    );
    let error = try_key(thief.key.clone()).await;
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    check_error(&error, &["not trusted: a signature does not match"], "authority");
}
