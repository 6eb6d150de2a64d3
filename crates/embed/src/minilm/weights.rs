//! The weights as the inner loops want them: matrices packed into panels, the embeddings left in the mapped file.

use std::ops::Range;
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use memmap2::Mmap;

use super::kernel::Level;
use super::tensors::{Tensors, floats};
use super::{cores, mapping};

/// The sizes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) layers: usize,
    pub(super) hidden: usize,
    pub(super) heads: usize,
    /// The width between the two matrices that end a layer.
    pub(super) inner: usize,
    pub(super) vocabulary: usize,
    pub(super) positions: usize,
}

/// The sizes of all-MiniLM-L6-v2.
pub(super) const MINILM: Shape = Shape {
    layers: 6,
    hidden: 384,
    heads: 12,
    inner: 1536,
    vocabulary: 30_522,
    positions: 512,
};

/// A model ready to run.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) shape: Shape,
    pub(super) level: Level,
    map: Mmap,
    words: Range<usize>,
    positions: Range<usize>,
    /// What marks the first of two texts, which is the only one here.
    pub(super) kind: Vec<f32>,
    pub(super) norm: Norm,
    pub(super) layers: Vec<Layer>,
}

/// One layer.
#[derive(Debug)]
pub(super) struct Layer {
    /// Query, key and value side by side.
    pub(super) attention: Linear,
    pub(super) output: Linear,
    pub(super) output_norm: Norm,
    /// The widening matrix and the narrowing one, cut along the inner width, so that little of it is held at once.
    pub(super) blocks: Vec<[Linear; 2]>,
    pub(super) last_bias: Vec<f32>,
    pub(super) last_norm: Norm,
}

/// A packed matrix with its bias, which is empty where it is added later.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) packed: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) depth: usize,
    pub(super) columns: usize,
}

/// What a row is weighed and shifted by once it is normalised.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) weight: Vec<f32>,
    pub(super) shift: Vec<f32>,
}

/// What is wrong with a file.
type Wrong = String;

impl Weights {
    /// Maps the file of weights, checks that it holds a model of this shape, and packs it for this level.
    pub(super) fn open(path: &Path, shape: Shape, level: Level) -> Result<Self> {
        let map = mapping::map(path).map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            let message = format!("the weights {} cannot be opened", path.display());
            Error::new(kind, message).hint(INSTALL).caused_by(error)
        })?;
        Self::read(map, shape, level).map_err(|wrong| {
            let message = format!("the weights {} cannot be used: {wrong}", path.display());
            Error::new(ErrorKind::Corrupt, message).hint(INSTALL)
        })
    }

    fn read(map: Mmap, shape: Shape, level: Level) -> std::result::Result<Self, Wrong> {
        let hidden = shape.hidden;
        let tensors = Tensors::read(&map)?;
        let place = |name: &str, rows| {
            tensors.place(&format!("embeddings.{name}_embeddings.weight"), &[rows, hidden])
        };
        let (words, positions) = (
            place("word", shape.vocabulary)?,
            place("position", shape.positions)?,
        );
        let mut kind = tensors.values("embeddings.token_type_embeddings.weight", &[2, hidden])?;
        kind.truncate(hidden);
        Ok(Self {
            shape,
            level,
            words,
            positions,
            kind,
            norm: norm(&tensors, "embeddings.LayerNorm", hidden)?,
            layers: layers(&tensors, shape, level)?,
            map,
        })
    }

    /// Writes the sum of the embeddings of a token and its position; [`Weights::kind`] is not in it yet.
    pub(super) fn embed(&self, token: u16, position: usize, to: &mut [f32]) {
        let word = self.row(&self.words, usize::from(token));
        let position = self.row(&self.positions, position);
        for ((to, word), position) in to.iter_mut().zip(word).zip(position) {
            *to = word + position;
        }
    }

    fn row(&self, table: &Range<usize>, row: usize) -> impl Iterator<Item = f32> {
        let size = self.shape.hidden * 4;
        let table = self.map.get(table.clone()).unwrap_or_default();
        floats(table.get(row * size..(row + 1) * size).unwrap_or_default())
    }
}

