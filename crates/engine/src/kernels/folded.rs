//! The kernel of a fold program.

use bytemuck::{TransparentWrapper, bytes_of, pod_read_unaligned};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Vertex};
use welter_store::chunk::Tile;

use crate::EngineError;
use crate::kernels::apply::{Vertices, fill, repeated};
use crate::kernels::groups::Groups;
use crate::kernels::kernel::{Coding, DecodeBuffers, Sources, fold_short, fold_tile};
use crate::kernels::keys::ColumnLengths;
use crate::kernels::scatter;
use crate::kernels::seam::{FoldKernel, Kernel, Segment, TileFold, elements, elements_mut};
use crate::kernels::shape::KernelShape;
use crate::kernels::sink::Sink;
use crate::machine::dispatch::dispatched;

/// A fold program as a kernel. A reference to the program becomes one to its kernel, whether a run
/// borrows it or a worker shares it, so that kernels are compiled once a program.
#[derive(TransparentWrapper)]
#[repr(transparent)]
pub(crate) struct Folded<P>(P);

/// Sets values to what `applied` makes of their places and them, and all that follows from them.
fn apply_vertices<P: Program>(
    program: &P,
    vertices: Segment<'_>,
    applied: impl Fn(usize, P::Value) -> Applied<P::Value, P::Total>,
) -> u64 {
    let Segment { values, signals, active, total, multiplicity } = vertices;
    let columns =
        Vertices::<P> { values: elements_mut(values), signals: elements_mut(signals), active };
    let totals = dispatched(
        #[inline(always)]
        || columns.apply_vertices(program, applied),
    );
    let sum = totals.total.merge(repeated(totals.last, multiplicity - 1));
    total.copy_from_slice(bytes_of(&sum));
    totals.active
}

impl<P: Program> Kernel for Folded<P> {
    fn shape(&self) -> &KernelShape {
        const { &KernelShape::of::<P>() }
    }

    fn next(&self, iterations: u64, total: &[u8]) -> Next {
        self.0.next(iterations, &pod_read_unaligned(total))
    }

    fn limit(&self) -> Limit {
        self.0.limit()
    }

    fn total(&self, segments: &[u8]) -> Vec<u8> {
        merged::<P::Total>(segments)
    }

    fn init(&self, vertices: Segment<'_>, first: u64, degrees: &[u32]) -> u64 {
        let program = &self.0;
        apply_vertices(
            program,
            vertices,
            #[inline(always)]
            |place, _| {
                let index = first + place as u64;
                program.init(Vertex { index, out_degree: degrees[place].into() })
            },
        )
    }

    fn apply(&self, vertices: Segment<'_>, accums: &[u8], last: &[u8]) -> u64 {
        let (program, accums) = (&self.0, elements::<P::Accum>(accums));
        let last: P::Total = pod_read_unaligned(last);
        apply_vertices(
            program,
            vertices,
            #[inline(always)]
            |place, value| program.apply(value, accums[place], &last),
        )
    }

    fn signal(&self, values: &[u8], signals: &mut [u8]) {
        fill(elements_mut(signals), elements(values), |value: &P::Value| self.0.signal(value));
    }

    fn clear(&self, accums: &mut [u8]) {
        elements_mut(accums).fill(self.0.identity());
    }
}

impl<P: Program> FoldKernel for Folded<P> {
    fn begin(&self, values: &[u8], accums: &mut [u8]) {
        fill(elements_mut(accums), elements(values), |value: &P::Value| self.0.init_accum(value));
    }

    fn fold(
        &self,
        edges: TileFold<'_>,
        accums: &mut [u8],
        scratch: &mut DecodeBuffers,
    ) -> Option<u32> {
        let TileFold { tile, edges, coding, is_short, sources } = edges;
        let (sources, accums) = (typed(sources), elements_mut(accums));
        if is_short {
            return fold_short(&self.0, tile, coding, sources, accums, scratch);
        }
        fold_tile(&self.0, tile, edges, coding, sources, accums, scratch);
        None
    }

    fn scatter(
        &self,
        edges: (&Tile<'_>, Coding, Option<&ColumnLengths>),
        sources: Sources<'_, u8>,
        scratch: &mut DecodeBuffers,
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError> {
        scatter::scatter(&self.0, edges, typed(sources), scratch, sink)
    }

    fn drain(&self, accums: &mut [u8], sink: &mut dyn Sink) -> Result<(), EngineError> {
        scatter::drain::<P::Accum>(elements_mut(accums), self.0.identity(), sink)
    }

    fn merge(&self, (targets, records): (&[u32], &[u8]), accums: &mut [u8]) -> bool {
        let (records, accums) = (elements(records), elements_mut(accums));
        fold(targets, records, accums, |accum, other| self.0.merge(accum, other))
    }

    fn gather(&self, (targets, records): (&[u32], &[u8]), accums: &mut [u8]) -> bool {
        let (records, accums) = (elements(records), elements_mut(accums));
        fold(targets, records, accums, |accum, update| self.0.gather(accum, update))
    }

    fn put(&self, (targets, records): (&[u32], &[u8]), groups: &mut Groups) {
        let mut piece = groups.piece::<P::Update>();
        for (&target, &update) in targets.iter().zip(elements(records)) {
            piece.put(target as usize, update);
        }
    }

    fn group(
        &self,
        groups: &mut Groups,
        degrees: &[u32],
        values: &[u8],
        accums: &mut [u8],
    ) -> Result<(), EngineError> {
        groups.gather(&self.0, degrees, elements(values), elements_mut(accums))
    }
}

/// Totals merged in their order.
pub(crate) fn merged<T: Total>(totals: &[u8]) -> Vec<u8> {
    let each = totals.chunks_exact(size_of::<T>().max(1)).map(pod_read_unaligned::<T>);
    bytes_of(&each.fold(T::default(), T::merge)).to_vec()
}

/// Signals of sources, of their type.
fn typed<S: bytemuck::Pod>(sources: Sources<'_, u8>) -> Sources<'_, S> {
    let Sources { signals, active } = sources;
    Sources { signals: elements(signals), active }
}

/// Folds records into the accumulators of their destinations, and says whether all have one.
pub(crate) fn fold<A: Copy, R: Copy>(
    targets: &[u32],
    records: &[R],
    accums: &mut [A],
    fold: impl Fn(A, R) -> A,
) -> bool {
    targets.iter().zip(records).all(|(&target, &record)| {
        let accum = accums.get_mut(target as usize);
        accum.map(|accum| *accum = fold(*accum, record)).is_some()
    })
}
