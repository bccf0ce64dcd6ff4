//! Kernels of programs over triangles.
//!
//! The triangles of a graph do not depend on the program, so its kernel makes values only; loops
//! over rows ask whether directions count, and are compiled for either answer.

use bytemuck::TransparentWrapper;
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

/// A program over triangles as a kernel, as [`Folded`](super::folded::Folded) is of a fold program.
#[derive(TransparentWrapper)]
#[repr(transparent)]
pub(crate) struct Triangular<I>(I);

impl<I: Intersect> TriangleKernel for Triangular<I> {
    fn shape(&self) -> &TriangleShape {
        const { &TriangleShape::of::<I>() }
    }

    fn values(&self, neighbours: &[u32], closed: &[u64], values: &mut [u8]) {
        let vertices = neighbours.iter().zip(closed);
        for (value, (&neighbours, &closed)) in elements_mut(values).iter_mut().zip(vertices) {
            *value = self.0.value(neighbours.into(), closed);
        }
    }
}