/// What to do about weights that are missing or broken.
pub(super) const INSTALL: &str =
    "nothing was changed; `loci models install minilm` puts whole ones in their place";

/// Reads and packs all layers, on every core: it is most of what opening costs.
fn layers(tensors: &Tensors<'_>, shape: Shape, level: Level) -> std::result::Result<Vec<Layer>, Wrong> {
    let mut layers = Vec::new();
    layers.resize_with(shape.layers, || Err(Wrong::new()));
    let slots = layers.iter_mut().enumerate();
    cores::each(
        cores::all(),
        slots,
        || (),
        |(), (at, slot)| *slot = layer(tensors, at, shape, level),
    );
    layers.into_iter().collect()
}

fn layer(tensors: &Tensors<'_>, at: usize, shape: Shape, level: Level) -> std::result::Result<Layer, Wrong> {
    let (hidden, inner) = (shape.hidden, shape.inner);
    let named = |name: &str| format!("encoder.layer.{at}.{name}");
    let matrix = |name: &str, size: [usize; 2]| tensors.bytes(&named(&format!("{name}.weight")), &size);
    let bias = |name: &str, size| tensors.values(&named(&format!("{name}.bias")), &[size]);

    let (mut joined, mut joined_bias) = (Vec::new(), Vec::new());
    for name in [
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
    ] {
        joined.extend(matrix(name, [hidden, hidden])?.chunks_exact(hidden * 4));
        joined_bias.extend(bias(name, hidden)?);
    }
    let output = rows(matrix("attention.output.dense", [hidden, hidden])?, hidden);
    let widen = rows(matrix("intermediate.dense", [inner, hidden])?, hidden);
    let narrow = rows(matrix("output.dense", [hidden, inner])?, inner);
    let widen_bias = bias("intermediate.dense", inner)?;
    let blocks = widen.chunks(hidden).zip(widen_bias.chunks(hidden)).enumerate();
    let blocks = blocks.map(|(block, (columns, bias))| {
        let part = block * hidden..block * hidden + columns.len();
        let first = Linear::pack(columns, 0..hidden, bias.to_vec(), level);
        [first, Linear::pack(&narrow, part, Vec::new(), level)]
    });
    Ok(Layer {
        attention: Linear::pack(&joined, 0..hidden, joined_bias, level),
        output: Linear::pack(&output, 0..hidden, bias("attention.output.dense", hidden)?, level),
        output_norm: norm(tensors, &named("attention.output.LayerNorm"), hidden)?,
        blocks: blocks.collect(),
        last_bias: bias("output.dense", hidden)?,
        last_norm: norm(tensors, &named("output.LayerNorm"), hidden)?,
    })
}

fn norm(tensors: &Tensors<'_>, name: &str, size: usize) -> std::result::Result<Norm, Wrong> {
    Ok(Norm {
        weight: tensors.values(&format!("{name}.weight"), &[size])?,
        shift: tensors.values(&format!("{name}.bias"), &[size])?,
    })
}

fn rows(bytes: &[u8], wide: usize) -> Vec<&[u8]> {
    bytes.chunks_exact(wide * 4).collect()
}

impl Linear {
    /// Packs the part `depth` of rows of floats; a row of the file is a column of the product.
    fn pack(rows: &[&[u8]], depth: Range<usize>, bias: Vec<f32>, level: Level) -> Self {
        let wide = level.panel();
        let mut packed = vec![0.0; rows.len().next_multiple_of(wide) * depth.len()];
        for (panel, rows) in packed.chunks_exact_mut(wide * depth.len()).zip(rows.chunks(wide)) {
            for (column, row) in rows.iter().enumerate() {
                let row = row.get(depth.start * 4..depth.end * 4).unwrap_or_default();
                for (to, value) in panel.chunks_exact_mut(wide).zip(floats(row)) {
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
