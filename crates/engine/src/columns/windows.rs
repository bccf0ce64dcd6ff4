//! Signals on storage, read in windows of sources for all workers together.
//!
//! Where signals do not fit in memory, edges are folded window after window: those whose sources'
//! signals are in memory now. One thread reads the next window while workers fold with the one
//! before; a window is free again when the last of them has dropped it.
//!
//! A tile belongs to the window in which its block of sources begins. Its edges may name sources
//! beyond, so more is read than the window: as far as a tile reaches, but not past the end of the
//! source partition, where every tile ends.
//!
//! Invariant: no more than [`WINDOWS`] windows are in memory. Checked in `Reader::new`: there are
//! as many columns for them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use bytemuck::Pod;
use welter_store::io::Queue;

use crate::EngineError;
use crate::edges::graph::{Graph, Stripe};
use crate::edges::slab_location::ChunkPlace;
use crate::edges::values::StoredColumn;
use crate::footprints::columns::{PIECE, WINDOWS, pieces};
use crate::kernels::kernel::Sources;
use crate::machine::arena::Buffer;
use crate::machine::workers::Workers;

/// Columns that windows are read from, or that what they will be is written to.
#[derive(Clone, Copy)]
pub(crate) struct Side<'s> {
    pub(crate) signals: &'s StoredColumn,
    /// Flags of active vertices, where edges ask for them.
    pub(crate) active: Option<&'s StoredColumn>,
}

/// Where sources are cut into windows.
pub(crate) struct Cuts {
    /// First source of each window, a multiple of the width of a block, and the number of vertices.
    bounds: Vec<u64>,
    /// Sources whose tiles begin in a block, at most.
    reach: u64,
}

impl Cuts {
    /// Windows of up to `sources` sources, or of a block where that is more. Their ends are those
    /// of source partitions where these are narrower.
    pub(crate) fn new(graph: &Graph, sources: u64) -> Self {
        let bits = graph.layout.block_bits;
        let most = (sources >> bits << bits).max(1 << bits);
        let reach = if graph.layout.wide_tiles { graph.signal_padding() as u64 } else { 1 << bits };
        let mut bounds = vec![0];
        let mut open = 0;
        for partition in &graph.partitions {
            let end = partition.end >> bits << bits;
            let first = partition.start >> bits << bits;
            if end - open > most && first > open {
                bounds.push(first);
                open = first;
            }
            while end - open > most {
                open += most;
                bounds.push(open);
            }
        }
        bounds.push(graph.vertices().max(open));
        Self { bounds, reach }
    }

    /// One window of all sources.
    pub(crate) fn whole(graph: &Graph) -> Self {
        Self::new(graph, u64::MAX)
    }

    /// Number of windows.
    pub(crate) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The sources at which tiles of a window begin.
    pub(crate) fn begins(&self, window: usize) -> Range<u64> {
        self.bounds[window]..self.bounds[window + 1]
    }

    /// The sources that tiles of a window may name.
    fn sources(&self, graph: &Graph, window: usize) -> Range<u64> {
        let begins = self.begins(window);
        let last = graph.partitions.partition_point(|partition| partition.start < begins.end);
        let named = graph.partitions[..last].last().map_or(0, |partition| partition.end);
        let end = (begins.end + self.reach).min(named);
        begins.start..end.max(begins.start)
    }

    /// The blocks of sources that tiles of a window may name.
    pub(crate) fn blocks(&self, graph: &Graph, window: usize) -> Range<usize> {
        graph.blocks(self.sources(graph, window))
    }

    /// Numbers of the chunks of a stripe that may have tiles in a window.
    pub(crate) fn chunks(&self, stripe: &Stripe, window: usize) -> Range<usize> {
        let begins = self.begins(window);
        let chunks = &stripe.chunks;
        // Its last tile begins somewhere before the end: tiles may be of one block or of many.
        let is_before = |place: &ChunkPlace| place.sources.end <= begins.start;
        let first = chunks.partition_point(is_before);
        let end = chunks.partition_point(|place| place.sources.start < begins.end);
        first..end.max(first)
    }

