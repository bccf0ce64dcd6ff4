//! Chunks that say what is in them.

use welter_store::ChunkBuilder;
use welter_store::header::{CellId, Encoding, Label};
use welter_store::weights::WeightKind;

/// Bytes at an address that chunks may lie at.
pub(crate) struct Aligned {
    words: Vec<u64>,
    bytes: usize,
}

impl Aligned {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, bytes: bytes.len() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

/// First source, keys, and weights of a tile.
pub(crate) type Tile = (u32, Vec<u32>, Vec<f64>);

/// Tiles of a chunk, and how they are written.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) label: Label,
    pub(crate) tiles: Vec<Tile>,
}

impl Sample {
    pub(crate) fn push_to(&self, builder: &mut ChunkBuilder) {
        for (source, keys, weights) in &self.tiles {
            builder.push(*source, keys, weights, &self.label);
        }
    }

    pub(crate) fn build(&self) -> Aligned {
        let mut builder = ChunkBuilder::new(self.label.weights != WeightKind::None);
        self.push_to(&mut builder);
        let mut bytes = Vec::new();
        builder.finish(&self.label, &mut bytes);
        Aligned::new(&bytes)
    }
}

/// Weights that need each type of storage, and its name.
pub(crate) const KINDS: [(&str, WeightKind, &[f64]); 6] = [
    ("none", WeightKind::None, &[]),
    ("u8", WeightKind::U8, &[0.0, 1.0, 255.0]),
    ("u16", WeightKind::U16, &[256.0, 65_535.0]),
    ("u32", WeightKind::U32, &[65_536.0, 4_294_967_295.0, 7.0]),
    ("f32", WeightKind::F32, &[0.5, -1.0, -0.0, 1.0e30]),
    ("f64", WeightKind::F64, &[0.1, -1.0e300, 4_294_967_296.0, 5e-324]),
];

/// A label in which every field differs from every other, above 2^32 vertices.
pub(crate) fn label(encoding: Encoding, weights: WeightKind) -> Label {
    Label {
        graph: 0x0123_4567_89ab_cdef,
        generation: 7,
        cell: CellId { source_partition: 3, stripe: 9 },
        number: 2,
        source_base: (1 << 33) + 4096,
        target_base: (1 << 40) + 5,
        target_bits: 20,
        encoding,
        weights,
    }
}

/// A small chunk of each encoding and type of weights, by name: four tiles, one of them empty, with
/// keys whose differences take one to four bytes.
pub(crate) fn small() -> Vec<(String, Sample)> {
    let encodings = [
        ("packed", Encoding::Packed),
        ("compressed", Encoding::Compressed),
        ("short", Encoding::Short),
        ("pairs", Encoding::Pairs),
    ];
    let mut all = Vec::new();
    for (encoding_name, encoding) in encodings {
        for (kind_name, kind, weights) in KINDS {
            let mut weights = weights.iter().copied().cycle();
            let mut tile = |source: u32, keys: &[u32]| {
                let count = if kind == WeightKind::None { 0 } else { keys.len() };
                (source, keys.to_vec(), weights.by_ref().take(count).collect())
            };
            let tiles = vec![
                tile(0, &[0, 1, 1, 256, 65_536, 65_791, 1 << 20, (1 << 20) + 3, u32::MAX]),
                tile(4096, &[(5 << 20) + 17]),
                tile(8192, &[]),
                tile(1 << 20, &[7, 8, 9, 10, 0xff00_0000, 0xff00_0001]),
            ];
            let sample = Sample { label: label(encoding, kind), tiles };
            all.push((format!("{encoding_name}-{kind_name}"), sample));
        }
    }
    all
}

/// A chunk whose keys fill more than one group of checksums.
pub(crate) fn groups() -> Sample {
    let tile = |tile: u32| {
        let keys: Vec<u32> = (0..2000).map(|key| key * 200 + key % 7 * tile).collect();
        let weights = keys.iter().map(|key| f64::from(key % 251)).collect();
        (tile * 4096, keys, weights)
    };
    let label =
        Label { source_base: 0, target_base: 0, ..label(Encoding::Compressed, WeightKind::U8) };
    Sample { label, tiles: (0..15).map(tile).collect() }
}
