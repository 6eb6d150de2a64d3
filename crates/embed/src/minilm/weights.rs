//! The weights in the layout of the inner loops: matrices packed into panels, embeddings left in the mapped file.

use std::ops::Range;
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use memmap2::Mmap;

use super::kernel::SimdLevel;
use super::tensors::{TensorFile, read_floats};
use super::{cores, mapping};

/// The sizes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ModelShape {
    pub(super) layers: usize,
    pub(super) hidden: usize,
    pub(super) heads: usize,
    /// The width between the two matrices that end a layer.
    pub(super) inner: usize,
    pub(super) vocabulary: usize,
    pub(super) positions: usize,
}

/// The sizes of all-MiniLM-L6-v2.
pub(super) const MINILM: ModelShape = ModelShape {
    layers: 6,
    hidden: 384,
    heads: 12,
    inner: 1536,
    vocabulary: 30_522,
    positions: 512,
};

/// A model ready to run.
#[derive(Debug)]
pub(super) struct ModelWeights {
    pub(super) shape: ModelShape,
    pub(super) level: SimdLevel,
    map: Mmap,
    words: Range<usize>,
    positions: Range<usize>,
    /// The embedding of the first of two segments, the only one used here.
    pub(super) kind: Vec<f32>,
    pub(super) norm: LayerNorm,
    pub(super) layers: Vec<EncoderLayer>,
}

/// One layer.
#[derive(Debug)]
pub(super) struct EncoderLayer {
    /// Query, key and value side by side.
    pub(super) attention: PackedLinear,
    pub(super) output: PackedLinear,
    pub(super) output_norm: LayerNorm,
    /// The widening and the narrowing matrix, cut along the inner width to keep the intermediate rows small.
    pub(super) blocks: Vec<[PackedLinear; 2]>,
    pub(super) last_bias: Vec<f32>,
    pub(super) last_norm: LayerNorm,
}

/// A packed matrix with its bias, which is empty if it is added later.
#[derive(Debug)]
pub(super) struct PackedLinear {
    pub(super) packed: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) depth: usize,
    pub(super) columns: usize,
}

/// The weight and shift of a layer norm.
#[derive(Debug)]
pub(super) struct LayerNorm {
    pub(super) weight: Vec<f32>,
    pub(super) shift: Vec<f32>,
}

/// A description of the fault in a file.
type WeightsFault = String;

impl ModelWeights {
    /// Maps the file of weights, checks that it holds a model of this shape, and packs it for this level.
    pub(super) fn open(path: &Path, shape: ModelShape, level: SimdLevel) -> Result<Self> {
        let map = mapping::map_file(path).map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            let message = format!("cannot open the weights {}", path.display());
            Error::new(kind, message).with_hint(INSTALL).caused_by(error)
        })?;
        Self::read(map, shape, level).map_err(|wrong| {
            let message = format!("the weights {} cannot be used: {wrong}", path.display());
            Error::new(ErrorKind::Corrupt, message).with_hint(INSTALL)
        })
    }

    fn read(map: Mmap, shape: ModelShape, level: SimdLevel) -> std::result::Result<Self, WeightsFault> {
        let hidden = shape.hidden;
        let tensors = TensorFile::read(&map)?;
        let place = |name: &str, rows| {
            tensors.locate_tensor(&format!("embeddings.{name}_embeddings.weight"), &[rows, hidden])
        };
        let (words, positions) = (
            place("word", shape.vocabulary)?,
            place("position", shape.positions)?,
        );
        let mut kind = tensors.tensor_values("embeddings.token_type_embeddings.weight", &[2, hidden])?;
        // The second row marks the second text of a pair, which this model is never given here.
        kind.truncate(hidden);
        Ok(Self {
            shape,
            level,
            words,
            positions,
            kind,
            norm: read_norm(&tensors, "embeddings.LayerNorm", hidden)?,
            // Embeddings stay in the map: a text touches a few rows of them, while every matrix is read
            // for every text.
            layers: read_layers(&tensors, shape, level)?,
            map,
        })
    }

    /// Writes the sum of the embeddings of a token and its position; [`ModelWeights::kind`] is not in it yet.
    pub(super) fn embed_token(&self, token: u16, position: usize, to: &mut [f32]) {
        let word = self.embedding_row(&self.words, usize::from(token));
        let position = self.embedding_row(&self.positions, position);
        for ((to, word), position) in to.iter_mut().zip(word).zip(position) {
            *to = word + position;
        }
    }

    fn embedding_row(&self, table: &Range<usize>, row: usize) -> impl Iterator<Item = f32> {
        let size = self.shape.hidden * 4;
        let table = self.map.get(table.clone()).unwrap_or_default();
        read_floats(table.get(row * size..(row + 1) * size).unwrap_or_default())
    }
}

