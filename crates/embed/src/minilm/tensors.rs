//! Named tensors in a weights file (the safetensors layout): its header is read once, and nothing in it is trusted.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

/// The longest accepted header; that of the model has about ten thousand bytes.
const HEADER_MAX: u64 = 1 << 20;

/// The tensors of a file, by name.
#[derive(Debug)]
pub(super) struct TensorFile<'a> {
    file: &'a [u8],
    /// The offset of the first tensor.
    start: usize,
    entries: BTreeMap<String, TensorEntry>,
}

#[derive(Debug, Deserialize)]
struct TensorEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl<'a> TensorFile<'a> {
    /// Reads the header of a whole file; the error describes the fault in the file.
    pub(super) fn read(file: &'a [u8]) -> Result<Self, String> {
        let (length, rest) = file
            .split_first_chunk::<8>()
            .ok_or("it is too short to hold a header")?;
        let length = u64::from_le_bytes(*length);
        // Bounded: a damaged length must not have ninety megabytes of weights parsed as JSON.
        let header = usize::try_from(length)
            .ok()
            .filter(|_| length <= HEADER_MAX)
            .ok_or_else(|| format!("its header claims {length} bytes"))
            .and_then(|length| rest.get(..length).ok_or("it ends inside its header".to_owned()))?;
        let named: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|error| format!("its header is not valid: {error}"))?;
        let mut entries = BTreeMap::new();
        for (name, value) in named {
            // safetensors keeps free-form notes under this name, in another shape than a tensor's entry.
            if name != "__metadata__" {
                let entry = TensorEntry::deserialize(value)
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

    /// Returns the byte range of a tensor of 32-bit floats with exactly this shape.
    pub(super) fn locate_tensor(&self, name: &str, shape: &[usize]) -> Result<Range<usize>, String> {
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
        // Offsets count from the end of the header, and a hostile file may make the sum overflow.
        match self.start.checked_add(end) {
            Some(end) if end <= self.file.len() => Ok(self.start + start..end),
            _ => Err(format!("it ends before the tensor {name:?} does")),
        }
    }

    /// Returns the bytes of a tensor of this shape.
    pub(super) fn tensor_bytes(&self, name: &str, shape: &[usize]) -> Result<&'a [u8], String> {
        let place = self.locate_tensor(name, shape)?;
        Ok(self.file.get(place).unwrap_or_default())
    }

    /// Returns the values of a tensor of this shape.
    pub(super) fn tensor_values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        Ok(read_floats(self.tensor_bytes(name, shape)?).collect())
    }
}

/// Reads little-endian floats.
pub(super) fn read_floats(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> {
    let values = bytes.as_chunks::<4>().0.iter();
    values.map(|bytes| f32::from_le_bytes(*bytes))
}