    /// Elements of a column of a window: no right key leads outside it.
    fn column(&self, graph: &Graph) -> usize {
        let widest = self.bounds.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
        (widest + graph.window_margin()) as usize
    }
}

/// Columns of a run of sources, in memory: signals, and flags of active vertices where edges ask
/// for them.
#[derive(Clone, Copy)]
pub(crate) struct SourceWindow<'a> {
    /// Number of the source that columns begin with; it wraps where they have room before vertex 0.
    first: u64,
    signals: &'a [u8],
    active: Option<&'a [u8]>,
    /// Bytes of a signal.
    width: usize,
    /// Number of sources.
    count: usize,
}

impl<'a> SourceWindow<'a> {
    /// A window of signals of `width` bytes each.
    pub(crate) fn new(
        first: u64,
        (signals, width): (&'a [u8], usize),
        active: Option<&'a [u8]>,
    ) -> Self {
        Self { first, signals, active, width, count: signals.len() / width.max(1) }
    }

    /// Columns from a source on, of `reach` sources or of those that are left.
    #[inline]
    pub(crate) fn sources(&self, first: u64, reach: usize) -> Sources<'a, u8> {
        let start = first.wrapping_sub(self.first) as usize;
        let end = (start + reach).min(self.count);
        let signals = &self.signals[start * self.width..end * self.width];
        Sources { signals, active: self.active.map(|active| &active[start..end]) }
    }
}

/// The signals of a window, and who is active, where that is asked for.
pub(crate) struct SignalWindow {
    /// The first source.
    first: u64,
    columns: Option<WindowColumns>,
    back: Sender<WindowColumns>,
}

struct WindowColumns {
    signals: Buffer<u8>,
    active: Buffer<u8>,
    is_active_known: bool,
}

impl SignalWindow {
    /// The columns, with signals of `width` bytes.
    pub(crate) fn sources(&self, width: usize) -> SourceWindow<'_> {
        let (signals, active) = match &self.columns {
            Some(WindowColumns { signals, active, is_active_known }) => {
                (&signals[..], is_active_known.then_some(&active[..]))
            }
            None => (&[][..], None),
        };
        SourceWindow::new(self.first, (signals, width), active)
    }
}

impl Drop for SignalWindow {
    fn drop(&mut self) {
        if let Some(columns) = self.columns.take() {
            // The channel has no reader any more when the iteration is over.
            let _ = self.back.send(columns);
        }
    }
}

