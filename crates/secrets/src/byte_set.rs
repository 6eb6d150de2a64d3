//! Sets of ASCII bytes, such as the alphabet of a token.

/// A set of ASCII bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSet(u128);

/// 0 to 9.
pub(crate) const DIGITS: ByteSet = ByteSet::of_range(b'0', b'9');
/// a to z.
pub(crate) const LOWER: ByteSet = ByteSet::of_range(b'a', b'z');
/// A to Z.
pub(crate) const UPPER: ByteSet = ByteSet::of_range(b'A', b'Z');
/// a to z and A to Z.
pub(crate) const LETTERS: ByteSet = LOWER.or(UPPER);
/// Letters and digits.
pub(crate) const ALNUM: ByteSet = LETTERS.or(DIGITS);
/// Lower-case letters and digits.
pub(crate) const LOWER_ALNUM: ByteSet = LOWER.or(DIGITS);
/// Upper-case letters and digits.
pub(crate) const UPPER_ALNUM: ByteSet = UPPER.or(DIGITS);
/// Lower-case hexadecimal digits.
pub(crate) const LOWER_HEX: ByteSet = DIGITS.or(ByteSet::of_range(b'a', b'f'));
/// Hexadecimal digits.
pub(crate) const HEX: ByteSet = LOWER_HEX.or(ByteSet::of_range(b'A', b'F'));
/// Letters, digits and `_`: the bytes of a name.
pub(crate) const WORD: ByteSet = ALNUM.or(ByteSet::from_text("_"));
/// The alphabet of base64 for URLs.
pub(crate) const BASE64_URL: ByteSet = WORD.or(ByteSet::from_text("-"));
/// The alphabet of base64, with padding.
pub(crate) const BASE64: ByteSet = ALNUM.or(ByteSet::from_text("+/="));
/// Both alphabets of base64 and dots.
pub(crate) const DOTTED: ByteSet = BASE64_URL.or(BASE64).or(ByteSet::from_text("."));
/// Space and tab.
pub(crate) const BLANKS: ByteSet = ByteSet::from_text(" \t");

impl ByteSet {
    /// Makes a set of the bytes of an ASCII text.
    pub(crate) const fn from_text(text: &str) -> Self {
        let mut rest = text.as_bytes();
        let mut bits = 0;
        while let [first, after @ ..] = rest {
            assert!(*first < 128, "a set contains only ASCII");
            bits |= 1 << *first;
            rest = after;
        }
        Self(bits)
    }

    const fn of_range(first: u8, last: u8) -> Self {
        let mut bits = 0;
        let mut byte = first;
        while byte <= last {
            bits |= 1 << byte;
            byte += 1;
        }
        Self(bits)
    }

    /// Returns the bytes that are in either set.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the ASCII bytes that are not in the set.
    pub(crate) const fn others(self) -> Self {
        Self(!self.0)
    }

    /// Returns whether the byte is in the set; a byte of a multibyte character never is.
    pub(crate) const fn contains(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }
}
