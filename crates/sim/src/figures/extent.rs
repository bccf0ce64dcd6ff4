//! Scales of graphs and numbers of machines that a figure is made for.

/// Size of the runs of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Graphs have the paper's scale less this. Chunks stay as they are, so there are fewer.
    pub shrink: u32,
    /// The most machines: a power of two.
    pub most: usize,
}

impl Extent {
    /// The smallest that shows what is claimed.
    pub const TEST: Self = Self { shrink: 5, most: 8 };

    /// Numbers of machines: powers of two.
    pub(super) fn machines(self) -> Vec<usize> {
        (0..=self.most.ilog2()).map(|power| 1 << power).collect()
    }

    pub(super) fn ticks(self) -> Vec<String> {
        self.machines().iter().map(ToString::to_string).collect()
    }

    /// The paper's scale, on as many machines.
    pub(super) fn whole(self) -> Self {
        Self { shrink: 0, ..self }
    }
}
