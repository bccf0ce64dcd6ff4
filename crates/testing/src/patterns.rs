//! Edge lists whose ends are chosen in ways that fill a plan's bins unevenly.

use welter_model::edges::EdgeList;

/// Pattern by which the ends of edges are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// By chance.
    Uniform,
    /// Every edge ends in the same vertex.
    StarIn,
    /// Every edge begins in the same vertex.
    StarOut,
    /// Half of the edges run between this many vertices.
    Dense(u32),
    /// Ends are next to each other.
    Near,
}

impl Pattern {
    /// All patterns. `dense`: how many vertices half of the edges run between.
    pub fn all(dense: u32) -> [Self; 5] {
        [Self::Uniform, Self::StarIn, Self::StarOut, Self::Dense(dense), Self::Near]
    }

    /// `count` edges (a multiple of 16, in 16 parts) between `slots` slots, the same each time;
    /// weights are thirds of the source.
    pub fn edges(self, count: u32, slots: u32, weighted: bool) -> EdgeList {
        let mut state = 7_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32
        };
        let mut list = EdgeList::new(Some(slots.into()), weighted);
        for _ in 0..16 {
            let pairs: Vec<_> =
                (0..count / 16).map(|edge| self.pair(edge, slots, &mut random)).collect();
            let weights = pairs.iter().map(|pair| f64::from(pair[0]) / 3.0);
            let weights = if weighted { weights.collect() } else { Vec::new() };
            list.push(pairs, weights);
        }
        list
    }

    fn pair(self, edge: u32, slots: u32, random: &mut impl FnMut() -> u32) -> [u32; 2] {
        match self {
            Self::StarIn => [random() % slots, 17],
            Self::StarOut => [17, random() % slots],
            Self::Dense(few) if edge.is_multiple_of(2) => [random() % few, random() % few],
            Self::Uniform | Self::Dense(_) => [random() % slots, random() % slots],
            Self::Near => {
                let source = random() % slots;
                [source, (source + random() % 8) % slots]
            }
        }
    }
}
