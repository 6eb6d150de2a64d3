//! Numbers as varints, read from any bytes.

use loci_core::Result;

use super::damaged;

/// Appends a number.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Bytes being read from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, which an error calls `what`.
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// An error unless everything was read.
    pub(super) fn end(&self) -> Result<()> {
        match self.rest {
            [] => Ok(()),
            _ => Err(damaged(self.what)),
        }
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.rest.split_first().ok_or_else(|| damaged(self.what))?;
        self.rest = rest;
        Ok(*first)
    }

    #[inline]
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(|| damaged(self.what))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<u64> {
        match self.rest.split_first() {
            Some((first, rest)) if *first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged(self.what))
    }

    #[inline]
    pub(super) fn small(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| damaged(self.what))
    }
}
