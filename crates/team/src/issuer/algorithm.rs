//! The algorithms with which a token may be signed. All are of public keys: a shared secret is never accepted.

use ring::signature::{self, VerificationAlgorithm};
use serde::{Deserialize, Serialize};

/// An algorithm with which a token may be signed. There is no `none` and no `HS256`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TokenAlgorithm {
    /// RSA, PKCS #1 v1.5, with SHA-256.
    RS256,
    /// RSA, PKCS #1 v1.5, with SHA-384.
    RS384,
    /// RSA, PKCS #1 v1.5, with SHA-512.
    RS512,
    /// RSA-PSS with SHA-256.
    PS256,
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// ECDSA on P-384 with SHA-384.
    ES384,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// The kind of key that an algorithm needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyFamily {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl TokenAlgorithm {
    /// The algorithms that are allowed unless others are named.
    pub const USUAL: [Self; 3] = [Self::RS256, Self::ES256, Self::EdDsa];

    /// Returns the name that tokens give it.
    pub fn name(self) -> &'static str {
        match self {
            Self::RS256 => "RS256",
            Self::RS384 => "RS384",
            Self::RS512 => "RS512",
            Self::PS256 => "PS256",
            Self::ES256 => "ES256",
            Self::ES384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    pub(super) fn family(self) -> KeyFamily {
        match self {
            Self::RS256 | Self::RS384 | Self::RS512 | Self::PS256 => KeyFamily::Rsa,
            Self::ES256 => KeyFamily::P256,
            Self::ES384 => KeyFamily::P384,
            Self::EdDsa => KeyFamily::Ed25519,
        }
    }

    /// Returns the verification for keys that are not RSA.
    pub(super) fn curve_verification(self) -> Option<&'static dyn VerificationAlgorithm> {
        match self.family() {
            KeyFamily::Rsa => None,
            KeyFamily::P256 => Some(&signature::ECDSA_P256_SHA256_FIXED),
            KeyFamily::P384 => Some(&signature::ECDSA_P384_SHA384_FIXED),
            KeyFamily::Ed25519 => Some(&signature::ED25519),
        }
    }

    /// Returns the verification for RSA keys of 2048 bits or more.
    pub(super) fn rsa_verification(self) -> Option<&'static signature::RsaParameters> {
        match self {
            Self::RS256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
            Self::RS384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
            Self::RS512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
            Self::PS256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
            Self::ES256 | Self::ES384 | Self::EdDsa => None,
        }
    }
}
