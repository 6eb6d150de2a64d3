//! The lines of an audit log: a record as JSON, closed by its hash.

use loci_core::{Error, ErrorKind, Result};

use super::head::AuditHead;
use super::key::AuditKey;
use super::record::AuditEntry;
use crate::secret::{from_hex, to_hex};

/// The most bytes of a line. No record becomes longer: the number and length of its names are bounded.
pub(super) const LONGEST_LINE: usize = 256 * 1024;

/// The end of each line, around the hash.
const MAC_FIELD: &[u8] = br#","mac":""#;
const MAC_END: &[u8] = br#""}"#;
const MAC_DIGITS: usize = 64;

/// Writes a record after `previous` as a line with its line feed, and returns the new head.
pub(super) fn write_line(
    key: &AuditKey,
    previous: &AuditHead,
    entry: &AuditEntry,
    lines: &mut Vec<u8>,
) -> Result<AuditHead> {
    let mut body = serde_json::to_vec(entry).map_err(|cause| {
        Error::new(
            ErrorKind::Internal,
            "a record of the audit log cannot be written as JSON",
        )
        .caused_by(cause)
    })?;
    // The hash is the last field of the same object: the line without it, up to the closing brace, is what is hashed.
    body.pop();
    let mac = key.hash_record(&previous.mac, &body);
    lines.extend_from_slice(&body);
    lines.extend_from_slice(MAC_FIELD);
    lines.extend_from_slice(to_hex(&mac).as_bytes());
    lines.extend_from_slice(MAC_END);
    lines.push(b'\n');
    Ok(AuditHead {
        number: entry.number,
        mac,
    })
}

/// A line that has the form of a record. Its hash is not checked.
#[derive(Debug)]
pub(super) struct ReadLine<'a> {
    pub(super) entry: AuditEntry,
    pub(super) body: &'a [u8],
    pub(super) mac: [u8; 32],
}

impl ReadLine<'_> {
    /// Returns the head that the line claims to be.
    pub(super) fn claimed_head(&self) -> AuditHead {
        AuditHead {
            number: self.entry.number,
            mac: self.mac,
        }
    }
}

/// Reads a line without its line feed; `None` if it does not have the form of a record.
pub(super) fn read_line(line: &[u8]) -> Option<ReadLine<'_>> {
    let rest = line.strip_suffix(MAC_END)?;
    let digits = rest.get(rest.len().checked_sub(MAC_DIGITS)?..)?;
    let body = rest.get(..rest.len() - MAC_DIGITS)?.strip_suffix(MAC_FIELD)?;
    let mac = from_hex(std::str::from_utf8(digits).ok()?)?;
    let entry = serde_json::from_slice(line).ok()?;
    Some(ReadLine { entry, body, mac })
}
