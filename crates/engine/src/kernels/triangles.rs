//! Kernels of programs over triangles.
//!
//! Which triangles there are does not depend on the program, so its kernel makes values only; loops
//! over rows ask whether directions count, and are compiled for either answer.

use std::ops::Deref;

use welter_model::intersect::Intersect;

use crate::kernels::seam::elements_mut;
use crate::kernels::shape::TriangleShape;

/// Calls that a walk over triangles makes of a program.
pub(crate) trait TriangleKernel: Sync {
    /// Widths and capabilities.
    fn shape(&self) -> &TriangleShape;

    /// Sets values of vertices with these numbers of neighbours, and of edges between these.
    fn values(&self, neighbours: &[u32], closed: &[u64], values: &mut [u8]);
}

/// A program over triangles as a kernel, by a reference that a run borrows or a worker owns.
pub(crate) struct Triangular<R> {
    program: R,
    shape: TriangleShape,
}

impl<I: Intersect, R: Deref<Target = I>> Triangular<R> {
    pub(crate) fn new(program: R) -> Self {
        Self { program, shape: TriangleShape::of::<I>() }
    }
}

impl<I: Intersect, R: Deref<Target = I> + Sync> TriangleKernel for Triangular<R> {
    fn shape(&self) -> &TriangleShape {
        &self.shape
    }

    fn values(&self, neighbours: &[u32], closed: &[u64], values: &mut [u8]) {
        let vertices = neighbours.iter().zip(closed);
        for (value, (&neighbours, &closed)) in elements_mut(values).iter_mut().zip(vertices) {
            *value = self.program.value(neighbours.into(), closed);
        }
    }
}
