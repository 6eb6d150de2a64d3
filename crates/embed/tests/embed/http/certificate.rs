//! A certificate for 127.0.0.1, made for one test and signed with its own key.

use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::server::Wrap;

/// A certificate and its key.
pub(crate) struct Certificate {
    der: Vec<u8>,
    key: Vec<u8>,
}

impl Certificate {
    /// Makes a key and signs a certificate for it.
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap();
        let body = body(pair.public_key().as_ref());
        let signature = pair.sign(&random, &body).unwrap();
        let signature = bits(signature.as_ref());
        Self {
            der: sequence(&[&body, &with_sha256(), &signature]),
            key: key.as_ref().to_vec(),
        }
    }

    /// The certificate as files of roots hold it.
    pub(crate) fn pem(&self) -> String {
        let lines: Vec<_> = base64(&self.der);
        format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            lines.join("\n")
        )
    }

    /// Returns the wrapper that makes a connection speak TLS with this certificate.
    pub(crate) fn wrap(&self) -> Wrap {
        let chain = vec![CertificateDer::from(self.der.clone())];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        Box::new(move |stream| {
            let connection = ServerConnection::new(config.clone()).unwrap();
            Box::new(StreamOwned::new(connection, stream))
        })
    }
}

/// The signed part: version 3, a number, names, years, the public key, and that it is for 127.0.0.1.
fn body(public: &[u8]) -> Vec<u8> {
    let common_name = sequence(&[&tagged(0x06, &[0x55, 4, 3]), &tagged(0x0c, b"loci test")]);
    let name = sequence(&[&tagged(0x31, &common_name)]);
    let years = sequence(&[&tagged(0x17, b"200101000000Z"), &tagged(0x17, b"491231235959Z")]);
    let elliptic = tagged(0x06, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]);
    let p256 = tagged(0x06, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]);
    let key = sequence(&[&sequence(&[&elliptic, &p256]), &bits(public)]);
    let address = sequence(&[&tagged(0x87, &[127, 0, 0, 1])]);
    let for_address = sequence(&[&tagged(0x06, &[0x55, 0x1d, 17]), &tagged(0x04, &address)]);
    let extensions = tagged(0xa3, &sequence(&[&for_address]));
    let version = tagged(0xa0, &tagged(0x02, &[2]));
    let number = tagged(0x02, &[1]);
    sequence(&[
        &version,
        &number,
        &with_sha256(),
        &name,
        &years,
        &name,
        &key,
        &extensions,
    ])
}

fn with_sha256() -> Vec<u8> {
    sequence(&[&tagged(0x06, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])])
}

fn bits(content: &[u8]) -> Vec<u8> {
    tagged(0x03, &[&[0], content].concat())
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tagged(0x30, &parts.concat())
}

/// One value of DER: a tag, a length, the content.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let head = match length {
        [0, short @ 0..0x80] => vec![tag, short],
        [0, long] => vec![tag, 0x81, long],
        [high, low] => vec![tag, 0x82, high, low],
    };
    [&head, content].concat()
}

/// Lines of 64 letters for 48 bytes each.
fn base64(bytes: &[u8]) -> Vec<String> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let quad = |three: &[u8]| -> String {
        let padded = [
            0,
            *three.first().unwrap(),
            *three.get(1).unwrap_or(&0),
            *three.get(2).unwrap_or(&0),
        ];
        let number = u32::from_be_bytes(padded);
        let letters = [18, 12, 6, 0].map(|shift| char::from(LETTERS[(number >> shift) as usize % 64]));
        let used = three.len() + 1;
        letters
            .into_iter()
            .enumerate()
            .map(|(at, letter)| if at < used { letter } else { '=' })
            .collect()
    };
    bytes
        .chunks(48)
        .map(|line| line.chunks(3).map(quad).collect())
        .collect()
}
