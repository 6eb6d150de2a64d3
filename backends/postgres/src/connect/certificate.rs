//! The parts of a certificate that rustls does not show: its hash for channel binding, its common name, its dates.

use ring::digest::{self, Algorithm};
use rustls::pki_types::UnixTime;

/// Tags of the DER encoding.
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// Object identifiers, as encoded.
const RSA_PREFIX: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
const ECDSA_SHA2_PREFIX: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// Reads DER elements one after another.
struct DerReader<'a>(&'a [u8]);

impl<'a> DerReader<'a> {
    /// Returns tag and contents of the next element, or nothing if there is none or it is malformed.
    fn next_element(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first & 0x80 != 0 {
            let (digits, behind) = rest.split_at_checked(usize::from(first & 0x7f))?;
            // Four bytes of length are more than any certificate has.
            if digits.is_empty() || digits.len() > 4 {
                return None;
            }
            length = digits
                .iter()
                .fold(0, |length, digit| length << 8 | usize::from(*digit));
            rest = behind;
        }
        let (contents, behind) = rest.split_at_checked(length)?;
        self.0 = behind;
        Some((tag, contents))
    }

    /// Returns the contents of the next element, which must have this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next_element()
            .filter(|(found, _)| *found == tag)
            .map(|(_, contents)| contents)
    }
}

/// The fields of a certificate that are read here.
struct CertificateFields<'a> {
    validity: &'a [u8],
    subject: &'a [u8],
    extensions: Option<&'a [u8]>,
    signature_algorithm: &'a [u8],
}

fn read_fields(certificate: &[u8]) -> Option<CertificateFields<'_>> {
    let mut outer = DerReader(DerReader(certificate).expect(SEQUENCE)?);
    let mut inner = DerReader(outer.expect(SEQUENCE)?);
    let mut algorithm = DerReader(outer.expect(SEQUENCE)?);
    let (tag, _serial_or_version) = inner.next_element()?;
    if tag == VERSION {
        inner.next_element()?;
    }
    let _signature = inner.expect(SEQUENCE)?;
    let _issuer = inner.expect(SEQUENCE)?;
    let validity = inner.expect(SEQUENCE)?;
    let subject = inner.expect(SEQUENCE)?;
    let mut extensions = None;
    while let Some((tag, contents)) = inner.next_element() {
        if tag == EXTENSIONS {
            extensions = DerReader(contents).expect(SEQUENCE);
        }
    }
    Some(CertificateFields {
        validity,
        subject,
        extensions,
        signature_algorithm: algorithm.expect(OBJECT_IDENTIFIER)?,
    })
}

/// Returns the hash of the certificate that binds a password exchange to it (RFC 5929, `tls-server-end-point`).
///
/// A certificate whose signature names no hash of its own has none: the exchange then goes without binding.
pub(super) fn hash_for_binding(certificate: &[u8]) -> Option<Vec<u8>> {
    let fields = read_fields(certificate)?;
    let algorithm = binding_algorithm(fields.signature_algorithm)?;
    Some(digest::digest(algorithm, certificate).as_ref().to_vec())
}

/// Returns the hash of a signature algorithm; MD5 and SHA-1 are replaced by SHA-256, as the RFC says.
fn binding_algorithm(identifier: &[u8]) -> Option<&'static Algorithm> {
    if identifier == ECDSA_SHA1 {
        return Some(&digest::SHA256);
    }
    if let Some([number]) = identifier.strip_prefix(ECDSA_SHA2_PREFIX) {
        return match number {
            2 => Some(&digest::SHA256),
            3 => Some(&digest::SHA384),
            4 => Some(&digest::SHA512),
            _ => None,
        };
    }
    match identifier.strip_prefix(RSA_PREFIX) {
        Some([4 | 5 | 11]) => Some(&digest::SHA256),
        Some([12]) => Some(&digest::SHA384),
        Some([13]) => Some(&digest::SHA512),
        _ => None,
    }
}

/// Returns the common name of a certificate that lists no alternative names.
///
/// Only then does libpq compare it with the host: many certificates for databases are made that way.
pub(super) fn read_lone_common_name(certificate: &[u8]) -> Option<String> {
    let fields = read_fields(certificate)?;
    let mut extensions = DerReader(fields.extensions.unwrap_or_default());
    while let Some((_, extension)) = extensions.next_element() {
        if DerReader(extension).expect(OBJECT_IDENTIFIER) == Some(ALTERNATIVE_NAMES) {
            return None;
        }
    }
    let mut names = DerReader(fields.subject);
    while let Some(name) = names.expect(SET) {
        let mut attribute = DerReader(DerReader(name).expect(SEQUENCE)?);
        if attribute.expect(OBJECT_IDENTIFIER)? == COMMON_NAME {
            let (_, text) = attribute.next_element()?;
            return String::from_utf8(text.to_vec()).ok();
        }
    }
    None
}

