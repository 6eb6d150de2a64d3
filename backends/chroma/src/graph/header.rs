//! `header.bin`: a hundred bytes with the size of elements, the offsets within them, and where a search starts.

use std::io::{self, Read};
use std::path::Path;

use super::GraphExpectation;
use super::files::{HEADER, open_file};

/// The layout of an element: links, then the vector, then the label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementLayout {
    /// The size of an element in bytes.
    pub(crate) size: u64,
    /// The offset of its vector.
    pub(crate) vector: u64,
    /// The offset of its label, right behind the vector.
    pub(crate) label: u64,
    /// The number of elements, by the header.
    pub(crate) elements: u64,
    /// The number of allocated slots, by the header.
    pub(crate) capacity: u64,
}

impl ElementLayout {
    /// Returns the number of values in a vector.
    pub(crate) fn dimension(&self) -> usize {
        ((self.label - self.vector) / 4) as usize
    }

    /// Returns the layout of elements with `links` links and vectors of `dimension` values.
    pub(crate) fn for_links(links: u64, dimension: usize) -> Self {
        // Level 0 has twice as many links as the setting says, four bytes each, behind a count of four bytes.
        let vector = 4 + 8 * links;
        let label = vector + 4 * dimension as u64;
        Self {
            size: label + 8,
            vector,
            label,
            elements: u64::from(u32::MAX),
            capacity: u64::from(u32::MAX),
        }
    }
}

/// The part of the header that concerns links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkHeader {
    /// The highest level of an element; below 0 in an empty graph.
    pub(crate) top_level: i32,
    /// The element at which every search starts.
    pub(crate) entry_point: u32,
    /// The most links that an element has on level 0.
    pub(crate) most_level0: u64,
    /// The most links that an element has on each level above.
    pub(crate) most_upper: u64,
}

/// A header whose layout is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GraphHeader {
    /// The layout of elements.
    pub(crate) layout: ElementLayout,
    /// The part on links, or the problem with it.
    pub(crate) links: Result<LinkHeader, String>,
}

/// The length of the header.
const LENGTH: usize = 100;
/// The most values a vector is believed to have.
const WIDEST: u64 = 1 << 20;

/// Reads the header of a segment; the inner error describes the problem with it.
pub(super) fn read_header(
    folder: &Path,
    expected: GraphExpectation,
) -> io::Result<Result<GraphHeader, String>> {
    let mut bytes = Vec::new();
    match open_file(&folder.join(HEADER))? {
        Some(file) => drop(file.take(LENGTH as u64).read_to_end(&mut bytes)?),
        None => return Ok(Err("it does not exist".to_owned())),
    }
    let parsed = parse(&bytes);
    Ok(parsed.and_then(|header| match expected.dimension {
        Some(dimension) if dimension != header.layout.dimension() => Err(format!(
            "its vectors have {} values, but those of the collection have {dimension}",
            header.layout.dimension()
        )),
        _ => Ok(header),
    }))
}

/// Parses a header and checks that its values are possible.
pub(crate) fn parse(bytes: &[u8]) -> Result<GraphHeader, String> {
    let mut fields = HeaderFields { bytes, at: 0 };
    let version = fields.take_bytes::<4>().map(i32::from_le_bytes)?;
    if version != 1 {
        return Err(format!("its version {version} is unknown"));
    }
    let first = fields.take_number()?;
    let layout = ElementLayout {
        capacity: fields.take_number()?,
        elements: fields.take_number()?,
        size: fields.take_number()?,
        label: fields.take_number()?,
        vector: fields.take_number()?,
    };
    if bytes.len() < LENGTH {
        return Err(format!("it has {} of {LENGTH} bytes", bytes.len()));
    }
    let width = layout.label.checked_sub(layout.vector);
    // Every later offset is computed from these, so that none of them can overflow or leave an element.
    let possible = first == 0
        && layout.elements <= layout.capacity
        && layout.capacity <= u64::from(u32::MAX)
        && layout.vector >= 4
        && width.is_some_and(|width| width > 0 && width % 4 == 0 && width / 4 <= WIDEST)
        && layout.label.checked_add(8) == Some(layout.size);
    if possible {
        let links = parse_links(&mut fields, &layout)?;
        Ok(GraphHeader { layout, links })
    } else {
        Err(format!(
            "its values are impossible: {} elements of {} bytes in {} slots, vector at {}, label at {}",
            layout.elements, layout.size, layout.capacity, layout.vector, layout.label
        ))
    }
}

