//! Ranges of vertices, and what updates do to them at once.
//!
//! A monotone program lets accumulators be applied one after the other, so pushes and pulls keep
//! none: an update changes its vertex as it arrives, and the vertex goes on a list.
//!
//! Invariant: a range's vertices belong to one thread at a time. Checked in `updated::with`, which
//! takes a range as a slice of its own.

use welter_model::program::{Applied, Program, Total};

/// Applies an update at once, which a monotone program allows.
#[inline(always)]
pub(crate) fn apply<P: Program>(
    program: &P,
    value: P::Value,
    update: P::Update,
    last: &P::Total,
) -> Applied<P::Value, P::Total> {
    program.apply(value, program.gather(program.identity(), update), last)
}

/// Vertices of a range that changed.
pub(crate) struct UpdatedList<P: Program> {
    /// Vertices that updates activated, perhaps several times each.
    pub(crate) changed: Vec<u32>,
    total: P::Total,
}

impl<P: Program> Default for UpdatedList<P> {
    fn default() -> Self {
        Self { changed: Vec::new(), total: P::Total::default() }
    }
}

impl<P: Program> UpdatedList<P> {
    /// The totals and the vertices of all ranges.
    pub(crate) fn concat(lists: &[Self]) -> (P::Total, Vec<u32>) {
        let total = lists.iter().fold(P::Total::default(), |sum, list| sum.merge(list.total));
        let count = lists.iter().map(|list| list.changed.len()).sum();
        let mut changed = Vec::with_capacity(count);
        for list in lists {
            changed.extend_from_slice(&list.changed);
        }
        (total, changed)
    }
}

/// A range of vertices, and what updates do to it.
pub(crate) struct UpdatedRange<'a, P: Program> {
    /// First vertex of the range.
    pub(crate) base: usize,
    pub(crate) values: &'a mut [P::Value],
    list: UpdatedList<P>,
}

impl<P: Program> UpdatedRange<'_, P> {
    /// Applies an update at once, which a monotone program allows.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        program: &P,
        place: usize,
        update: P::Update,
        last: &P::Total,
    ) {
        let value = &mut self.values[place];
        if program.settled(value, last) {
            return;
        }
        let applied = apply(program, *value, update, last);
        *value = applied.value;
        self.list.total = self.list.total.merge(applied.total);
        if applied.active {
            self.list.changed.push((self.base + place) as u32);
        }
    }
}

/// A range with the place of its list.
pub(crate) type UpdatedPart<'a, P> = (UpdatedRange<'a, P>, &'a mut UpdatedList<P>);

/// Values in ranges of `width` vertices, each with its list.
pub(crate) fn ranges<'a, P: Program>(
    values: &'a mut [P::Value],
    width: usize,
    lists: &'a mut [UpdatedList<P>],
) -> impl Iterator<Item = UpdatedPart<'a, P>> + Send {
    values.chunks_mut(width).zip(lists).enumerate().map(move |(number, (values, list))| {
        (UpdatedRange { base: number * width, values, list: UpdatedList::default() }, list)
    })
}

/// Works on a range. Its list comes along and goes back, because lists of neighbours share cache
/// lines: two workers that wrote to them at every vertex took 116 ms for a pull that takes 37 to 66
/// now.
pub(crate) fn with<P: Program>(
    (mut range, list): UpdatedPart<'_, P>,
    work: impl FnOnce(&mut UpdatedRange<'_, P>),
) {
    range.list = std::mem::take(list);
    work(&mut range);
    *list = range.list;
}
