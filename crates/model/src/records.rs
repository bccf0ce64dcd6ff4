//! The layouts of raw records, which are read and written: source, target, and the weight if there
//! is one, little-endian and without padding.

/// Layout of a record: the types of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawLayout {
    /// Whether ids are 64-bit rather than 32-bit.
    pub wide: bool,
    /// Type of the weight that follows the two ids.
    pub weight: RawWeight,
}

/// Type of the weight of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RawWeight {
    /// No weight.
    #[default]
    None,
    /// A 32-bit float; where a weight is written as one, the nearest to it.
    F32,
    /// A 64-bit float.
    F64,
}

/// Each layout and its name, which is also the extension of files of such records.
pub const RAW_LAYOUTS: [(RawLayout, &str); 6] = [
    (RawLayout { wide: false, weight: RawWeight::None }, "u32"),
    (RawLayout { wide: true, weight: RawWeight::None }, "u64"),
    (RawLayout { wide: false, weight: RawWeight::F32 }, "u32f32"),
    (RawLayout { wide: false, weight: RawWeight::F64 }, "u32f64"),
    (RawLayout { wide: true, weight: RawWeight::F32 }, "u64f32"),
    (RawLayout { wide: true, weight: RawWeight::F64 }, "u64f64"),
];

impl RawLayout {
    /// Bytes of both ids.
    pub const fn id_bytes(self) -> usize {
        if self.wide { 16 } else { 8 }
    }

    /// Bytes of a record.
    pub const fn record_bytes(self) -> usize {
        let weight = match self.weight {
            RawWeight::None => 0,
            RawWeight::F32 => 4,
            RawWeight::F64 => 8,
        };
        self.id_bytes() + weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_bytes_of_records() {
        for (layout, name) in RAW_LAYOUTS {
            let bits = name.split(['u', 'f']).filter_map(|bits| bits.parse::<usize>().ok());
            let all: usize = bits.sum();
            let ids = if layout.wide { 64 } else { 32 };
            assert_eq!(layout.record_bytes() * 8, all + ids, "{name}");
        }
    }
}
