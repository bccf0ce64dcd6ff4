//! Iterations of a monotone program that touch only what updates reach.
//!
//! Active vertices that have few edges are looked up: by granules ([`crate::schedules::sparse`])
//! or, where there are rows, by these ([`crate::schedules::push`]). Where one update is enough for
//! a vertex and there are rows of its sources, vertices look for it themselves instead of a dense
//! iteration ([`crate::schedules::pull`]). A run that looks through the edges again and again may
//! end by relaxing them part by part ([`crate::schedules::async_relax`]).
//!
//! Traversals are loops over single vertices, so programs are compiled into them: the other side of
//! the seam is an iteration.

use std::sync::Mutex;

use bytemuck::{bytes_of, pod_read_unaligned};
use welter_model::program::Program;

use crate::EngineError;
use crate::checkpoint::{Resume, RunProgress};
use crate::columns::levels::IterationStats;
use crate::columns::state::State;
use crate::edges::index::IndexedTiles;
use crate::kernels::kernel::DecodeBuffers;
use crate::machine::arena::Buffer;
use crate::schedules::access_path::AccessPath;
use crate::schedules::async_relax::{self, Blocking};
use crate::schedules::context::Context;
use crate::schedules::frontier::Frontier;
use crate::schedules::{pull, push, sparse};

/// Iterations of a monotone program beside dense ones.
pub(crate) trait Traversal {
    /// Begins, or continues from a checkpoint with these counts of lookups.
    fn begin(&mut self, active: u64, lookups: Option<[u64; 2]>) -> Result<(), EngineError>;

    /// An iteration that touches only what is reached, if one pays now, with its totals.
    fn step(
        &mut self,
        state: &mut State,
        last: &[u8],
    ) -> Result<Option<(Vec<u8>, IterationStats)>, EngineError>;

    /// Notes an iteration over all stripes, after which `active` vertices are active.
    fn after_all(&mut self, active: u64, level: IterationStats) -> Result<(), EngineError>;

    /// Lets columns say who is active.
    fn show(&mut self, state: &mut State);

    /// Counts of lookups so far.
    fn lookups(&self) -> [u64; 2];

    /// Relaxes all edges until nothing changes: the values of all vertices.
    fn relax(
        &mut self,
        cut: &Blocking,
        state: State,
        reached: &mut RunProgress,
        resume: &Resume<'_>,
    ) -> Result<Buffer<u8>, EngineError>;
}

/// The traversal of a monotone program.
pub(crate) struct Monotone<'a, P> {
    context: &'a Context<'a>,
    program: &'a P,
    tiles: Option<&'a IndexedTiles<'a>>,
    access: AccessPath<'a>,
    frontier: Frontier,
    scratch: Mutex<DecodeBuffers>,
}

impl<'a, P: Program> Monotone<'a, P> {
    pub(crate) fn new(
        context: &'a Context<'a>,
        program: &'a P,
        tiles: Option<&'a IndexedTiles<'a>>,
    ) -> Self {
        let access = AccessPath::new(context.graph, P::ANY_UPDATE_SUFFICES);
        let scratch = Mutex::new(DecodeBuffers::new());
        Self { context, program, tiles, access, frontier: Frontier::new(0), scratch }
    }
}

impl<P: Program> Traversal for Monotone<'_, P> {
    fn begin(&mut self, active: u64, lookups: Option<[u64; 2]>) -> Result<(), EngineError> {
        let Context { workers, progress, .. } = *self.context;
        self.frontier = Frontier::new(active);
        match lookups {
            Some(counts) => self.access.resume(counts, workers, progress),
            None => Ok(()),
        }
    }

    fn step(
        &mut self,
        state: &mut State,
        last: &[u8],
    ) -> Result<Option<(Vec<u8>, IterationStats)>, EngineError> {
        let (Context { graph, workers, progress, .. }, program) = (*self.context, self.program);
        let tools = (self.context, program);
        let last: P::Total = pod_read_unaligned(last);
        let (access, frontier) = (&mut self.access, &mut self.frontier);
        let selected = if access.out_rows.is_some() || self.tiles.is_some() {
            frontier.select(graph, program, &mut state.elements(), access.edges_most())
        } else {
            None
        };
        if selected.is_none() && access.out_rows.is_some() {
            frontier.show(program, &mut state.elements());
        }
        let done = match (selected, access.out_rows, self.tiles) {
            (Some(selected), Some(rows), _) => {
                let columns = &mut state.elements();
                push::iterate(tools, rows.view(), columns, frontier, &selected, &last)?
            }
            (Some(selected), None, Some(tiles)) => {
                access.count(&selected, workers, progress)?;
                sparse::prepare(graph, program, state)?;
                let columns = &mut state.elements();
                let tools = (self.context, program, &self.scratch);
                sparse::iterate(tools, tiles, columns, frontier, &selected, &last)?
            }
            _ => match access.in_rows {
                Some(rows) if P::ANY_UPDATE_SUFFICES => {
                    pull::iterate(tools, rows.view(), &mut state.elements(), frontier, &last)?
                }
                _ => return Ok(None),
            },
        };
        Ok(Some((bytes_of(&done.0).to_vec(), done.1)))
    }

    fn after_all(&mut self, active: u64, level: IterationStats) -> Result<(), EngineError> {
        self.frontier.scattered_all(active);
        self.access.pass(level, self.context.workers, self.context.progress)
    }

    fn show(&mut self, state: &mut State) {
        self.frontier.show(self.program, &mut state.elements());
    }

    fn lookups(&self) -> [u64; 2] {
        self.access.counts()
    }

    fn relax(
        &mut self,
        cut: &Blocking,
        state: State,
        reached: &mut RunProgress,
        resume: &Resume<'_>,
    ) -> Result<Buffer<u8>, EngineError> {
        // Code behind a false constant is not compiled for that program.
        if P::ORDER_INDEPENDENT {
            return async_relax::finish((self.context, self.program), cut, state, reached, resume);
        }
        Err(EngineError::internal("edges are relaxed in programs that say what that means"))
    }
}