/// Whether the certificate is valid at `now`; nothing if its dates cannot be read.
pub(super) fn is_in_date(certificate: &[u8], now: UnixTime) -> Option<bool> {
    let mut dates = DerReader(read_fields(certificate)?.validity);
    let begin = read_date(dates.next_element()?)?;
    let end = read_date(dates.next_element()?)?;
    let now = i64::try_from(now.as_secs()).ok()?;
    Some(begin <= now && now <= end)
}

/// Reads a date, always in UTC, as seconds since 1970.
fn read_date((tag, text): (u8, &[u8])) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year: i64 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let part = |at: usize| -> Option<i64> { rest.get(at..at + 2)?.parse().ok() };
    let (month, day) = (part(0)?, part(2)?);
    let seconds = part(4)? * 3600 + part(6)? * 60 + part(8)?;
    Some(days_since_1970(year, month, day) * 86_400 + seconds)
}

/// Counts days in the Gregorian calendar. The year begins in March, so that its leap day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    };
    use rustls::pki_types::UnixTime;
    use std::time::Duration;

    fn certificate(algorithm: &'static rcgen::SignatureAlgorithm, names: &[&str]) -> Vec<u8> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "Palaces");
        params.distinguished_name.push(DnType::CommonName, "db.example");
        params.not_before = rcgen::date_time_ymd(2024, 2, 29);
        params.not_after = rcgen::date_time_ymd(2051, 1, 1);
        let key = KeyPair::generate_for(algorithm).unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_binding_hash_follows_the_signature_of_the_certificate() {
        let p256 = certificate(&PKCS_ECDSA_P256_SHA256, &[]);
        assert_eq!(
            hash_for_binding(&p256).unwrap(),
            digest::digest(&digest::SHA256, &p256).as_ref()
        );
        let p384 = certificate(&PKCS_ECDSA_P384_SHA384, &[]);
        assert_eq!(
            hash_for_binding(&p384).unwrap(),
            digest::digest(&digest::SHA384, &p384).as_ref()
        );
        assert_eq!(hash_for_binding(&certificate(&PKCS_ED25519, &[])), None);
        // sha512WithRSAEncryption, md5WithRSAEncryption, RSASSA-PSS.
        assert_eq!(
            binding_algorithm(&[RSA_PREFIX, &[13]].concat()),
            Some(&digest::SHA512)
        );
        assert_eq!(
            binding_algorithm(&[RSA_PREFIX, &[4]].concat()),
            Some(&digest::SHA256)
        );
        assert_eq!(binding_algorithm(&[RSA_PREFIX, &[10]].concat()), None);
    }

    #[test]
    fn the_common_name_counts_only_without_alternative_names() {
        let lone = certificate(&PKCS_ECDSA_P256_SHA256, &[]);
        assert_eq!(read_lone_common_name(&lone).unwrap(), "db.example");
        let with_names = certificate(&PKCS_ECDSA_P256_SHA256, &["other.example"]);
        assert_eq!(read_lone_common_name(&with_names), None);
    }

    #[test]
    fn dates_bound_the_time_of_a_certificate() {
        let certificate = certificate(&PKCS_ECDSA_P256_SHA256, &[]);
        // `date -u -d 2024-02-29 +%s` and `date -u -d 2051-01-01 +%s`.
        for (second, is_valid) in [
            (1_709_164_799, false),
            (1_709_164_800, true),
            (2_556_144_000, true),
            (2_556_144_001, false),
        ] {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(second));
            assert_eq!(is_in_date(&certificate, now), Some(is_valid), "{second}");
        }
    }

    #[test]
    fn a_damaged_certificate_is_read_without_a_panic() {
        let whole = certificate(&PKCS_ECDSA_P256_SHA256, &[]);
        for length in 0..whole.len() {
            let part = &whole[..length];
            assert_eq!(
                (hash_for_binding(part), read_lone_common_name(part)),
                (None, None)
            );
            assert_eq!(is_in_date(part, UnixTime::now()), None);
        }
        assert_eq!(hash_for_binding(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0]), None);
    }
}
