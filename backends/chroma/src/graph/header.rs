//! `header.bin`: a hundred bytes that say how large elements are and what lies where in them.

use std::io::{self, Read};
use std::path::Path;

use super::Expected;
use super::files::{HEADER, open_file};

/// What lies where in an element: links, then the vector, then the label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// How many bytes an element has.
    pub(crate) size: u64,
    /// Where its vector begins.
    pub(crate) vector: u64,
    /// Where its label begins, right behind the vector.
    pub(crate) label: u64,
    /// How many elements there are, by the header.
    pub(crate) elements: u64,
    /// How many there is room for, by the header.
    pub(crate) room: u64,
}

impl Layout {
    /// How many values vectors have.
    pub(crate) fn dimension(&self) -> usize {
        ((self.label - self.vector) / 4) as usize
    }

    /// The layout of elements with `links` links each and vectors of `dimension` values.
    pub(crate) fn of(links: u64, dimension: usize) -> Self {
        let vector = 4 + 8 * links;
        let label = vector + 4 * dimension as u64;
        Self {
            size: label + 8,
            vector,
            label,
            elements: u64::from(u32::MAX),
            room: u64::from(u32::MAX),
        }
    }
}

/// How many bytes of the file count.
const LENGTH: usize = 100;
/// More values than any vector has.
const WIDEST: u64 = 1 << 20;

/// Reads a segment's header; the inner error is what is wrong with it.
pub(super) fn read(folder: &Path, expected: Expected) -> io::Result<Result<Layout, String>> {
    let mut bytes = Vec::new();
    match open_file(&folder.join(HEADER))? {
        Some(file) => drop(file.take(LENGTH as u64).read_to_end(&mut bytes)?),
        None => return Ok(Err("there is none".to_owned())),
    }
    let parsed = parse(&bytes);
    Ok(parsed.and_then(|layout| match expected.dimension {
        Some(dimension) if dimension != layout.dimension() => Err(format!(
            "it says that vectors have {} values, but the collection's have {dimension}",
            layout.dimension()
        )),
        _ => Ok(layout),
    }))
}

/// Reads a header from its bytes and checks that it can be true.
pub(crate) fn parse(bytes: &[u8]) -> Result<Layout, String> {
    let mut fields = Fields { bytes, at: 0 };
    let version = fields.take::<4>().map(i32::from_le_bytes)?;
    if version != 1 {
        return Err(format!("it is of version {version}, which is not known"));
    }
    let first = fields.number()?;
    let layout = Layout {
        room: fields.number()?,
        elements: fields.number()?,
        size: fields.number()?,
        label: fields.number()?,
        vector: fields.number()?,
    };
    // The rest describes the links, which nobody here follows; it must be there all the same.
    if bytes.len() < LENGTH {
        return Err(format!("it has {} of {LENGTH} bytes", bytes.len()));
    }
    let width = layout.label.checked_sub(layout.vector);
    let possible = first == 0
        && layout.elements <= layout.room
        && layout.room <= u64::from(u32::MAX)
        && layout.vector >= 4
        && width.is_some_and(|width| width > 0 && width % 4 == 0 && width / 4 <= WIDEST)
        && layout.label.checked_add(8) == Some(layout.size);
    match possible {
        true => Ok(layout),
        false => Err(format!(
            "its figures cannot be true: {} elements of {} bytes in room for {}, vector at {}, label at {}",
            layout.elements, layout.size, layout.room, layout.vector, layout.label
        )),
    }
}

struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let field = self.bytes.get(self.at..self.at + N);
        let field = field.and_then(|field| field.try_into().ok());
        self.at += N;
        field.ok_or_else(|| format!("it has {} of {LENGTH} bytes", self.bytes.len()))
    }

    fn number(&mut self) -> Result<u64, String> {
        self.take::<8>().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(elements: u64, room: u64, dimension: u64) -> Vec<u8> {
        let layout = Layout::of(16, dimension as usize);
        let mut bytes = 1_i32.to_le_bytes().to_vec();
        for field in [0, room, elements, layout.size, layout.label, layout.vector] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.resize(LENGTH, 0);
        bytes
    }

    #[test]
    fn a_header_says_where_things_lie() {
        let layout = parse(&header(7, 1000, 384)).unwrap();
        assert_eq!((layout.elements, layout.room), (7, 1000));
        assert_eq!((layout.vector, layout.label, layout.size), (132, 1668, 1676));
        assert_eq!(layout.dimension(), 384);
    }

    #[test]
    fn headers_that_cannot_be_true_are_refused() {
        for cut in 0..LENGTH {
            assert!(parse(&header(7, 1000, 384)[..cut]).is_err(), "cut at {cut}");
        }
        assert!(
            parse(&header(1001, 1000, 384)).is_err(),
            "more than there is room for"
        );
        assert!(parse(&header(7, 1000, 0)).is_err(), "no vector");
        let mut huge = header(7, 1000, 384);
        huge[36..44].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(parse(&huge).is_err(), "a label beyond every file");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..128)) {
            let _ = parse(&bytes);
        }
    }
}
