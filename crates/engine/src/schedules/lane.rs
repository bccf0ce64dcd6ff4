//! A lane of edges of an extended program: edges come by in the order of the lane, each with its
//! state.

use std::ops::Range;

use welter_store::chunk::Tile;

use crate::EngineError;
use crate::columns::edge_states::Rewriter;
use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::kernels::keys::{Keys, Reach, Width};
use crate::kernels::seam::{EndpointColumns, ExtendedKernel, SourceSignals};

/// The states of a lane: those that are in memory, and the way along the others.
pub(crate) struct Lane<'l, 's> {
    resident: &'l mut [u8],
    rewriter: &'l mut Rewriter<'s>,
}

impl<'l, 's> Lane<'l, 's> {
    /// Begins a lane. `at`: its number, and that of the one that the worker will begin then.
    pub(crate) fn begin(
        at: (usize, Option<usize>),
        resident: &'l mut [u8],
        rewriter: &'l mut Rewriter<'s>,
    ) -> Result<Self, EngineError> {
        rewriter.begin(at.0, at.1)?;
        Ok(Self { resident, rewriter })
    }

    /// Shows the edges of a tile.
    pub(crate) fn tile(
        &mut self,
        kernel: &dyn ExtendedKernel,
        (tile, coding): (&Tile<'_>, Coding),
        ends: EndpointColumns<'_>,
        accums: &mut [u8],
        scratch: &mut DecodeBuffers,
    ) -> Result<(), EngineError> {
        let mut done = Ok(());
        coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
            if done.is_ok() {
                let keys = Width.hold(keys, coding.target_bits);
                done = self.extend(kernel, (keys, weights), ends, accums);
            }
        });
        done
    }

    /// Shows some edges of a tile, with the states that come next.
    pub(crate) fn extend(
        &mut self,
        kernel: &dyn ExtendedKernel,
        (keys, weights): (Keys<'_>, Option<&[f64]>),
        ends: EndpointColumns<'_>,
        accums: &mut [u8],
    ) -> Result<(), EngineError> {
        let shape = kernel.shape();
        let (mut shown, count) = (0, keys.keys().len());
        while shown < count {
            let states = self.rewriter.next(self.resident, count - shown)?;
            let run = shown..shown + states.len() / shape.state;
            shown = run.end;
            let weights = weights.map(|weights| &weights[run.clone()]);
            let ends = EndpointColumns {
                source_signals: part(ends.source_signals, run.clone(), shape.signal),
                ..ends
            };
            kernel.extend((keys.part(run), weights), ends, states, accums);
        }
        Ok(())
    }

    /// Ends the lane, all of whose edges were shown.
    pub(crate) fn end(self) -> Result<(), EngineError> {
        self.rewriter.end(self.resident.len())
    }
}

/// Signals along some of the edges, of `width` bytes each.
fn part(source_signals: SourceSignals<'_>, edges: Range<usize>, width: usize) -> SourceSignals<'_> {
    match source_signals {
        SourceSignals::Sources(_) => source_signals,
        SourceSignals::Edges(signals) => {
            SourceSignals::Edges(&signals[edges.start * width..edges.end * width])
        }
    }
}
