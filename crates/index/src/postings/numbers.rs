//! Varints, read from untrusted bytes.

use loci_core::Result;

use super::damaged_error;

/// Appends a number as a varint.
pub(super) fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A reader over untrusted bytes, from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct VarintReader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> VarintReader<'a> {
    /// Reads `bytes`; errors call them `what`.
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Fails unless everything was read.
    pub(super) fn expect_end(&self) -> Result<()> {
        match self.rest {
            [] => Ok(()),
            _ => Err(damaged_error(self.what)),
        }
    }

    #[inline]
    pub(super) fn read_byte(&mut self) -> Result<u8> {
        let (first, rest) = self.rest.split_first().ok_or_else(|| damaged_error(self.what))?;
        self.rest = rest;
        Ok(*first)
    }

    #[inline]
    pub(super) fn take_bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .split_at_checked(n)
            .ok_or_else(|| damaged_error(self.what))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn read_number(&mut self) -> Result<u64> {
        match self.rest.split_first() {
            Some((first, rest)) if *first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            _ => self.read_long_number(),
        }
    }

    fn read_long_number(&mut self) -> Result<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for a single bit; more would be shifted out and read as another
            // number.
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged_error(self.what))
    }

    #[inline]
    pub(super) fn read_u32(&mut self) -> Result<u32> {
        u32::try_from(self.read_number()?).map_err(|_| damaged_error(self.what))
    }
}