/// A reader of windows.
pub(crate) struct Reader<'a> {
    graph: &'a Graph,
    pub(crate) cuts: &'a Cuts,
    side: SideReader,
    back: Sender<WindowColumns>,
    free: Receiver<WindowColumns>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
        cuts: &'a Cuts,
        side: Side<'_>,
    ) -> Result<Self, EngineError> {
        let (back, free) = std::sync::mpsc::channel();
        let sources = cuts.column(graph);
        let elements = sources * side.signals.elements::<u8>();
        for _ in 0..WINDOWS.min(cuts.len()) {
            let flags = if side.active.is_some() { sources } else { 0 };
            let (signals, active) = (Buffer::zeroed(elements)?, Buffer::zeroed(flags)?);
            // The other end is here.
            let _ = back.send(WindowColumns { signals, active, is_active_known: false });
        }
        Ok(Self { graph, cuts, side: SideReader::new(side)?, back, free })
    }

    /// Reads windows of a side in this order while workers meet them, each with a part of its own.
    /// `work`: what a worker does, and whether it met all windows; where it did not, another worker
    /// knows why.
    pub(crate) fn pass<T: Send>(
        &mut self,
        side: Side<'_>,
        order: impl Iterator<Item = usize> + Send,
        (workers, own): (&Workers, impl Iterator<Item = T>),
        work: impl Fn(usize, T, &Receiver<Arc<SignalWindow>>) -> Result<bool, EngineError> + Sync,
    ) -> Result<(), EngineError> {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..workers.threads()).map(|_| channel()).unzip();
        let (read, worked) = std::thread::scope(|scope| {
            let read = Workers::beside(scope, move || self.run(side, order, &senders))?;
            // A worker owns its end, so that it is dropped when the worker ends, whatever ends it.
            let own = own.zip(receivers);
            let worked =
                workers.each_with(own, |worker, (own, windows)| work(worker, own, &windows));
            Ok::<_, EngineError>((read.join(), worked))
        })?;
        read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if !worked?.into_iter().all(|whole| whole) {
            return Err(EngineError::internal("signals of sources are missing"));
        }
        Ok(())
    }

    /// Reads windows of a side one after the other, and gives each to all workers. Ends early when
    /// one of them needs no more.
    fn run(
        &mut self,
        side: Side<'_>,
        windows: impl Iterator<Item = usize>,
        workers: &[Sender<Arc<SignalWindow>>],
    ) -> Result<(), EngineError> {
        for window in windows {
            let Ok(mut columns) = self.free.recv() else { return Ok(()) };
            let sources = self.cuts.sources(self.graph, window);
            let own = (&mut columns.signals[..], &mut columns.active[..]);
            self.side.read(side, &sources, own)?;
            columns.is_active_known = side.active.is_some();
            let (first, back) = (sources.start, self.back.clone());
            let window = Arc::new(SignalWindow { first, columns: Some(columns), back });
            if workers.iter().any(|worker| worker.send(Arc::clone(&window)).is_err()) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// A reader of what sources said, and of who is active, where that is asked for.
pub(crate) struct SideReader {
    signals: PieceReader<u8>,
    active: Option<PieceReader<u8>>,
}

impl SideReader {
    pub(crate) fn new(side: Side<'_>) -> Result<Self, EngineError> {
        let active = side.active.map(PieceReader::new).transpose()?;
        Ok(Self { signals: PieceReader::new(side.signals)?, active })
    }

    /// Reads what is stored of `sources` to the begins of columns of signals and of flags.
    pub(crate) fn read(
        &mut self,
        side: Side<'_>,
        sources: &Range<u64>,
        (signals, active): (&mut [u8], &mut [u8]),
    ) -> Result<(), EngineError> {
        self.signals.read(side.signals, sources, signals)?;
        match (&mut self.active, side.active) {
            (Some(reader), Some(stored)) => reader.read(stored, sources, active),
            _ => Ok(()),
        }
    }
}

/// Reads a column piece by piece, a few at a time.
pub(crate) struct PieceReader<V: Pod + Send> {
    queue: Queue<Buffer<V>>,
    free: Vec<Buffer<V>>,
}

impl<V: Pod + Send> PieceReader<V> {
    pub(crate) fn new(stored: &StoredColumn) -> Result<Self, EngineError> {
        let piece = PIECE * stored.elements::<V>();
        let depth = pieces(stored.requests());
        let free = (0..depth).map(|_| Buffer::in_order(piece)).collect::<Result<_, _>>()?;
        Ok(Self { queue: stored.queue(depth)?, free })
    }

    /// Reads what is stored of `vertices` to the begin of `column`.
    pub(crate) fn read(
        &mut self,
        stored: &StoredColumn,
        vertices: &Range<u64>,
        column: &mut [V],
    ) -> Result<(), EngineError> {
        let pieces = stored.pieces(vertices.clone());
        let each = stored.elements::<V>();
        let mut next = pieces.iter().enumerate();
        loop {
            if let Some(memory) = self.free.pop() {
                if let Some((tag, piece)) = next.next() {
                    stored.read(piece, &mut self.queue, memory, tag as u64)?;
                    continue;
                }
                self.free.push(memory);
            }
            let Some(done) = self.queue.wait()? else { return Ok(()) };
            let piece = &pieces[done.tag as usize];
            stored.verify_piece(piece, &done.memory)?;
            let Range { start, end } = piece.vertices;
            let (from, to) = (start.max(vertices.start), end.min(vertices.end));
            let place = |vertex: u64, base: u64| (vertex - base) as usize * each;
            column[place(from, vertices.start)..place(to, vertices.start)]
                .copy_from_slice(&done.memory[place(from, start)..place(to, start)]);
            self.free.push(done.memory);
        }
    }
}