/// Parses the rest of a header. Vectors are readable without it, so its problems are kept apart.
fn parse_links(
    fields: &mut HeaderFields<'_>,
    layout: &ElementLayout,
) -> Result<Result<LinkHeader, String>, String> {
    let top_level = fields.take_bytes::<4>().map(i32::from_le_bytes)?;
    let entry_point = fields.take_bytes::<4>().map(u32::from_le_bytes)?;
    let (most_upper, most_level0, links) = (
        fields.take_number()?,
        fields.take_number()?,
        fields.take_number()?,
    );
    let spread = fields.take_bytes::<8>().map(f64::from_le_bytes)?;
    // hnswlib derives all four from one setting when it creates a graph and never changes them.
    let derived = 1.0 / (links as f64).ln();
    let possible = most_upper == links
        && most_upper.checked_mul(2) == Some(most_level0)
        && most_level0.checked_mul(4).and_then(|bytes| bytes.checked_add(4)) == Some(layout.vector)
        && (spread == derived || (spread - derived).abs() < 1e-9);
    if !possible {
        return Ok(Err(format!(
            "its values are impossible: {links} links, at most {most_upper} on upper levels and {most_level0} on level 0, \
             in {} bytes, with the factor {spread}",
            layout.vector
        )));
    }
    Ok(Ok(LinkHeader {
        top_level,
        entry_point,
        most_level0,
        most_upper,
    }))
}

struct HeaderFields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl HeaderFields<'_> {
    fn take_bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let field = self.bytes.get(self.at..self.at + N);
        let field = field.and_then(|field| field.try_into().ok());
        self.at += N;
        field.ok_or_else(|| format!("it has {} of {LENGTH} bytes", self.bytes.len()))
    }

    fn take_number(&mut self) -> Result<u64, String> {
        self.take_bytes::<8>().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(elements: u64, room: u64, dimension: u64) -> Vec<u8> {
        let layout = ElementLayout::for_links(16, dimension as usize);
        let mut bytes = 1_i32.to_le_bytes().to_vec();
        for field in [0, room, elements, layout.size, layout.label, layout.vector] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(1_i32.to_le_bytes());
        bytes.extend(3_u32.to_le_bytes());
        for field in [16_u64, 32, 16] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend((1.0 / 16_f64.ln()).to_le_bytes());
        bytes.resize(LENGTH, 0);
        bytes
    }

    #[test]
    fn a_header_says_where_things_lie() {
        let GraphHeader { layout, links } = parse(&header(7, 1000, 384)).unwrap();
        assert_eq!((layout.elements, layout.capacity), (7, 1000));
        assert_eq!((layout.vector, layout.label, layout.size), (132, 1668, 1676));
        assert_eq!(layout.dimension(), 384);
        let links = links.unwrap();
        assert_eq!((links.top_level, links.entry_point), (1, 3));
        assert_eq!((links.most_upper, links.most_level0), (16, 32));
    }

    #[test]
    fn settings_of_links_that_contradict_each_other_leave_the_vectors_readable() {
        for field in [60, 68, 76, 84] {
            let mut bytes = header(7, 1000, 384);
            bytes[field] ^= 1;
            bytes[field + 7] ^= 0x40;
            let header = parse(&bytes).unwrap();
            assert!(header.links.is_err(), "byte {field}");
            assert_eq!(header.layout.elements, 7);
        }
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