/// The hint for weights that are missing or damaged.
pub(super) const INSTALL: &str = "nothing was changed; `loci model install minilm` replaces them";

/// Reads and packs all layers on every core, which is most of the cost of opening.
fn read_layers(
    tensors: &TensorFile<'_>,
    shape: ModelShape,
    level: SimdLevel,
) -> std::result::Result<Vec<EncoderLayer>, WeightsFault> {
    let mut layers = Vec::new();
    layers.resize_with(shape.layers, || Err(WeightsFault::new()));
    let slots = layers.iter_mut().enumerate();
    cores::spread_work(
        cores::core_count(),
        slots,
        || (),
        |(), (at, slot)| *slot = read_layer(tensors, at, shape, level),
    );
    layers.into_iter().collect()
}

fn read_layer(
    tensors: &TensorFile<'_>,
    at: usize,
    shape: ModelShape,
    level: SimdLevel,
) -> std::result::Result<EncoderLayer, WeightsFault> {
    let (hidden, inner) = (shape.hidden, shape.inner);
    let named = |name: &str| format!("encoder.layer.{at}.{name}");
    let matrix =
        |name: &str, size: [usize; 2]| tensors.tensor_bytes(&named(&format!("{name}.weight")), &size);
    let bias = |name: &str, size| tensors.tensor_values(&named(&format!("{name}.bias")), &[size]);

    let (mut joined, mut joined_bias) = (Vec::new(), Vec::new());
    for name in [
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
    ] {
        joined.extend(matrix(name, [hidden, hidden])?.chunks_exact(hidden * 4));
        joined_bias.extend(bias(name, hidden)?);
    }
    let output = split_rows(matrix("attention.output.dense", [hidden, hidden])?, hidden);
    let widen = split_rows(matrix("intermediate.dense", [inner, hidden])?, hidden);
    let narrow = split_rows(matrix("output.dense", [hidden, inner])?, inner);
    let widen_bias = bias("intermediate.dense", inner)?;
    let blocks = widen.chunks(hidden).zip(widen_bias.chunks(hidden)).enumerate();
    let blocks = blocks.map(|(block, (columns, bias))| {
        let part = block * hidden..block * hidden + columns.len();
        let first = PackedLinear::pack_rows(columns, 0..hidden, bias.to_vec(), level);
        [first, PackedLinear::pack_rows(&narrow, part, Vec::new(), level)]
    });
    Ok(EncoderLayer {
        attention: PackedLinear::pack_rows(&joined, 0..hidden, joined_bias, level),
        output: PackedLinear::pack_rows(&output, 0..hidden, bias("attention.output.dense", hidden)?, level),
        output_norm: read_norm(tensors, &named("attention.output.LayerNorm"), hidden)?,
        blocks: blocks.collect(),
        last_bias: bias("output.dense", hidden)?,
        last_norm: read_norm(tensors, &named("output.LayerNorm"), hidden)?,
    })
}

fn read_norm(
    tensors: &TensorFile<'_>,
    name: &str,
    size: usize,
) -> std::result::Result<LayerNorm, WeightsFault> {
    Ok(LayerNorm {
        weight: tensors.tensor_values(&format!("{name}.weight"), &[size])?,
        shift: tensors.tensor_values(&format!("{name}.bias"), &[size])?,
    })
}

fn split_rows(bytes: &[u8], wide: usize) -> Vec<&[u8]> {
    bytes.chunks_exact(wide * 4).collect()
}

impl PackedLinear {
    /// Packs the part `depth` of rows of floats; a row of the file is a column of the product.
    fn pack_rows(rows: &[&[u8]], depth: Range<usize>, bias: Vec<f32>, level: SimdLevel) -> Self {
        let wide = level.panel_width();
        let mut packed = vec![0.0; rows.len().next_multiple_of(wide) * depth.len()];
        for (panel, rows) in packed.chunks_exact_mut(wide * depth.len()).zip(rows.chunks(wide)) {
            // The file stores each matrix transposed, a row per output, so packing turns rows into
            // columns.
            for (column, row) in rows.iter().enumerate() {
                let row = row.get(depth.start * 4..depth.end * 4).unwrap_or_default();
                for (to, value) in panel.chunks_exact_mut(wide).zip(read_floats(row)) {
                    if let Some(to) = to.get_mut(column) {
                        *to = value;
                    }
                }
            }
        }
        Self {
            packed,
            bias,
            depth: depth.len(),
            columns: rows.len(),
        }
    }
}
