//! The programs of the command, compiled.
//!
//! The engine is generic in a program up to its kernel, so loops over edges are compiled where a
//! program's type is known. That is here, once for each type and not in the command: options and
//! reports can then be compiled for size, and neither they nor their texts make loops be compiled
//! anew. A trait for each kind of program has the calls that the command makes, and is implemented
//! for types without parameters.
//!
//! Here is no option, no text and no file.
//!
//! ```
//! use std::sync::Arc;
//!
//! use welter_algorithms::PageRank;
//! use welter_algorithms::pagerank::Dangling;
//! use welter_programs::CompiledFold;
//!
//! let program = Arc::new(PageRank::<f32>::new(4, 0.85, 20, 0.0, Dangling::Spread));
//! let kernel = CompiledFold::kernel(program);
//! // A rank, and what each edge takes of it.
//! assert_eq!(kernel.shape().value, 2 * size_of::<f32>());
//! ```

/// Implements a trait of programs that run on a graph and have a kernel, by calls of the engine.
macro_rules! compiled_on_graphs {
    ($kind:ident, $run:ident, $kernel:ident: $($program:ty),* $(,)?) => {$(
        impl $kind for $program {
            #[inline(never)]
            fn run(
                &self,
                graph: &Graph,
                workers: &Workers,
                progress: &Progress,
                checkpoints: Option<&Checkpoints>,
            ) -> Result<Outcome<Self::Value, Self::Total>, EngineError> {
                $run(graph, self, workers, progress, checkpoints)
            }

            #[inline(never)]
            fn kernel(program: Arc<Self>) -> $kernel {
                $kernel::of(program)
            }
        }
    )*};
}

mod contractions;
mod extended;
mod folds;
mod scans;
mod streams;
mod triangles;

pub use contractions::CompiledContraction;
pub use extended::CompiledExtended;
pub use folds::{CompiledFold, peel};
pub use scans::CompiledScan;
pub use streams::{CompiledOverInput, CompiledPasses, CompiledStream};
pub use triangles::CompiledTriangles;
