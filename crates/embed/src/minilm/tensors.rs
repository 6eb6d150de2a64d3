//! Finding named tensors in a file of weights (the safetensors layout): its header is read once, and nothing in it
//! is believed.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

/// The longest header that is read; that of the model has some ten thousand bytes.
const HEADER_MAX: u64 = 1 << 20;

/// Where each tensor lies in a file.
#[derive(Debug)]
pub(super) struct Tensors<'a> {
    file: &'a [u8],
    /// Where the tensors begin.
    start: usize,
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl<'a> Tensors<'a> {
    /// Reads the header of a whole file; the error says what is wrong with the file.
    pub(super) fn read(file: &'a [u8]) -> Result<Self, String> {
        let (length, rest) = file
            .split_first_chunk::<8>()
            .ok_or("it is too short to hold a header")?;
        let length = u64::from_le_bytes(*length);
        let header = usize::try_from(length)
            .ok()
            .filter(|_| length <= HEADER_MAX)
            .ok_or_else(|| format!("its header claims {length} bytes"))
            .and_then(|length| rest.get(..length).ok_or("it ends inside its header".to_owned()))?;
        let named: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|error| format!("its header is not valid: {error}"))?;
        let mut entries = BTreeMap::new();
        for (name, value) in named {
            if name != "__metadata__" {
                let entry = Entry::deserialize(value)
                    .map_err(|error| format!("its header is not valid at {name:?}: {error}"))?;
                entries.insert(name, entry);
            }
        }
        Ok(Self {
            file,
            start: 8 + header.len(),
            entries,
        })
    }

    /// Where in the file a tensor of 32-bit floats with exactly this shape lies.
    pub(super) fn place(&self, name: &str, shape: &[usize]) -> Result<Range<usize>, String> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| format!("the tensor {name:?} is missing"))?;
        if entry.dtype != "F32" || entry.shape != shape {
            let (dtype, held) = (&entry.dtype, &entry.shape);
            return Err(format!(
                "the tensor {name:?} is {dtype} {held:?}, not F32 {shape:?}"
            ));
        }
        let [start, end] = entry.data_offsets;
        if end.checked_sub(start) != Some(shape.iter().product::<usize>() * 4) {
            return Err(format!(
                "the tensor {name:?} claims {start}..{end}, which is not its size"
            ));
        }
        match self.start.checked_add(end) {
            Some(end) if end <= self.file.len() => Ok(self.start + start..end),
            _ => Err(format!("it ends before the tensor {name:?} does")),
        }
    }

    /// The bytes of a tensor of this shape.
    pub(super) fn bytes(&self, name: &str, shape: &[usize]) -> Result<&'a [u8], String> {
        let place = self.place(name, shape)?;
        Ok(self.file.get(place).unwrap_or_default())
    }

    /// The values of a tensor of this shape.
    pub(super) fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        Ok(floats(self.bytes(name, shape)?).collect())
    }
}

/// Reads floats as the file keeps them, lowest byte first.
pub(super) fn floats(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> {
    let values = bytes.as_chunks::<4>().0.iter();
    values.map(|bytes| f32::from_le_bytes(*bytes))
}
