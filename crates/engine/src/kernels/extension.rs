//! The kernel of an extended program.

use bytemuck::{TransparentWrapper, bytes_of, pod_read_unaligned};
use welter_model::extended::Extended;
use welter_model::limit::Limit;
use welter_model::program::{Next, Total, Vertex};

use crate::kernels::apply::{fill, repeated};
use crate::kernels::endpoints::{self, apply_vertices};
use crate::kernels::folded::{fold, merged};
use crate::kernels::keys::Keys;
use crate::kernels::seam::{
    EndpointColumns, ExtendedKernel, Kernel, Segment, SourceSignals, elements, elements_mut,
};
use crate::kernels::shape::KernelShape;
use crate::kernels::sink::RecordRun;

/// An extended program as a kernel, as [`Folded`](super::folded::Folded) is of a fold program.
#[derive(TransparentWrapper)]
#[repr(transparent)]
pub(crate) struct Extension<E>(E);

impl<E: Extended> Extension<E> {
    /// Sets values to what `applied` makes of their places and them. All vertices are active.
    fn apply_vertices(
        &self,
        vertices: Segment<'_>,
        applied: impl Fn(usize, E::Value) -> (E::Value, E::Total),
    ) -> u64 {
        let Segment { values, signals, total, multiplicity, .. } = vertices;
        let values = elements_mut::<E::Value>(values);
        let active = values.len() as u64;
        let [sum, last] = apply_vertices(&self.0, values, elements_mut(signals), applied);
        total.copy_from_slice(bytes_of(&sum.merge(repeated(last, multiplicity - 1))));
        active
    }
}

impl<E: Extended> Kernel for Extension<E> {
    fn shape(&self) -> &KernelShape {
        const { &KernelShape::of_extended::<E>() }
    }

    fn next(&self, iterations: u64, total: &[u8]) -> Next {
        self.0.next(iterations, &pod_read_unaligned(total))
    }

    fn limit(&self) -> Limit {
        self.0.limit()
    }

    fn total(&self, segments: &[u8]) -> Vec<u8> {
        merged::<E::Total>(segments)
    }

    fn init(&self, vertices: Segment<'_>, first: u64, degrees: &[u32]) -> u64 {
        self.apply_vertices(vertices, |place, _| {
            let index = first + place as u64;
            self.0.init(Vertex { index, out_degree: degrees[place].into() })
        })
    }

    fn apply(&self, vertices: Segment<'_>, accums: &[u8], last: &[u8]) -> u64 {
        let (accums, last) = (elements::<E::Accum>(accums), pod_read_unaligned(last));
        self.apply_vertices(vertices, |place, value| self.0.apply(value, accums[place], &last))
    }

    fn signal(&self, values: &[u8], signals: &mut [u8]) {
        fill(elements_mut(signals), elements(values), |value: &E::Value| self.0.signal(value));
    }

    fn clear(&self, accums: &mut [u8]) {
        elements_mut(accums).fill(self.0.identity());
    }
}

impl<E: Extended> ExtendedKernel for Extension<E> {
    fn extend(
        &self,
        (keys, weights): (Keys<'_>, Option<&[f64]>),
        ends: EndpointColumns<'_>,
        states: &mut [u8],
        accums: &mut [u8],
    ) {
        let program = &self.0;
        let accums = &mut elements_mut::<E::Accum>(accums)[..keys.targets()];
        typed(program, ends).run(
            keys,
            weights,
            elements_mut(states),
            #[inline(always)]
            |target, update| accums[target] = program.gather(accums[target], update),
        );
    }

    fn scatter_edges(
        &self,
        (keys, weights): (Keys<'_>, Option<&[f64]>),
        ends: EndpointColumns<'_>,
        states: &mut [u8],
        run: RecordRun<'_>,
    ) -> usize {
        let (targets, records) = (run.targets, elements_mut(run.records));
        let mut count = 0;
        typed(&self.0, ends).run(
            keys,
            weights,
            elements_mut(states),
            #[inline(always)]
            |target, update| {
                (targets[count], records[count]) = (target as u32, update);
                count += 1;
            },
        );
        count
    }

    fn gather(&self, (targets, records): (&[u32], &[u8]), accums: &mut [u8]) -> bool {
        let (records, accums) = (elements(records), elements_mut(accums));
        fold(targets, records, accums, |accum, update| self.0.gather(accum, update))
    }
}

/// Signals at the ends of edges, of their type.
fn typed<'a, E: Extended>(
    program: &'a E,
    ends: EndpointColumns<'a>,
) -> endpoints::EndpointSignals<'a, E> {
    let source_signals = match ends.source_signals {
        SourceSignals::Sources(signals) => endpoints::SourceSignals::Sources(elements(signals)),
        SourceSignals::Edges(signals) => endpoints::SourceSignals::Edges(elements(signals)),
    };
    endpoints::EndpointSignals {
        program,
        base: ends.base,
        source_signals,
        targets: elements(ends.targets),
    }
}
