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

    /// By how many powers of two graphs are smaller that are so by `more` than others: by none
    /// where others have the paper's scale.
    pub(super) fn smaller(self, more: u32) -> u32 {
        if self.shrink == 0 { 0 } else { self.shrink + more }
    }

    /// The paper's scale, on as many machines.
    pub(super) fn whole(self) -> Self {
        Self { shrink: 0, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_that_are_smaller_yet_have_the_papers_scale_where_others_do() {
        let smaller = |shrink| Extent { shrink, ..Extent::TEST }.smaller(4);
        assert_eq!([0, 1, 4].map(smaller), [0, 5, 8]);
    }
}
