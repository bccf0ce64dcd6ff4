//! The designs: `BlitzG`'s, its four overheads each alone, and those that it compares with.

use anyhow::{Context, Result};

use super::arrivals::{Queues, Sums};
use super::buffers::{Outgoing, Own, Shared};
use super::carriers::{Incoming, Manner, queues, sockets};
use super::lanes;
use super::program::VertexProgram;
use super::rows::Partitions;
use super::supersteps::run;

/// An overhead of the paper (II-B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overhead {
    /// Messages travel by sockets of the kernel.
    Kernel,
    /// Messages are copied twice at each side.
    Copies,
    /// Parsers sleep until they are woken.
    Interrupts,
    /// Threads share message buffers, and take a lock for each message.
    Locks,
}

/// Buffers and carriers of messages.
#[derive(Clone, Copy, Debug)]
enum Buffers {
    /// Rings of buckets, which are folded from where they lie.
    Rings,
    /// Vectors, with overheads.
    Vectors(&'static [Overhead]),
}

/// A design of a whole vertex program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Design {
    /// Name in tables and of numbers.
    pub(super) name: &'static str,
    buffers: Buffers,
    /// Whether a vertex has queues, into which a parser dispatches, and gathers from them; else it
    /// has accumulators.
    has_queues: bool,
}

const fn design(name: &'static str, overheads: &'static [Overhead]) -> Design {
    Design { name, buffers: Buffers::Vectors(overheads), has_queues: false }
}

/// All designs: the first one is the paper's own, those with one overhead differ from `buffers`.
pub(super) static DESIGNS: [Design; 9] = [
    Design { name: "lanes", buffers: Buffers::Rings, has_queues: false },
    design("buffers", &[]),
    design("kernel", &[Overhead::Kernel]),
    design("copies", &[Overhead::Copies]),
    design("interrupts", &[Overhead::Interrupts]),
    design("locks", &[Overhead::Locks]),
    design("sockets", &[Overhead::Kernel, Overhead::Copies, Overhead::Interrupts]),
    Design { has_queues: true, ..design("queues", &[]) },
    // GPS, and Pregel: shared buffers, sockets, a parser, two queues a vertex.
    Design { has_queues: true, ..design("gps", ALL) },
];

const ALL: &[Overhead] =
    &[Overhead::Kernel, Overhead::Copies, Overhead::Interrupts, Overhead::Locks];

/// The design of a name.
///
/// # Errors
/// When there is none.
pub(super) fn named(name: &str) -> Result<Design> {
    let found = DESIGNS.iter().find(|design| design.name == name);
    found.copied().with_context(|| format!("there is no design {name}"))
}

impl Design {
    /// Runs a program on a graph, and returns the values of each worker.
    ///
    /// # Errors
    /// When the system has no sockets.
    pub(super) fn run<P: VertexProgram>(
        self,
        graph: &Partitions,
        program: &P,
    ) -> Result<Vec<Vec<f32>>> {
        let workers = graph.parts().len();
        let Buffers::Vectors(overheads) = self.buffers else {
            return Ok(run::<P, Sums, _>(graph, program, lanes::memory(workers)));
        };
        let has = |overhead: Overhead| overheads.contains(&overhead);
        let manner = Manner { copies: has(Overhead::Copies), wakes: has(Overhead::Interrupts) };
        let ends = if has(Overhead::Kernel) {
            sockets(workers, manner).context("connecting workers")?
        } else {
            queues(workers, manner)
        };
        let (posts, incoming): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        Ok(if has(Overhead::Locks) {
            self.over(graph, program, Shared::group(posts).into_iter().zip(incoming).collect())
        } else {
            let own = posts.into_iter().map(|post| Own::new(workers, post));
            self.over(graph, program, own.zip(incoming).collect())
        })
    }

    /// Runs it over buffers.
    fn over<P: VertexProgram, O: Outgoing>(
        self,
        graph: &Partitions,
        program: &P,
        ends: Vec<(O, Box<dyn Incoming>)>,
    ) -> Vec<Vec<f32>> {
        if self.has_queues {
            run::<P, Queues, O>(graph, program, ends)
        } else {
            run::<P, Sums, O>(graph, program, ends)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::program::{PageRank, Paths};
    use super::super::reference::Algorithm;
    use super::*;
    use crate::inputs::{Inputs, Kind, Shape};
    use crate::outofcore::first_source;

    /// More messages than a buffer has, so that full ones are sent in the middle of a superstep.
    const SHAPE: Shape = Shape { kind: Kind::Rmat, scale: 12 };
    const ITERATIONS: usize = 5;

    #[test]
    fn all_designs_have_the_answers_of_plain_loops() {
        let folder = tempfile::tempdir().unwrap();
        let path = Inputs::open(Some(folder.path())).unwrap().raw(SHAPE).unwrap();
        let source = first_source(&path).unwrap();
        let answers = Algorithm::ALL.map(|it| it.answer(&path, source, ITERATIONS).unwrap());
        for bits in [0, 1, 2] {
            let graph = Partitions::read(&path, bits).unwrap();
            let ranking = PageRank::new(graph.vertices(), ITERATIONS);
            for design in DESIGNS {
                let ranks = design.run(&graph, &ranking).unwrap();
                let lengths = design.run(&graph, &Paths { source }).unwrap();
                let both = [ranks, lengths];
                for ((algorithm, answer), values) in Algorithm::ALL.iter().zip(&answers).zip(&both)
                {
                    let who = format!("{} on {} workers", design.name, 1 << bits);
                    let values: Vec<Option<f64>> =
                        graph.by_id(values).into_iter().map(Some).collect();
                    algorithm.check(&who, answer, &values).unwrap();
                }
            }
        }
    }

    #[test]
    fn each_overhead_is_switched_on_alone() {
        let alone = |overhead: &Overhead| {
            let is_it = |design: &&Design| match design.buffers {
                Buffers::Vectors(overheads) => overheads == [*overhead] && !design.has_queues,
                Buffers::Rings => false,
            };
            DESIGNS.iter().filter(is_it).count()
        };
        assert_eq!(ALL.iter().map(alone).collect::<Vec<_>>(), [1; 4]);
        assert!(named("gps").unwrap().has_queues && named("nothing").is_err());
    }
}
