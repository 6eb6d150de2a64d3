//! `length.bin`: the lengths of vectors before they were normalised, which only a cosine graph uses.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::files::{LENGTHS, decode_floats, open_file};

/// The number of lengths from which the usual one is estimated.
const SAMPLE: u64 = 4096;
/// The factor by which a length may differ from the usual one.
///
/// Generous, because a program may store vectors of any length. A change within it cannot be told from a vector that
/// was written so, and a cosine search finds the same with both.
const WIDEST_RATIO: f64 = 1e9;

/// The lengths of vectors before they were normalised.
#[derive(Debug)]
pub(crate) struct VectorLengths {
    file: File,
    /// All lengths, unless a part of the file cannot be read: then each is read when it is asked for.
    read: Option<Vec<f32>>,
    usual: Option<f64>,
}

impl VectorLengths {
    /// Opens the lengths of a segment with `elements` elements, if they are recorded.
    pub(super) fn open(folder: &Path, elements: u64) -> io::Result<Option<Self>> {
        let Some(file) = open_file(&folder.join(LENGTHS))? else {
            return Ok(None);
        };
        let mut lengths = Self {
            read: read_lengths(&file, elements).ok(),
            file,
            usual: None,
        };
        let mut sample: Vec<f64> = Vec::new();
        for element in (0..elements).step_by((elements / SAMPLE).max(1) as usize) {
            let recorded = u32::try_from(element).ok().and_then(|at| lengths.recorded_at(at));
            sample.extend(recorded.filter(|length| is_possible(*length)).map(f64::from));
        }
        sample.sort_unstable_by(f64::total_cmp);
        lengths.usual = sample.get(sample.len() / 2).copied();
        Ok(Some(lengths))
    }

    /// Returns the recorded length of an element's vector, whatever it is; `None` beyond the end of the file.
    pub(super) fn recorded_at(&self, element: u32) -> Option<f32> {
        if let Some(read) = &self.read {
            return read.get(element as usize).copied();
        }
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, u64::from(element) * 4).ok()?;
        Some(f32::from_le_bytes(bytes))
    }

    /// Returns whether a vector can have had this length.
    pub(super) fn is_believable(&self, length: f32) -> bool {
        let near = |usual: f64| {
            let ratio = f64::from(length) / usual;
            (1.0 / WIDEST_RATIO..=WIDEST_RATIO).contains(&ratio)
        };
        is_possible(length) && self.usual.is_none_or(near)
    }

    /// Returns the original length of an element's vector, unless the recorded value is impossible.
    pub(super) fn length_at(&self, element: u32) -> Option<f32> {
        self.recorded_at(element)
            .filter(|length| self.is_believable(*length))
    }
}

/// Reads the lengths of at most `elements` elements.
fn read_lengths(file: &File, elements: u64) -> io::Result<Vec<f32>> {
    let mut bytes = Vec::new();
    file.take(elements * 4).read_to_end(&mut bytes)?;
    Ok(decode_floats(&bytes))
}

fn is_possible(length: f32) -> bool {
    length.is_normal() && length > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_no_vector_can_have_had_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let mut written = vec![1.0_f32; 20];
        written.extend([1e-3, 1e3, 5e36, 1e-20, -1.0, 0.0, f32::NAN, f32::INFINITY]);
        let bytes: Vec<u8> = written.iter().flat_map(|length| length.to_le_bytes()).collect();
        std::fs::write(folder.path().join(LENGTHS), bytes).unwrap();
        let lengths = VectorLengths::open(folder.path(), 28).unwrap().unwrap();
        let one_by_one = VectorLengths {
            read: None,
            file: lengths.file.try_clone().unwrap(),
            usual: lengths.usual,
        };
        let believed = |at: u32| {
            let length = lengths.length_at(at);
            assert_eq!(one_by_one.length_at(at), length, "read at once or one by one");
            length
        };
        assert_eq!(
            (believed(0), believed(20), believed(21)),
            (Some(1.0), Some(1e-3), Some(1e3))
        );
        for damaged in 22..28 {
            assert_eq!(believed(damaged), None, "{}", written[damaged as usize]);
        }
        assert_eq!(believed(28), None, "beyond the end");
    }
}
