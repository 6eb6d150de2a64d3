//! The head of a chain: the number and hash of its last record, small enough to be kept elsewhere.

use std::fmt;
use std::str::FromStr;

use loci_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::secret::{from_hex, to_hex};

/// The start of the text form.
const PREFIX: &str = "loci-audit-head:";

/// The end of the chain at one moment. Kept where an attacker cannot change it, it proves that everything before is there.
///
/// The text form is `loci-audit-head:NUMBER:HASH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AuditHead {
    /// The number of the last record; 0 before the first.
    pub number: u64,
    /// Its keyed hash, which follows from every record before it.
    pub mac: [u8; 32],
}

impl AuditHead {
    /// The head of a chain without records.
    pub(super) const START: Self = Self {
        number: 0,
        mac: [0; 32],
    };
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}:{}", self.number, to_hex(&self.mac))
    }
}

impl FromStr for AuditHead {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text
            .trim()
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once(':'));
        let head = parts.and_then(|(number, mac)| {
            Some(Self {
                number: number.parse().ok()?,
                mac: from_hex(mac)?,
            })
        });
        head.ok_or_else(|| {
            Error::invalid(format!("{text:?} is not the head of an audit log"))
                .with_hint(format!("it looks like {PREFIX}1234: and 64 hexadecimal digits"))
        })
    }
}

impl TryFrom<String> for AuditHead {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<AuditHead> for String {
    fn from(head: AuditHead) -> Self {
        head.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_back_from_its_text() {
        let head = AuditHead {
            number: 12,
            mac: [171; 32],
        };
        let text = format!("loci-audit-head:12:{}", "ab".repeat(32));
        assert_eq!(head.to_string(), text);
        assert_eq!(format!(" {text}\n").parse::<AuditHead>().unwrap(), head);
        for wrong in [
            "",
            "12",
            &text[..79],
            &text.replace("12", "-1"),
            &text.to_uppercase(),
        ] {
            assert!(wrong.parse::<AuditHead>().is_err(), "{wrong}");
        }
    }
}
