//! Kernels that own their programs, so that they live as long as a worker does.
//!
//! A run borrows its program from the caller of the run. A worker of a cluster outlives the call
//! that made it, so its kernel shares the program. Columns are bytes of the widths that the
//! [shape](KernelShape) says.
//!
//! Invariant: elements of no column want more than [`ALIGN`] bytes of alignment. Asserted in
//! `FoldKernel::of`, in `ExtendedKernel::of` and in `IntersectKernel::of`.

use std::sync::Arc;

use bytemuck::allocation::TransparentWrapperAlloc;
use welter_model::extended::Extended;
use welter_model::intersect::Intersect;
use welter_model::program::{Next, Program};

use crate::kernels::extension::Extension;
use crate::kernels::folded::Folded;
use crate::kernels::seam;
use crate::kernels::shape::KernelShape;
use crate::kernels::triangles::{TriangleKernel, Triangular};

/// Bytes that divide the address of any column: a [`Column`](super::Column) has it, and so must
/// chunks that are opened.
pub const ALIGN: usize = 8;

/// The kernel of a fold program.
#[derive(Clone)]
pub struct FoldKernel(pub(super) Arc<dyn seam::FoldKernel + Send>);

/// The kernel of an extended program.
#[derive(Clone)]
pub struct ExtendedKernel(pub(super) Arc<dyn seam::ExtendedKernel + Send>);

/// The kernel of a program over triangles, which makes values of what was counted.
#[derive(Clone)]
pub struct IntersectKernel(Arc<dyn TriangleKernel + Send>);

/// A kernel of either kind. A clone shares the program.
#[derive(Clone)]
pub enum Kernel {
    /// Of a fold program, groups included.
    Fold(FoldKernel),
    /// Of a program whose edges have states.
    Extended(ExtendedKernel),
}

impl FoldKernel {
    /// The kernel of a program.
    pub fn of<P: Program + Send + 'static>(program: Arc<P>) -> Self {
        const {
            assert!(
                align_of::<P::Value>() <= ALIGN
                    && align_of::<P::Signal>() <= ALIGN
                    && align_of::<P::Update>() <= ALIGN
                    && align_of::<P::Accum>() <= ALIGN,
                "columns begin at multiples of ALIGN"
            );
        }
        Self(Folded::wrap_arc(program))
    }

    /// Widths of columns, and capabilities.
    pub fn shape(&self) -> &KernelShape {
        self.0.shape()
    }
}

impl ExtendedKernel {
    /// The kernel of a program.
    pub fn of<E: Extended + Send + 'static>(program: Arc<E>) -> Self {
        const {
            assert!(
                align_of::<E::Value>() <= ALIGN
                    && align_of::<E::Signal>() <= ALIGN
                    && align_of::<E::Update>() <= ALIGN
                    && align_of::<E::Accum>() <= ALIGN
                    && align_of::<E::State>() <= ALIGN,
                "columns begin at multiples of ALIGN"
            );
        }
        Self(Extension::wrap_arc(program))
    }

    /// Widths of columns, and capabilities.
    pub fn shape(&self) -> &KernelShape {
        self.0.shape()
    }
}

impl IntersectKernel {
    /// The kernel of a program.
    pub fn of<I: Intersect + Send + 'static>(program: Arc<I>) -> Self {
        const { assert!(align_of::<I::Value>() <= ALIGN, "columns begin at multiples of ALIGN") }
        Self(Triangular::wrap_arc(program))
    }

    /// Bytes of the value of a vertex.
    pub fn value_bytes(&self) -> usize {
        self.0.shape().value
    }

    /// Whether an edge on the far side counts once for each direction that it has.
    pub fn is_directed(&self) -> bool {
        self.0.shape().directed
    }

    /// Sets values of vertices with these numbers of neighbours, and of edges between these.
    ///
    /// # Panics
    /// When the column is not of whole elements, or not aligned, which is a bug of the caller.
    pub fn values(&self, neighbours: &[u32], closed: &[u64], values: &mut [u8]) {
        self.0.values(neighbours, closed, values);
    }
}

impl Kernel {
    /// The calls that both kinds have.
    pub(super) fn object(&self) -> &dyn seam::Kernel {
        match self {
            Self::Fold(kernel) => &*kernel.0,
            Self::Extended(kernel) => &*kernel.0,
        }
    }

    /// Widths of columns, and capabilities.
    pub fn shape(&self) -> &KernelShape {
        self.object().shape()
    }

    /// Whether to continue after `iterations` iterations, the last of which had these totals.
    ///
    /// # Panics
    /// When the totals are not of their width, which is a bug of the caller.
    pub fn next(&self, iterations: u64, total: &[u8]) -> Next {
        self.object().next(iterations, total)
    }

    /// Totals, one behind the other, merged in their order.
    pub fn total(&self, totals: &[u8]) -> Vec<u8> {
        self.object().total(totals)
    }

    /// Makes signals of values.
    ///
    /// # Panics
    /// When a column is not of whole elements, or not aligned, which is a bug of the caller.
    pub fn signal(&self, values: &[u8], signals: &mut [u8]) {
        self.object().signal(values, signals);
    }

    /// Makes all accumulators the one that has met no update.
    ///
    /// # Panics
    /// As [`Self::signal`].
    pub fn clear(&self, accums: &mut [u8]) {
        self.object().clear(accums);
    }
}
